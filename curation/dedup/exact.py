"""Exact hierarchical clustering from the few pairs of rows that lie near one another.

The tree's n - k lowest merges need only pairs of rows within some distance h, the reach. So: guess h, collect the
pairs within it, merge, verify that all merges were made safely below h, else raise h. Memory is O(n d + pairs)
instead of O(n^2). Distances are 1 - cosine.

Why no merge is missed or wrong. D is the distance of two clusters; what is merged is always the nearest pair.

1. All four linkages are reducible: merging the nearest pair A, B gives D(A u B, C) >= min(D(A, C), D(B, C)). For
   single, complete and average it follows from minimum, maximum and mean. For Ward, in squares,
   (|A| + |B| + |C|) D(AB, C) = (|A| + |C|) D(A, C) + (|B| + |C|) D(B, C) - |C| D(A, B), and D(A, B) is the least.
2. So a pair of clusters above h can be dropped for good: nothing that grows out of it ever comes down to h again.
3. So every C with D(A u B, C) <= h was stored with A or with B: the neighbours of a union lie in the union of the
   neighbours, and no other pair has to be looked at.
4. The distance from a union needs no dropped pair. Single: the lesser of the two sides, and a missing one is above
   h. Complete: a missing side is above h, hence so is the maximum: drop. Average: 1 - S_A . S_B / (|A| |B|) with S
   the sums of unit vectors. Ward: from the same sums, which give the means.
5. The only way out is to have made the wanted merges, each at most h (less the rounding below), or, when the cut is
   a distance, to have no pair left at or below it. When the pairs run out before, h was too low: it is raised, first
   within the pairs that were collected beyond it, then with a second product.

The result is a function of the rows alone. Distances of pairs are summed in float64 from the rows as given, by one
machine code, whatever product proposed them; distances of unions come from the sums of their members, added in the
order of the merges. Neither the guess, the block size, the memory nor the filter enters (a filter passes a superset:
``curation.dedup.products``), and ties are broken by name:

    Rows with equal values are merged first, the lowest rows first. Then the nearest pair merges; among equally near
    ones, that with the lowest smallest member of the one cluster, then the lowest smallest member of the other.

scipy breaks ties by the order in which its nearest-neighbour chain (or, for single linkage, its spanning tree) comes
across them, which depends on the tree so far. Where heights tie, or differ by no more than rounding, both trees are
right and may differ; where they do not, the partitions are the same.

Rounding. Let u = 2^-53 and N = |A| + |B|. Unit rows carry a relative error of (d / 2 + 2) u, sums of them (N - 2) u
more, a product d u, the division 3 u: the computed mean cosine is off by less than (N + 2 d + 16) u. Distances below
that are set to zero (copies up to rounding are at distance zero), so a distance is off by less than twice that, e.
With a pair dropped when its computed distance is above h, its true one, and that of all that grows out of it, is
above h - e, and would be computed as more than h - 2 e. Merges are accepted up to h - 3 e only, so that no dropped
pair could have come before one, not even by rounding. For Ward the same counting gives e = 2 n (n + 3 d + 32) u on
the half square that is compared. Single and complete linkage only compare distances of pairs, so there e = 0.

Sources: M. Bruynooghe 1977 and F. Murtagh, A survey of recent advances in hierarchical clustering algorithms,
doi:10.1093/comjnl/26.4.354 (reducibility); D. Muellner 2011, arXiv:1109.2378 (linkages and their updates).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup import forest as forests
from curation.dedup.cuts import Linkage, Progress
from curation.dedup.forest import Forest
from curation.dedup.kernels import ROUNDING
from curation.dedup.pairs import Clock, NearPairs, Plan, Search, TooManyPairs, blocks
from curation.dedup.rows import Rows
from curation.dedup.survey import FARTHEST, Survey

CODES = {
    Linkage.AVERAGE: forests.AVERAGE,
    Linkage.COMPLETE: forests.COMPLETE,
    Linkage.SINGLE: forests.SINGLE,
    Linkage.WARD: forests.WARD,
}
SUMMED = (Linkage.AVERAGE, Linkage.WARD)
MERGES_PER_STEP = 8192
SPARE = 2.5  # so many times the pairs that the guess needs are collected, to be able to raise it
RAISE = 2.0  # so many times the pairs are used when the guess was too low
RAISE_COLLECTED = 6.0  # so many times the pairs are collected when all that were there did not do


@dataclass(frozen=True, slots=True)
class Goal:
    """When to stop: after so many merges, or when the nearest pair is above a distance (a half square for Ward)."""

    linkage: Linkage
    merges: int | None
    highest: float = np.inf


class TooCoarse(Exception):
    """More pairs are needed than the caller would have merged from."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What was made, and from how many pairs.

    roots: (n,) for each distinct row, the lowest row of its cluster. heights: of the merges, in the order made.
    """

    roots: NDArray[np.int32]
    heights: NDArray[np.float64]
    pairs: int


class Steps:
    """Tells the caller how far the work is, and lets what it raises through."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.done, self.total = progress, 0, 0

    def expect(self, steps: int) -> None:
        """Add to the steps in all."""
        self.total += steps

    def step(self) -> None:
        """Count one."""
        self.done += 1
        self.progress(self.done, max(self.total, self.done))


def first_guess(found: Survey, merges: int, n: int) -> float:
    """A distance within which the pairs probably suffice for so many merges of n rows."""
    return found.quantile(min(1.0, 0.2 + 1.4 * merges / n))


