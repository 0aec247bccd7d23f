"""Selective Search's hierarchical grouping: from superpixels to the boxes of all that they merge into.

Source: Uijlings, van de Sande, Gevers and Smeulders 2013, "Selective Search for Object Recognition", section 3,
doi:10.1007/s11263-013-0620-5. Neighbouring regions merge two at a time, the most similar first, until one is left;
every region on the way gives a box.
"""

from __future__ import annotations

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


class Likeness(Enum):
    """Which similarities are summed (section 3.2); the paper's own two combinations."""

    ALL = "colour, texture, size, fill"
    WITHOUT_COLOUR = "texture, size, fill"


@dataclass(frozen=True, slots=True)
class Regions:
    """The regions that a grouping starts from: n of them, as numbered in ``labels`` (h, w).

    sizes: (n,) pixels. boxes: (n, 4) left, top, right, bottom, half-open. colour: (n, 25 c) and texture:
    (n, 80 c) histograms over c channels, each summing to 1. touching: (e, 2) pairs of neighbours, a < b.
    """

    labels: IntArray
    sizes: FloatArray
    boxes: IntArray
    colour: FloatArray
    texture: FloatArray
    touching: IntArray


def describe(labels: IntArray, channels: FloatArray) -> Regions:
    """Return what the similarities need of a segmentation.

    labels: (h, w), 0 to n - 1, each used. channels: (h, w, c), 0 to 1.
    """
    count = int(labels.max()) + 1
    return Regions(
        labels=labels,
        sizes=np.bincount(labels.ravel(), minlength=count).astype(np.float64),
        boxes=_bounds(labels, count),
        colour=_histograms(labels, _binned(channels, COLOUR_BINS), COLOUR_BINS, count),
        texture=_histograms(labels, _binned(_derivatives(channels), TEXTURE_BINS), TEXTURE_BINS, count),
        touching=_neighbours(labels),
    )


def group(regions: Regions, likeness: Likeness) -> IntArray:
    """Return the boxes of all regions, in the order in which they arose: (2 n - 1, 4), the whole picture last.

    Deterministic: of equally similar pairs the one with the lowest numbers merges first.
    """
    grouping = _Grouping(regions, likeness)
    while grouping.merge_most_similar():
        pass
    return grouping.boxes[: grouping.count]


class _Grouping:
    """Regions while they merge; row i of each array is the i-th region that ever was."""

    def __init__(self, regions: Regions, likeness: Likeness) -> None:
        self.count = len(regions.sizes)
        self._pixels = float(regions.labels.size)
        self._with_colour = likeness is Likeness.ALL
        self._sizes = _room_for_merged(regions.sizes)
        self.boxes = _room_for_merged(regions.boxes)
        self._colour = _room_for_merged(regions.colour)
        self._texture = _room_for_merged(regions.texture)
        self._beside: list[set[int]] = [set() for _ in range(2 * self.count - 1)]
        self._heap: list[tuple[float, int, int]] = []
        for first, second in regions.touching.tolist():
            self._beside[first].add(second)
            self._beside[second].add(first)
        for region in range(self.count):
            self._offer(region, [other for other in sorted(self._beside[region]) if other > region])

    def merge_most_similar(self) -> bool:
        """Merge the most similar two neighbours; false when none are left."""
        while self._heap:
            _, first, second = heapq.heappop(self._heap)
            if second in self._beside[first]:  # neither was merged since
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
        self.boxes[merged] = _union(self.boxes[first], self.boxes[second])
        around = (self._beside[first] | self._beside[second]) - {first, second}
        for other in around:
            self._beside[other] -= {first, second}
            self._beside[other].add(merged)
        self._beside[first] = self._beside[second] = set()
        self._beside[merged] = around
        self._offer(merged, sorted(around))

    def _offer(self, region: int, others: list[int]) -> None:
        """Queue the pairs of one region with others by their similarity."""
        if not others:
            return
        for other, value in zip(others, self._similarity(region, others).tolist(), strict=True):
            heapq.heappush(self._heap, (-value, min(region, other), max(region, other)))

    def _similarity(self, region: int, others: list[int]) -> FloatArray:
        """Sum of the similarities of one region to k others: (k,)."""
        union = _union(self.boxes[region], self.boxes[others])
        together = self._sizes[region] + self._sizes[others]
        spanned = (union[:, 2] - union[:, 0]) * (union[:, 3] - union[:, 1])
        total = np.minimum(self._texture[region], self._texture[others]).sum(axis=1)
        total += 1 - together / self._pixels  # small ones merge early
        total += 1 - (spanned - together) / self._pixels  # those that fit into each other, too
        if self._with_colour:
            total += np.minimum(self._colour[region], self._colour[others]).sum(axis=1)
        return total


def _room_for_merged(rows: NDArray[Number]) -> NDArray[Number]:
    """Rows of n regions, with room for the n - 1 that they merge into."""
    return np.concatenate([rows, np.zeros_like(rows[:-1])])


def _union(first: IntArray, second: IntArray) -> IntArray:
    """Smallest boxes around boxes (…, 4) that broadcast."""
    return np.concatenate(
        [np.minimum(first[..., :2], second[..., :2]), np.maximum(first[..., 2:], second[..., 2:])], axis=-1
    )


def _bounds(labels: IntArray, count: int) -> IntArray:
    """Box of each label: (count, 4)."""
    rows, columns = np.indices(labels.shape)
    flat = labels.ravel()
    boxes = np.empty((count, 4), dtype=np.int64)
    boxes[:, :2] = max(labels.shape)
    boxes[:, 2:] = 0
    for place, values in ((0, columns), (1, rows)):
        np.minimum.at(boxes[:, place], flat, values.ravel())
        np.maximum.at(boxes[:, place + 2], flat, values.ravel() + 1)
    return boxes


def _binned(values: FloatArray, bins: int) -> IntArray:
    """Bin of each value of 0 to 1."""
    return np.minimum((values * bins).astype(np.int64), bins - 1)


def _derivatives(channels: FloatArray) -> FloatArray:
    """Derivative of each channel in eight directions, negative ones as 0: (h, w, 8 c), 0 to 1."""
    down, right = np.gradient(channels, axis=(0, 1))
    turns = [2 * np.pi * turn / DIRECTIONS for turn in range(DIRECTIONS)]
    parts = [np.maximum(np.cos(turn) * right + np.sin(turn) * down, 0) for turn in turns]
    return np.minimum(np.concatenate(parts, axis=2), 1.0)


def _histograms(labels: IntArray, binned: IntArray, bins: int, count: int) -> FloatArray:
    """Histogram of each label over all channels, summing to 1: (count, bins · c)."""
    channels = binned.shape[2]
    # One table per channel: the place of a pixel is its label's row and its bin's column.
    tables = [
        np.bincount((labels * bins + binned[:, :, c]).ravel(), minlength=count * bins).reshape(count, bins)
        for c in range(channels)
    ]
    table = np.concatenate(tables, axis=1).astype(np.float64)
    return table / table.sum(axis=1, keepdims=True)


def _neighbours(labels: IntArray) -> IntArray:
    """Pairs of labels that share an edge of a pixel: (e, 2), each once, the lower number first."""
    across = np.stack([labels[:, :-1].ravel(), labels[:, 1:].ravel()], axis=1)
    down = np.stack([labels[:-1].ravel(), labels[1:].ravel()], axis=1)
    pairs = np.sort(np.concatenate([across, down]), axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
