"""Agreement on boxes: one-to-one matching, and Krippendorff's alpha over areas.

A region is one person's set of boxes for one unit, in fractions of its image, so that regions of images of different
sizes are comparable. The distance of two regions is 1 - IoU of their areas; overlapping boxes count once. In
Krippendorff's general form (2011), alpha is 1 minus a ratio: the mean distance within units, divided by the mean
distance of any two regions. Matching follows the localization measure of Hessel et al. 2022 §4.2: IoU strictly over
0.5.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

IOU_THRESHOLD = 0.5
MAX_EXACT_REGIONS = 3_000  # up to this number, all pairs of regions are measured: nine million
SAMPLED_PAIRS = 1_000_000
_CHUNK_SIZE = 500_000  # pairs of rectangles, or counts of drawn units, in memory at a time
MIN_RATERS = 2
_ROUNDING = 1e-12  # far below one pixel of any photograph


class BoxError(ValueError):
    """A box has no area or leaves its image."""


@dataclass(frozen=True, slots=True)
class Region:
    """Boxes of one person: (k, 4) float64, left, top, right, bottom in fractions of the image; k may be 0."""

    boxes: FloatArray


@dataclass(frozen=True, slots=True)
class DrawnRegion:
    """One person's region for one unit (an observation, or an image)."""

    unit: Hashable
    rater: Hashable
    region: Region


@dataclass(frozen=True, slots=True)
class BoxMatch:
    """Two people's boxes, matched one to one with the maximum sum of IoU.

    ``mean_iou`` is over all matched boxes, including those that do not overlap: ``None`` if a region has no box.
    ``above_threshold`` counts matches with an IoU over 0.5; ``f1`` is twice that / all boxes; ``None`` without boxes.
    """

    mean_iou: float | None
    f1: float | None
    above_threshold: int
    matched: int


@dataclass(frozen=True, slots=True)
class BoxAgreement:
    """Agreement on boxes over all units.

    ``alpha`` is at most 1, and 0 if people agree no more within units than between units. ``mean_iou`` and ``f1`` are
    means over pairs of people in a unit, then over units; ``None`` if undefined. ``low`` and ``high`` bound
    ``alpha``. ``estimated``: the expected distance comes from a sample of pairs of regions.
    """

    alpha: float | None
    low: float | None
    high: float | None
    mean_iou: float | None
    f1: float | None
    units: int
    regions: int
    raters: int
    estimated: bool


def region(boxes: Iterable[tuple[float, float, float, float]], *, width: float, height: float) -> Region:
    """Return a region from ``(left, top, width, height)`` boxes in pixels of an image of ``width`` × ``height``.

    Raises:
        BoxError: a box has no area or leaves the image.
    """
    rows = np.array(list(boxes), dtype=np.float64).reshape(-1, 4)
    corners = np.column_stack([rows[:, :2], rows[:, :2] + rows[:, 2:]])
    inside = (corners >= 0).all() and (corners[:, 2:] <= [width, height]).all()  # False for a NaN
    if not inside or not (rows[:, 2:] > 0).all():
        raise BoxError(f"a box has no area or leaves its image of {width} × {height}")
    return Region(corners / [width, height, width, height])