def rounding(linkage: Linkage, given: int, d: int) -> float:
    """How far a computed distance of two clusters may be from the true one (module docstring)."""
    if linkage is Linkage.WARD:
        return 2 * given * (given + 3 * d + 32) * ROUNDING
    return 2 * (given + 2 * d + 16) * ROUNDING if linkage is Linkage.AVERAGE else 0.0


def merge_by_distance(search: Search, goal: Goal, steps: Steps) -> Merged:
    """Make every merge up to goal.highest. Raises TooManyPairs when the pairs within it do not fit into memory."""
    slack = 3 * rounding(goal.linkage, search.rows.given, search.rows.dimensions)
    reach = min(goal.highest + slack, FARTHEST)
    pairs = _collect(search, reach, steps)
    if pairs.reach < reach:
        raise _too_many(search.plan, reach)
    merged = _merge(search.rows, pairs, reach, goal, steps, search.clock)
    assert merged is not None
    return merged


def merge_by_number(search: Search, goal: Goal, found: Survey, steps: Steps, most: float = np.inf) -> Merged:
    """Make goal.merges merges: guess the reach, verify, raise.

    Raises TooManyPairs as merge_by_distance does, and TooCoarse before it raises the guess to more than most pairs.
    """
    assert goal.merges is not None
    guess = reach = first_guess(found, goal.merges, len(search.rows))
    while True:
        if reach > guess and found.pairs_within(reach) > most:
            raise TooCoarse
        wanted = max(reach, found.reach_of(SPARE * found.pairs_within(reach)))
        pairs = _collect(search, wanted, steps)
        for nearer in _raised(pairs, reach):
            if nearer > guess and pairs.within(nearer) > most:
                raise TooCoarse
            merged = _merge(search.rows, pairs, nearer, goal, steps, search.clock)
            if merged is not None:
                return merged
        if pairs.reach < wanted:
            raise _too_many(search.plan, wanted)
        reach = _farther(found, pairs.reach)
        del pairs


def _farther(found: Survey, reach: float) -> float:
    """A reach with several times the pairs, for another product; everything once that is no longer farther."""
    farther = found.reach_of(max(RAISE_COLLECTED * found.pairs_within(reach), 1.0))
    return farther if farther > reach else FARTHEST


def _too_many(plan: Plan, reach: float) -> TooManyPairs:
    return TooManyPairs(
        f"memory: more than {plan.pairs} pairs of rows lie within the distance of {reach:.4g} that is needed; "
        "give more memory, or ask for more clusters"
    )


def _raised(pairs: NearPairs, reach: float) -> Iterator[float]:
    """Reaches to try with the same pairs, ever farther, the last one using them all."""
    reach = min(reach, pairs.reach)
    while reach < pairs.reach:
        yield reach
        reach = max(np.nextafter(reach, np.inf), pairs.reach_of(int(RAISE * pairs.within(reach)) + 1))
    yield pairs.reach


def _collect(search: Search, reach: float, steps: Steps) -> NearPairs:
    steps.expect(len(blocks(len(search.rows), search.plan.block)))
    return search.collect(reach, steps.step)


def _merge(
    rows: Rows, pairs: NearPairs, reach: float, goal: Goal, steps: Steps, clock: Clock
) -> Merged | None:
    """Merge what lies safely within reach; None when a number of merges was wanted and not reached."""
    most = len(rows) - 1 if goal.merges is None else goal.merges
    with clock.stage("merge"):
        forest = _forest(rows, pairs, reach, most, goal.linkage)
        forests.plant(forest, pairs.ends, pairs.distances)
    slack = 3 * rounding(goal.linkage, rows.given, rows.dimensions)
    highest = min(forest.reach - slack, goal.highest)
    heights = np.empty(most)
    stops = [*range(MERGES_PER_STEP, most, MERGES_PER_STEP), most]
    steps.expect(len(stops))
    for stop in stops:
        with clock.stage("merge"):
            going = forests.merge(forest, highest, stop, heights)
        steps.step()
        if not going:
            break
    made = int(forest.counts[forests.MERGES])
    if goal.merges is not None and made < most:
        return None
    return Merged(_roots(forest.parent), heights[:made], pairs.within(reach))


def _forest(rows: Rows, pairs: NearPairs, reach: float, merges: int, linkage: Linkage) -> Forest:
    """Every distinct row a cluster of its own, with room for the pairs within reach."""
    n, room = len(rows), pairs.within(reach)
    slots = min(merges, n // 2) if linkage in SUMMED else 0
    return Forest(
        rows=rows.values,
        inverse=rows.inverse,
        linkage=CODES[linkage],
        reach=reach if reach < FARTHEST else np.inf,  # every pair is there, and Ward's go beyond FARTHEST
        parent=np.arange(n, dtype=np.int32),
        size=rows.copies.copy(),
        first=np.full(n, forests.ABSENT, dtype=np.int32),
        seen=np.full(n, forests.ABSENT, dtype=np.int32),
        slot=np.full(n, forests.ABSENT, dtype=np.int32),
        free=np.arange(slots, dtype=np.int32)[::-1].copy(),
        sums=np.empty((slots, rows.dimensions)),
        other=np.empty(2 * room, dtype=np.int32),
        following=np.empty(2 * room, dtype=np.int32),
        distance=np.empty(room),
        heap=np.empty(room, dtype=np.int32),
        place=np.empty(room, dtype=np.int32),
        counts=np.array([0, slots, 0], dtype=np.int64),
    )


def _roots(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Follow parents, which are lower rows, up to the top."""
    while True:
        above = parent[parent]
        if np.array_equal(above, parent):
            return parent
        parent = above
