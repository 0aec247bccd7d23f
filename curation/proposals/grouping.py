"""Selective Search's hierarchical grouping: from superpixels to the boxes of all merged regions.

Source: Uijlings, van de Sande, Gevers and Smeulders 2013, "Selective Search for Object Recognition", section 3,
doi:10.1007/s11263-013-0620-5. Neighbouring regions merge pairwise, the most similar first, until one remains; every
region gives a box.
"""

import heapq
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Number = TypeVar("Number", np.float64, np.int64)

COLOUR_BINS = 25
TEXTURE_BINS = 10
DIRECTIONS = 8


class SimilarityRule(Enum):
    """The similarities that are summed: the two combinations of Uijlings et al. 2013, section 3.2."""

    ALL = "colour, texture, size, fill"
    WITHOUT_COLOUR = "texture, size, fill"


@dataclass(frozen=True, slots=True)
class Superpixels:
    """The n regions that a grouping starts from, as numbered in ``labels`` (h, w).

    sizes: (n,) pixels. boxes: (n, 4) left, top, right, bottom, half-open. colour: (n, 25 c) and texture:
    (n, 80 c) histograms over c channels, each summing to 1. neighbours: (e, 2) pairs of neighbours, a < b.
    """

    labels: IntArray
    sizes: FloatArray
    boxes: IntArray
    colour: FloatArray
    texture: FloatArray
    neighbours: IntArray


def describe_superpixels(labels: IntArray, channels: FloatArray) -> Superpixels:
    """Return the features of a segmentation for the similarities.

    labels: (h, w), 0 to n - 1, each used. channels: (h, w, c), 0 to 1.
    """
    count = int(labels.max()) + 1
    return Superpixels(
        labels=labels,
        sizes=np.bincount(labels.ravel(), minlength=count).astype(np.float64),
        boxes=_bounding_boxes(labels, count),
        colour=_histograms(labels, _bin_values(channels, COLOUR_BINS), COLOUR_BINS, count),
        texture=_histograms(labels, _bin_values(_derivatives(channels), TEXTURE_BINS), TEXTURE_BINS, count),
        neighbours=_neighbour_pairs(labels),
    )


def group_superpixels(regions: Superpixels, rule: SimilarityRule) -> IntArray:
    """Return the boxes of all regions in the order of their creation: (2 n - 1, 4), the whole image last.

    Deterministic: among equally similar pairs, the one with the lowest numbers merges first.
    """
    grouping = _Grouping(regions, rule)
    while grouping.merge_most_similar():
        pass
    return grouping.boxes[: grouping.count]


class _Grouping:
    """The state of merging; row i of each array is the i-th region, including merged ones."""

    def __init__(self, regions: Superpixels, rule: SimilarityRule) -> None:
        self.count = len(regions.sizes)
        self._pixels = float(regions.labels.size)
        self._use_colour = rule is SimilarityRule.ALL
        self._sizes = _append_spare_rows(regions.sizes)
        self.boxes = _append_spare_rows(regions.boxes)
        self._colour = _append_spare_rows(regions.colour)
        self._texture = _append_spare_rows(regions.texture)
        self._adjacent: list[set[int]] = [set() for _ in range(2 * self.count - 1)]
        self._heap: list[tuple[float, int, int]] = []
        for first, second in regions.neighbours.tolist():
            self._adjacent[first].add(second)
            self._adjacent[second].add(first)
        for region in range(self.count):
            self._queue_pairs(region, [other for other in sorted(self._adjacent[region]) if other > region])

    def merge_most_similar(self) -> bool:
        """Merge the two most similar neighbours; return False if none remain."""
        while self._heap:
            _, first, second = heapq.heappop(self._heap)
            if second in self._adjacent[first]:  # neither was merged after the pair was queued
                self._merge(first, second)
                return True
        return False

    def _merge(self, first: int, second: int) -> None:
        merged = self.count
        self.count += 1
        shares = self._sizes[[first, second]] / (self._sizes[first] + self._sizes[second])
        self._sizes[merged] = self._sizes[first] + self._sizes[second]
        self._colour[merged] = shares @ self._colour[[first, second]]
        self._texture[merged] = shares @ self._texture[[first, second]]
        self.boxes[merged] = _union_boxes(self.boxes[first], self.boxes[second])
        neighbours = (self._adjacent[first] | self._adjacent[second]) - {first, second}
        for other in neighbours:
            self._adjacent[other] -= {first, second}
            self._adjacent[other].add(merged)
        self._adjacent[first] = self._adjacent[second] = set()
        self._adjacent[merged] = neighbours
        self._queue_pairs(merged, sorted(neighbours))

    def _queue_pairs(self, region: int, others: list[int]) -> None:
        """Queue the pairs of one region with others by their similarity."""
        if not others:
            return
        for other, value in zip(others, self._similarity(region, others).tolist(), strict=True):
            heapq.heappush(self._heap, (-value, min(region, other), max(region, other)))

    def _similarity(self, region: int, others: list[int]) -> FloatArray:
        """Return the summed similarities of one region to k others: (k,)."""
        union = _union_boxes(self.boxes[region], self.boxes[others])
        together = self._sizes[region] + self._sizes[others]
        spanned = (union[:, 2] - union[:, 0]) * (union[:, 3] - union[:, 1])
        total = np.minimum(self._texture[region], self._texture[others]).sum(axis=1)
        total += 1 - together / self._pixels  # small regions merge early
        total += 1 - (spanned - together) / self._pixels  # so do regions that fit into each other
        if self._use_colour:
            total += np.minimum(self._colour[region], self._colour[others]).sum(axis=1)
        return total


