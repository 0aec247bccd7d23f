"""The merging itself, compiled: clusters, the pairs of them within reach, and the nearest pair first.

``curation.dedup.exact`` says why the merges are right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.dedup.kernels import ROUNDING, VECTOR_SUM, apart, dot, kernel

ABSENT = -1
AVERAGE, COMPLETE, SINGLE, WARD = 0, 1, 2, 3


class Forest(NamedTuple):
    """Clusters, and the pairs of clusters within reach; a cluster is called by its smallest member.

    Pair p has two ends, 2p and 2p + 1. End e lies in the list of one cluster and ``other[e]`` names the other one
    (ABSENT when the pair is gone), so that e ^ 1 is the same pair seen from there. No merge makes a new pair, hence
    nothing here ever grows. ``heap`` orders the pairs by distance, then by smaller and greater name.
    """

    rows: NDArray[np.floating]  # (n, d)
    inverse: NDArray[np.float64]  # (n,) 1 / length
    linkage: int
    reach: float
    parent: NDArray[np.int32]  # (n,)
    size: NDArray[np.int64]  # (n,)
    first: NDArray[np.int32]  # (n,) end that heads the cluster's list
    seen: NDArray[np.int32]  # (n,) scratch: end towards this cluster from the one being merged
    slot: NDArray[np.int32]  # (n,) row of ``sums``, ABSENT for a single row of the features
    free: NDArray[np.int32]  # stack of unused rows of ``sums``
    sums: NDArray[np.float64]  # (slots, d) sums of unit vectors
    other: NDArray[np.int32]  # (2 pairs,)
    following: NDArray[np.int32]  # (2 pairs,) next end of the same list
    distance: NDArray[np.float64]  # (pairs,)
    heap: NDArray[np.int32]  # (pairs,)
    place: NDArray[np.int32]  # (pairs,) position in the heap
    counts: NDArray[np.int64]  # pairs in the heap, free rows of sums, merges made


IN_HEAP, FREE_SLOTS, MERGES = 0, 1, 2


@kernel()
def _before(forest: Forest, p: int, q: int) -> bool:
    """Whether pair p comes before pair q: lower distance, then lower smaller name, then lower greater name."""
    if forest.distance[p] != forest.distance[q]:
        return bool(forest.distance[p] < forest.distance[q])
    a, b = forest.other[2 * p], forest.other[2 * p + 1]
    c, d = forest.other[2 * q], forest.other[2 * q + 1]
    low, other_low = min(a, b), min(c, d)
    return bool(low < other_low or (low == other_low and max(a, b) < max(c, d)))


@kernel()
def _rise(forest: Forest, at: int) -> None:
    pair = forest.heap[at]
    while at > 0:
        above = (at - 1) >> 1
        if not _before(forest, pair, forest.heap[above]):
            break
        forest.heap[at] = forest.heap[above]
        forest.place[forest.heap[at]] = at
        at = above
    forest.heap[at] = pair
    forest.place[pair] = at


@kernel()
def _sink(forest: Forest, at: int) -> None:
    pair, count = forest.heap[at], forest.counts[IN_HEAP]
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and _before(forest, forest.heap[below + 1], forest.heap[below]):
            below += 1
        if not _before(forest, forest.heap[below], pair):
            break
        forest.heap[at] = forest.heap[below]
        forest.place[forest.heap[at]] = at
        at = below
    forest.heap[at] = pair
    forest.place[pair] = at


@kernel()
def _reorder(forest: Forest, pair: int) -> None:
    _rise(forest, forest.place[pair])
    _sink(forest, forest.place[pair])


@kernel()
def _discard(forest: Forest, pair: int) -> None:
    """Take a pair out of the heap."""
    at = forest.place[pair]
    forest.counts[IN_HEAP] -= 1
    last = forest.heap[forest.counts[IN_HEAP]]
    if last != pair:
        forest.heap[at] = last
        forest.place[last] = at
        _reorder(forest, last)


@kernel()
def plant(forest: Forest, ends: NDArray[np.int32], distances: NDArray[np.float64]) -> None:
    """Fill the lists and the heap of a forest with the given pairs of rows, as far as they lie within its reach."""
    pair = 0
    for given in range(distances.shape[0]):
        a, b = ends[given, 0], ends[given, 1]
        distance = distances[given]
        if forest.linkage == WARD:
            distance *= 2.0 * forest.size[a] * forest.size[b] / (forest.size[a] + forest.size[b])
        if distance > forest.reach:
            continue
        _add_end(forest, 2 * pair, a, b)
        _add_end(forest, 2 * pair + 1, b, a)
        forest.distance[pair] = distance
        forest.heap[pair] = forest.place[pair] = pair
        pair += 1
    forest.counts[IN_HEAP] = pair
    for at in range(pair // 2 - 1, -1, -1):
        _sink(forest, at)


@kernel()
def _add_end(forest: Forest, end: int, owner: int, other: int) -> None:
    forest.other[end] = other
    forest.following[end] = forest.first[owner]
    forest.first[owner] = end


@kernel(VECTOR_SUM)
def _add_row(total: NDArray[np.float64], row: NDArray[np.floating], factor: float) -> None:
    for t in range(total.shape[0]):
        total[t] += row[t] * factor


@kernel()
def _slot_of(forest: Forest, cluster: int) -> int:
    """The row of ``sums`` of a cluster; a single row of the features (with its copies) gets one now."""
    if forest.slot[cluster] == ABSENT:
        forest.counts[FREE_SLOTS] -= 1
        slot = forest.free[forest.counts[FREE_SLOTS]]
        forest.sums[slot] = 0.0
        _add_row(forest.sums[slot], forest.rows[cluster], forest.size[cluster] * forest.inverse[cluster])
        forest.slot[cluster] = slot
    return int(forest.slot[cluster])


@kernel()
def _add_sums(forest: Forest, keep: int, gone: int) -> None:
    """Add the sum of cluster ``gone`` to that of ``keep``; must come before their sizes change."""
    if forest.slot[keep] == ABSENT and forest.slot[gone] != ABSENT:
        forest.slot[keep] = forest.slot[gone]
        _add_row(forest.sums[forest.slot[keep]], forest.rows[keep], forest.size[keep] * forest.inverse[keep])
        return
    slot = _slot_of(forest, keep)
    if forest.slot[gone] == ABSENT:
        _add_row(forest.sums[slot], forest.rows[gone], forest.size[gone] * forest.inverse[gone])
        return
    _add_row(forest.sums[slot], forest.sums[forest.slot[gone]], 1.0)
    forest.free[forest.counts[FREE_SLOTS]] = forest.slot[gone]
    forest.counts[FREE_SLOTS] += 1


@kernel(VECTOR_SUM)
def _spread(total: NDArray[np.float64], factor: float, row: NDArray[np.floating], scale: float) -> float:
    """Squared length of factor * total - scale * row."""
    squares = 0.0
    for t in range(total.shape[0]):
        difference = factor * total[t] - scale * row[t]
        squares += difference * difference
    return squares


@kernel()
def _mean_apart(forest: Forest, a: int, x: int) -> float:
    """Average linkage: 1 - S_a . S_x / (|a| |x|), from the sums of unit vectors."""
    total = forest.sums[forest.slot[a]]
    if (
        forest.slot[x] == ABSENT
    ):  # every copy of the row adds the same to both sums: the number of them cancels
        similarity = dot(total, forest.rows[x]) * forest.inverse[x] / forest.size[a]
    else:
        similarity = dot(total, forest.sums[forest.slot[x]]) / (forest.size[a] * forest.size[x])
    return apart(similarity, forest.size[a] + forest.size[x], forest.rows.shape[1])


@kernel()
def _ward_apart(forest: Forest, a: int, x: int) -> float:
    """Ward: |a| |x| / (|a| + |x|) times the squared distance of the means (half the square of scipy's height).

    With whole numbers under one division, so that distances that tie in exact sums tie here.
    """
    total, na, nx = forest.sums[forest.slot[a]], float(forest.size[a]), float(forest.size[x])
    if forest.slot[x] == ABSENT:
        spread, masses = _spread(total, 1.0, forest.rows[x], na * forest.inverse[x]), na
        weight = nx
    else:
        spread, masses = _spread(total, nx, forest.sums[forest.slot[x]], na), na * nx
        weight = 1.0
    if 0.5 * spread <= masses * masses * (na + nx + 2 * forest.rows.shape[1] + 16) * ROUNDING:
        return 0.0
    return spread * weight / (masses * (na + nx))


@kernel()
def _measure(
    forest: Forest,
    end: int,
    keep: int,
    other_side: float,
) -> None:
    """Set the distance of a pair from the union. other_side: from its other half, infinite beyond reach."""
    pair, x = end >> 1, forest.other[end]
    if forest.linkage == AVERAGE:
        distance = _mean_apart(forest, keep, x)
    elif forest.linkage == WARD:
        distance = _ward_apart(forest, keep, x)
    elif forest.linkage == COMPLETE:
        distance = max(forest.distance[pair], other_side)
    else:
        distance = min(forest.distance[pair], other_side)
    forest.other[end ^ 1] = keep
    if distance > forest.reach:
        _discard(forest, pair)
        forest.other[end] = forest.other[end ^ 1] = ABSENT
    else:
        forest.distance[pair] = distance
        _reorder(forest, pair)


@kernel()
def _link(forest: Forest, end: int, owner: int) -> None:
    if forest.other[end] != ABSENT:
        forest.following[end] = forest.first[owner]
        forest.first[owner] = end


@kernel()
def _join(
    forest: Forest,
    keep: int,
    gone: int,
) -> None:
    """Make one list of the two clusters' lists, with the distances from their union."""
    mine, end = forest.first[keep], forest.first[gone]
    forest.first[keep] = forest.first[gone] = ABSENT
    _mark(forest, mine)
    while end != ABSENT:
        following, x = forest.following[end], forest.other[end]
        if x != ABSENT and forest.seen[x] != ABSENT:  # a neighbour of both: one of the two pairs stays
            twin, distance = forest.seen[x], forest.distance[end >> 1]
            forest.seen[x] = ABSENT
            _discard(forest, end >> 1)
            forest.other[end] = forest.other[end ^ 1] = ABSENT
            _measure(forest, twin, keep, distance)
        elif x != ABSENT:
            _measure(forest, end, keep, np.inf)
            _link(forest, end, keep)
        end = following
    while mine != ABSENT:
        following, x = forest.following[mine], forest.other[mine]
        if x != ABSENT and forest.seen[x] != ABSENT:
            forest.seen[x] = ABSENT
            _measure(forest, mine, keep, np.inf)
        _link(forest, mine, keep)
        mine = following


@kernel()
def _mark(forest: Forest, end: int) -> None:
    """Remember, for each live neighbour in a list, the end that leads to it."""
    while end != ABSENT:
        if forest.other[end] != ABSENT:
            forest.seen[forest.other[end]] = end
        end = forest.following[end]


@kernel()
def merge(
    forest: Forest,
    highest: float,
    stop: int,
    heights: NDArray[np.float64],
) -> bool:
    """Merge the nearest pair again and again until ``stop`` merges are made; heights: (merges,), filled.

    Returns False when no pair at or below ``highest`` is left.
    """
    while forest.counts[MERGES] < stop:
        pair = forest.heap[0] if forest.counts[IN_HEAP] else ABSENT
        if pair == ABSENT or forest.distance[pair] > highest:
            return False
        keep = min(forest.other[2 * pair], forest.other[2 * pair + 1])
        gone = max(forest.other[2 * pair], forest.other[2 * pair + 1])
        _discard(forest, pair)
        forest.other[2 * pair] = forest.other[2 * pair + 1] = ABSENT
        if forest.linkage in (AVERAGE, WARD):
            _add_sums(forest, keep, gone)
        forest.size[keep] += forest.size[gone]
        forest.parent[gone] = keep
        heights[forest.counts[MERGES]] = forest.distance[pair]
        forest.counts[MERGES] += 1
        _join(forest, keep, gone)
    return True
