"""Exact hierarchical clustering from the few pairs of rows that lie near one another.

The tree's n - k lowest merges need only pairs of rows within some distance h, the radius. The algorithm guesses h,
collects the pairs within it, merges, and verifies that all merges are safely below h; otherwise it raises h. Memory
is O(n d + pairs) instead of O(n^2). Distances are 1 - cosine.

Why no merge is missed or wrong. D is the distance of two clusters; the nearest pair is always merged next.

1. All four linkages are reducible: merging the nearest pair A, B gives D(A u B, C) >= min(D(A, C), D(B, C)). For
   single, complete and average it follows from minimum, maximum and mean. For Ward, in squares,
   (|A| + |B| + |C|) D(AB, C) = (|A| + |C|) D(A, C) + (|B| + |C|) D(B, C) - |C| D(A, B), and D(A, B) is the least.
2. So a pair of clusters above h can be dropped for good: no later union of them is within h.
3. So every C with D(A u B, C) <= h was stored with A or with B: the neighbours of a union are among the neighbours
   of its parts, and no other pair needs to be checked.
4. The distance from a union needs no dropped pair. Single: the lesser of the two sides; a missing side is above h.
   Complete: a missing side is above h, so the maximum is too, and the pair is dropped. Average:
   1 - S_A . S_B / (|A| |B|) with S the sums of unit vectors. Ward: from the same sums, which give the means.
5. The algorithm ends only when it made the requested merges, each at most h (less the rounding below), or, if the cut
   is a distance, when no pair at or below it remains. If the pairs run out earlier, h was too low. It is then raised,
   first within the pairs that were collected beyond it, then with a second matrix product.

The result depends on the rows alone. Distances of pairs are summed in float64 from the input rows by one compiled
function, whichever backend proposed the pairs; distances of unions come from the sums of their members, added in the
order of the merges. The guess, the block size, the memory and the backend have no influence (a backend proposes a
superset: ``curation.dedup.matmul_backends``). Ties are broken by row number:

    Rows with equal values merge first, the lowest rows first. Then the nearest pair merges; among equally near
    pairs, the one with the lowest smallest member of one cluster, then the lowest smallest member of the other.

scipy breaks ties by the order in which its nearest-neighbour chain (or, for single linkage, its spanning tree) meets
them, which depends on the tree so far. Where heights tie, or differ by rounding only, both trees are correct and may
differ; elsewhere the partitions are equal.

Rounding. Let u = 2^-53 and N = |A| + |B|. Unit rows have a relative error of (d / 2 + 2) u, sums of them (N - 2) u
more, a product d u, the division 3 u: the computed mean cosine is off by less than (N + 2 d + 16) u. Distances below
that are set to zero (copies up to rounding are at distance zero), so a distance is off by less than twice that, e.
A pair is dropped if its computed distance is above h. Then its true distance, and that of every later union of its
clusters, is above h - e, and is computed as more than h - 2 e. Merges are accepted only up to h - 3 e, so no dropped
pair could have merged before an accepted one, even with rounding. For Ward the same counting gives
e = 2 n (n + 3 d + 32) u on the half square that is compared. Single and complete linkage only compare distances of
pairs, so there e = 0.

Sources: M. Bruynooghe 1977 and F. Murtagh, A survey of recent advances in hierarchical clustering algorithms,
doi:10.1093/comjnl/26.4.354 (reducibility); D. Muellner 2011, arXiv:1109.2378 (linkages and their updates).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup.cuts import Linkage, Progress
from curation.dedup.distance_sample import MAX_DISTANCE, DistanceSample
from curation.dedup.kernels import ROUNDING
from curation.dedup.linkage import (
    ABSENT,
    AVERAGE,
    COMPLETE,
    MERGES,
    SINGLE,
    WARD,
    ClusterForest,
    fill_forest,
    merge,
)
from curation.dedup.pairs import MemoryPlan, NearPairs, PairSearch, StageClock, TooManyPairs, block_slices
from curation.dedup.rows import DistinctRows

LINKAGE_CODES = {
    Linkage.AVERAGE: AVERAGE,
    Linkage.COMPLETE: COMPLETE,
    Linkage.SINGLE: SINGLE,
    Linkage.WARD: WARD,
}
SUM_LINKAGES = (Linkage.AVERAGE, Linkage.WARD)
MERGES_PER_STEP = 8192
SPARE_FACTOR = 2.5  # collect this many times the pairs within the guessed radius, to be able to raise it
RAISE_FACTOR = 2.0  # a raised radius has this many times the pairs of the radius that was too low
COLLECT_FACTOR = 6.0  # a repeated collection has this many times the pairs of the one before


@dataclass(frozen=True, slots=True)
class MergeGoal:
    """When to stop: after ``merges`` merges, or if no pair is within ``max_distance`` (Ward: half its square)."""

    linkage: Linkage
    merges: int | None
    max_distance: float = np.inf


class CutTooCoarse(Exception):
    """More pairs are needed than the caller accepts."""


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The merges, and the number of pairs that they needed.

    roots: (n,) for each distinct row, the lowest row of its cluster. heights: of the merges, in order.
    """

    roots: NDArray[np.int32]
    heights: NDArray[np.float64]
    pair_count: int