def _append_spare_rows(rows: NDArray[Number]) -> NDArray[Number]:
    """Return the rows of n regions, with room for n - 1 merged regions."""
    return np.concatenate([rows, np.zeros_like(rows[:-1])])


def _union_boxes(first: IntArray, second: IntArray) -> IntArray:
    """Return the bounding boxes of pairs of boxes, (…, 4) with broadcasting."""
    return np.concatenate(
        [np.minimum(first[..., :2], second[..., :2]), np.maximum(first[..., 2:], second[..., 2:])], axis=-1
    )


def _bounding_boxes(labels: IntArray, count: int) -> IntArray:
    """Return the box of each label: (count, 4)."""
    rows, columns = np.indices(labels.shape)
    flat = labels.ravel()
    boxes = np.empty((count, 4), dtype=np.int64)
    boxes[:, :2] = max(labels.shape)
    boxes[:, 2:] = 0
    for axis, values in ((0, columns), (1, rows)):
        np.minimum.at(boxes[:, axis], flat, values.ravel())
        np.maximum.at(boxes[:, axis + 2], flat, values.ravel() + 1)
    return boxes


def _bin_values(values: FloatArray, bins: int) -> IntArray:
    """Return the bin of each value from 0 to 1."""
    return np.minimum((values * bins).astype(np.int64), bins - 1)


def _derivatives(channels: FloatArray) -> FloatArray:
    """Return the derivative of each channel in eight directions, negative ones as 0: (h, w, 8 c), 0 to 1."""
    down, right = np.gradient(channels, axis=(0, 1))
    turns = [2 * np.pi * turn / DIRECTIONS for turn in range(DIRECTIONS)]
    parts = [np.maximum(np.cos(turn) * right + np.sin(turn) * down, 0) for turn in turns]
    return np.minimum(np.concatenate(parts, axis=2), 1.0)


def _histograms(labels: IntArray, binned: IntArray, bins: int, count: int) -> FloatArray:
    """Return the histogram of each label over all channels, summing to 1: (count, bins · c)."""
    channels = binned.shape[2]
    # One table per channel: a pixel counts in its label's row and its bin's column.
    tables = [
        np.bincount((labels * bins + binned[:, :, c]).ravel(), minlength=count * bins).reshape(count, bins)
        for c in range(channels)
    ]
    table = np.concatenate(tables, axis=1).astype(np.float64)
    return table / table.sum(axis=1, keepdims=True)


def _neighbour_pairs(labels: IntArray) -> IntArray:
    """Return the pairs of labels that share a pixel edge: (e, 2), each once, the lower number first."""
    across = np.stack([labels[:, :-1].ravel(), labels[:, 1:].ravel()], axis=1)
    down = np.stack([labels[:-1].ravel(), labels[1:].ravel()], axis=1)
    pairs = np.sort(np.concatenate([across, down]), axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