def iou_matrix(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the IoU of each box in ``first`` (m, 4) with each in ``second`` (k, 4): (m, k); both hold corners."""
    shared = _intersection_areas(first[:, None, :], second[None, :, :])
    total = _areas(first)[:, None] + _areas(second)[None, :]
    return shared / (total - shared)


def match_boxes(first: Region, second: Region) -> BoxMatch:
    """Match two people's boxes one to one so that the sum of their IoU is largest."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - the web process never loads scipy

    overlap = iou_matrix(first.boxes, second.boxes)
    matched_iou = overlap[linear_sum_assignment(overlap, maximize=True)]
    above_threshold, boxes = int((matched_iou - IOU_THRESHOLD > _ROUNDING).sum()), sum(overlap.shape)
    return BoxMatch(
        mean_iou=float(matched_iou.mean()) if matched_iou.size else None,
        f1=2 * above_threshold / boxes if boxes else None,
        above_threshold=above_threshold,
        matched=int(matched_iou.size),
    )


def region_iou(first: Region, second: Region) -> float:
    """Return the IoU of two areas; 1 for two empty regions."""
    return float(1 - _RegionRectangles([first, second]).distances(np.array([0]), np.array([1]))[0])


def box_agreement(
    drawn_regions: Sequence[DrawnRegion],
    *,
    rng: np.random.Generator,
    replicates: int = 1000,
    level: float = 0.95,
    max_exact_regions: int = MAX_EXACT_REGIONS,
) -> BoxAgreement:
    """Return alpha over areas and the matched measures, with a percentile bootstrap interval of alpha over units.

    Units are drawn with replacement. Up to ``max_exact_regions`` regions each draw has its own expected distance;
    above that number, it is estimated once from a sample of pairs.

    Args:
        drawn_regions: one per person and unit. rng: draws pairs and units. replicates: number of bootstrap samples.
        level: confidence level of the interval, 0 to 1.
    """
    distances = _RegionDistances(drawn_regions, rng, max_exact_regions)
    matches = [_mean_iou_and_f1([drawn_regions[index].region for index in rows]) for rows in distances.units]
    alpha = _alpha(distances)
    low = high = None
    if alpha is not None and len(distances.units) > 1:
        low, high = _bootstrap_interval(distances, rng, replicates, level)
    return BoxAgreement(
        alpha=alpha,
        low=low,
        high=high,
        mean_iou=_mean_of_known([iou for iou, _ in matches]),
        f1=_mean_of_known([f1 for _, f1 in matches]),
        units=len(distances.units),
        regions=distances.sizes.sum().item(),
        raters=len({drawn_regions[index].rater for rows in distances.units for index in rows}),
        estimated=distances.estimated,
    )


class _RegionRectangles:
    """Regions as disjoint rectangles, so that intersection areas are plain sums."""

    def __init__(self, regions: Sequence[Region]) -> None:
        parts = [
            _split_into_disjoint_boxes(region.boxes) if len(region.boxes) else np.zeros((1, 4))
            for region in regions
        ]
        self.counts = np.array([len(part) for part in parts], dtype=np.int64)
        self.starts = np.cumsum(self.counts) - self.counts
        self.rectangles = np.concatenate([*parts, np.zeros((0, 4))])
        owners = np.repeat(np.arange(len(parts)), self.counts)
        self.areas = _sum_by_group(owners, _areas(self.rectangles), len(parts))

    def distance_rows(self, start: int, stop: int) -> FloatArray:
        """Return 1 - IoU of the regions from ``start`` to ``stop`` with all: (stop - start, regions)."""
        first, last = self.starts[start], self.starts[stop - 1] + self.counts[stop - 1]
        shared = _intersection_areas(self.rectangles[first:last, None, :], self.rectangles[None, :, :])
        shared = np.add.reduceat(shared, self.starts, axis=1)
        shared = np.add.reduceat(shared, self.starts[start:stop] - first, axis=0)
        return _iou_distance(shared, self.areas[start:stop, None] + self.areas[None, :])

    def distances(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return 1 - IoU of the regions with indexes ``first[i]`` and ``second[i]`` for each i: (n,) of two (n,)."""
        distances = np.empty(first.size)
        max_pair_count = max(1, int(self.counts.max(initial=1))) ** 2
        rows = max(1, _CHUNK_SIZE // max_pair_count)
        for start in range(0, first.size, rows):
            chunk = slice(start, start + rows)
            distances[chunk] = self._distances(first[chunk], second[chunk])
        return distances

    def _distances(self, first: IntArray, second: IntArray) -> FloatArray:
        first_counts, second_counts = self.counts[first], self.counts[second]
        pair_counts = first_counts * second_counts
        pair = np.repeat(np.arange(first.size), pair_counts)
        step = np.arange(pair.size) - np.repeat(np.cumsum(pair_counts) - pair_counts, pair_counts)
        left = self.rectangles[self.starts[first][pair] + step // second_counts[pair]]
        right = self.rectangles[self.starts[second][pair] + step % second_counts[pair]]
        shared = _sum_by_group(pair, _intersection_areas(left, right), first.size)
        return _iou_distance(shared, self.areas[first] + self.areas[second])


class _RegionDistances:
    """The terms of alpha: the distances within each unit, and the mean distance of any two regions."""

    def __init__(
        self, drawn_regions: Sequence[DrawnRegion], rng: np.random.Generator, max_exact_regions: int
    ) -> None:
        by_unit: dict[Hashable, list[int]] = {}
        for index, drawn in enumerate(drawn_regions):
            by_unit.setdefault(drawn.unit, []).append(index)
        self.units = [rows for rows in by_unit.values() if len(rows) >= MIN_RATERS]
        self.sizes = np.array([len(rows) for rows in self.units], dtype=np.int64)
        self.unit_of_region = np.repeat(np.arange(self.sizes.size), self.sizes)
        disjoint = _RegionRectangles([drawn_regions[index].region for rows in self.units for index in rows])
        self.estimated = self.unit_of_region.size > max_exact_regions
        self.within = self._scaled_sums_within_units(disjoint)
        self.between: FloatArray | None = None  # (units, units) summed distances of ordered pairs of regions
        if self.estimated:
            self.expected = self._estimate_expected(disjoint, rng)
        elif self.unit_of_region.size:
            self.between = self._sums_between_units(disjoint)
            regions = self.unit_of_region.size
            self.expected = float(self.between.sum() / (regions * (regions - 1)))
        else:
            self.expected = 0.0

    def _scaled_sums_within_units(self, regions: _RegionRectangles) -> FloatArray:
        """Return each unit's summed distances of ordered pairs / (its number of regions - 1): (units,)."""
        starts = np.cumsum(self.sizes) - self.sizes
        pair_counts = self.sizes**2
        unit = np.repeat(np.arange(self.sizes.size), pair_counts)
        step = np.arange(unit.size) - np.repeat(np.cumsum(pair_counts) - pair_counts, pair_counts)
        first = starts[unit] + step // self.sizes[unit]
        second = starts[unit] + step % self.sizes[unit]
        upper = first < second
        distances = regions.distances(first[upper], second[upper])
        return 2 * _sum_by_group(unit[upper], distances, self.sizes.size) / (self.sizes - 1)

    def _sums_between_units(self, regions: _RegionRectangles) -> FloatArray:
        starts = np.cumsum(self.sizes) - self.sizes
        summed = np.zeros((self.sizes.size, self.sizes.size))
        rows = max(1, _CHUNK_SIZE // regions.rectangles.shape[0] // int(regions.counts.max()))
        for start in range(0, self.unit_of_region.size, rows):
            distances = regions.distance_rows(start, min(start + rows, self.unit_of_region.size))
            np.add.at(
                summed, self.unit_of_region[start : start + rows], np.add.reduceat(distances, starts, axis=1)
            )
        return summed

    def _estimate_expected(self, disjoint: _RegionRectangles, rng: np.random.Generator) -> float:
        regions = self.unit_of_region.size
        first = rng.integers(regions, size=SAMPLED_PAIRS)
        second = (first + rng.integers(1, regions, size=SAMPLED_PAIRS)) % regions
        return float(disjoint.distances(first, second).mean())


def _alpha(distances: _RegionDistances) -> float | None:
    if not distances.expected > 0:
        return None
    return float(1 - distances.within.sum() / distances.sizes.sum() / distances.expected)


def _bootstrap_interval(
    distances: _RegionDistances, rng: np.random.Generator, replicates: int, level: float
) -> tuple[float | None, float | None]:
    units = distances.sizes.size
    rows = max(1, _CHUNK_SIZE // units)
    alphas = [
        _bootstrap_alphas(
            distances, rng.multinomial(units, np.full(units, 1 / units), size=min(rows, replicates - start))
        )
        for start in range(0, replicates, rows)
    ]
    values = np.concatenate([*alphas, np.zeros(0)])
    if not values.size:
        return None, None
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def _bootstrap_alphas(distances: _RegionDistances, draws: IntArray) -> FloatArray:
    """Return alpha for each draw of units (b, units); draws without a defined alpha are left out."""
    weights = draws.astype(np.float64)
    regions = weights @ distances.sizes
    expected = np.full(len(weights), distances.expected)
    if distances.between is not None:
        expected = ((weights @ distances.between) * weights).sum(axis=1) / (regions * (regions - 1))
    defined = expected > 0
    within = (weights @ distances.within)[defined]
    return 1 - within / regions[defined] / expected[defined]


def _mean_iou_and_f1(regions: Sequence[Region]) -> tuple[float | None, float | None]:
    """Return mean IoU and F1 over the pairs of people of one unit."""
    pairs = [match_boxes(a, b) for index, a in enumerate(regions) for b in regions[index + 1 :]]
    return _mean_of_known([pair.mean_iou for pair in pairs]), _mean_of_known([pair.f1 for pair in pairs])


def _mean_of_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _sum_by_group(groups: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Sum ``values`` (n,) by their ``groups`` (n,): (size,)."""
    return np.bincount(groups, weights=values, minlength=size).astype(np.float64, copy=False)


def _split_into_disjoint_boxes(boxes: FloatArray) -> FloatArray:
    """Cut overlapping boxes into rectangles that share no area: (r, 4) of (k, 4)."""
    parts: list[FloatArray] = []
    for box in boxes:
        pieces = [box]
        for other in parts:
            pieces = [remainder for piece in pieces for remainder in _subtract_box(piece, other)]
        parts.extend(pieces)
    return np.array(parts, dtype=np.float64).reshape(-1, 4)


def _subtract_box(box: FloatArray, other: FloatArray) -> list[FloatArray]:
    """Return up to four rectangles that make up ``box`` without ``other``."""
    left, top, right, bottom = box
    if other[0] >= right or other[2] <= left or other[1] >= bottom or other[3] <= top:
        return [box]
    above, below = max(top, other[1]), min(bottom, other[3])
    pieces = [
        (left, top, right, above),
        (left, below, right, bottom),
        (left, above, max(left, other[0]), below),
        (min(right, other[2]), above, right, below),
    ]
    return [np.array(piece) for piece in pieces if piece[0] < piece[2] and piece[1] < piece[3]]


def _iou_distance(shared: FloatArray, total: FloatArray) -> FloatArray:
    """Return 1 - IoU from intersection areas and sums of areas; 0 for two regions without area."""
    union = total - shared
    distance = np.where(union > 0, 1 - shared / np.where(union > 0, union, 1.0), 0.0)
    # The same area drawn with other boxes has distance 0.
    return np.where(distance < _ROUNDING, 0.0, distance)


def _areas(boxes: FloatArray) -> FloatArray:
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _intersection_areas(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the intersection areas of boxes (…, 4) that broadcast: (…)."""
    width = np.minimum(first[..., 2], second[..., 2]) - np.maximum(first[..., 0], second[..., 0])
    height = np.minimum(first[..., 3], second[..., 3]) - np.maximum(first[..., 1], second[..., 1])
    return np.maximum(width, 0) * np.maximum(height, 0)