class StepCounter:
    """Counts steps for the caller's progress callback; its exceptions pass through."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.done, self.total = progress, 0, 0

    def add_expected_steps(self, steps: int) -> None:
        """Add to the total number of steps."""
        self.total += steps

    def step(self) -> None:
        """Count one step."""
        self.done += 1
        self.progress(self.done, max(self.total, self.done))


def guess_radius(sample: DistanceSample, merges: int, n: int) -> float:
    """Guess a radius whose pairs probably suffice for this many merges of n rows."""
    return sample.nearest_quantile(min(1.0, 0.2 + 1.4 * merges / n))


def rounding_error(linkage: Linkage, input_count: int, d: int) -> float:
    """Return the bound of the error of a computed distance of two clusters (see the module docstring)."""
    if linkage is Linkage.WARD:
        return 2 * input_count * (input_count + 3 * d + 32) * ROUNDING
    return 2 * (input_count + 2 * d + 16) * ROUNDING if linkage is Linkage.AVERAGE else 0.0


def merge_by_distance(search: PairSearch, goal: MergeGoal, steps: StepCounter) -> MergeResult:
    """Make all merges up to goal.max_distance. Raises TooManyPairs if the pairs up to it do not fit into memory."""
    slack = 3 * rounding_error(goal.linkage, search.rows.input_count, search.rows.dimensions)
    radius = min(goal.max_distance + slack, MAX_DISTANCE)
    pairs = _collect_pairs(search, radius, steps)
    if pairs.radius < radius:
        raise _too_many_pairs_error(search.plan, radius)
    merged = _merge_within(search.rows, pairs, radius, goal, steps, search.clock)
    assert merged is not None
    return merged


def merge_by_number(
    search: PairSearch, goal: MergeGoal, sample: DistanceSample, steps: StepCounter, max_pairs: float = np.inf
) -> MergeResult:
    """Make goal.merges merges: guess the radius, verify, raise it if needed.

    Raises TooManyPairs as merge_by_distance does, and CutTooCoarse before it uses more than max_pairs pairs.
    """
    assert goal.merges is not None
    guess = radius = guess_radius(sample, goal.merges, len(search.rows))
    while True:
        if radius > guess and sample.estimate_pair_count(radius) > max_pairs:
            raise CutTooCoarse
        collect_radius = max(
            radius, sample.radius_for_pair_count(SPARE_FACTOR * sample.estimate_pair_count(radius))
        )
        pairs = _collect_pairs(search, collect_radius, steps)
        for merge_radius in _growing_radii(pairs, radius):
            if merge_radius > guess and pairs.count_within(merge_radius) > max_pairs:
                raise CutTooCoarse
            merged = _merge_within(search.rows, pairs, merge_radius, goal, steps, search.clock)
            if merged is not None:
                return merged
        if pairs.radius < collect_radius:
            raise _too_many_pairs_error(search.plan, collect_radius)
        radius = _larger_radius(sample, pairs.radius)
        del pairs


def _larger_radius(sample: DistanceSample, radius: float) -> float:
    """Return a radius with several times the pairs, for another product; the maximum if no larger one helps."""
    larger = sample.radius_for_pair_count(max(COLLECT_FACTOR * sample.estimate_pair_count(radius), 1.0))
    return larger if larger > radius else MAX_DISTANCE


def _too_many_pairs_error(plan: MemoryPlan, radius: float) -> TooManyPairs:
    return TooManyPairs(
        f"memory: more than {plan.max_pairs} pairs of rows lie within the distance of {radius:.4g} that is needed; "
        "give more memory, or choose more clusters"
    )


def _growing_radii(pairs: NearPairs, radius: float) -> Iterator[float]:
    """Yield growing radii to try with the same pairs; the last one uses all of them."""
    radius = min(radius, pairs.radius)
    while radius < pairs.radius:
        yield radius
        target = int(RAISE_FACTOR * pairs.count_within(radius)) + 1
        radius = max(np.nextafter(radius, np.inf), pairs.radius_for_pair_count(target))
    yield pairs.radius


def _collect_pairs(search: PairSearch, radius: float, steps: StepCounter) -> NearPairs:
    steps.add_expected_steps(len(block_slices(len(search.rows), search.plan.block)))
    return search.collect_pairs(radius, steps.step)


def _merge_within(
    rows: DistinctRows,
    pairs: NearPairs,
    radius: float,
    goal: MergeGoal,
    steps: StepCounter,
    clock: StageClock,
) -> MergeResult | None:
    """Make all merges that are safely within the radius; None if these are fewer than requested."""
    max_merges = len(rows) - 1 if goal.merges is None else goal.merges
    with clock.stage("merge"):
        forest = _build_forest(rows, pairs, radius, max_merges, goal.linkage)
        fill_forest(forest, pairs.ends, pairs.distances)
    slack = 3 * rounding_error(goal.linkage, rows.input_count, rows.dimensions)
    max_distance = min(forest.radius - slack, goal.max_distance)
    heights = np.empty(max_merges)
    checkpoints = [*range(MERGES_PER_STEP, max_merges, MERGES_PER_STEP), max_merges]
    steps.add_expected_steps(len(checkpoints))
    for stop in checkpoints:
        with clock.stage("merge"):
            has_more = merge(forest, max_distance, stop, heights)
        steps.step()
        if not has_more:
            break
    merge_count = int(forest.counts[MERGES])
    if goal.merges is not None and merge_count < max_merges:
        return None
    return MergeResult(_find_roots(forest.parent), heights[:merge_count], pairs.count_within(radius))


def _build_forest(
    rows: DistinctRows, pairs: NearPairs, radius: float, merges: int, linkage: Linkage
) -> ClusterForest:
    """Return a forest in which every distinct row is a cluster, with room for the pairs within the radius."""
    n, capacity = len(rows), pairs.count_within(radius)
    slots = min(merges, n // 2) if linkage in SUM_LINKAGES else 0
    return ClusterForest(
        rows=rows.values,
        inverse=rows.inverse_lengths,
        linkage=LINKAGE_CODES[linkage],
        radius=radius
        if radius < MAX_DISTANCE
        else np.inf,  # all pairs are present, and Ward's distances exceed MAX_DISTANCE
        parent=np.arange(n, dtype=np.int32),
        size=rows.copy_counts.copy(),
        first=np.full(n, ABSENT, dtype=np.int32),
        shared_end=np.full(n, ABSENT, dtype=np.int32),
        slot=np.full(n, ABSENT, dtype=np.int32),
        free=np.arange(slots, dtype=np.int32)[::-1].copy(),
        sums=np.empty((slots, rows.dimensions)),
        other=np.empty(2 * capacity, dtype=np.int32),
        next_end=np.empty(2 * capacity, dtype=np.int32),
        distance=np.empty(capacity),
        heap=np.empty(capacity, dtype=np.int32),
        heap_position=np.empty(capacity, dtype=np.int32),
        counts=np.array([0, slots, 0], dtype=np.int64),
    )


def _find_roots(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Follow parents, which are lower rows, up to the roots."""
    while True:
        grandparent = parent[parent]
        if np.array_equal(grandparent, parent):
            return parent
        parent = grandparent
