"""The compiled merge loop: clusters, their pairs within the radius, nearest pair first.

``curation.dedup.sparse`` proves that the merges are correct.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.dedup.kernels import ROUNDING, VECTOR_SUM, cosine_distance_or_zero, dot, kernel

ABSENT = -1
AVERAGE, COMPLETE, SINGLE, WARD = 0, 1, 2, 3


class ClusterForest(NamedTuple):
    """Clusters, and the pairs of clusters within the radius; a cluster is named by its smallest member.

    Pair p has two ends, 2p and 2p + 1. End e is in the list of one cluster, and ``other[e]`` names the other cluster
    (ABSENT if the pair was removed); e ^ 1 is the same pair seen from the other cluster. Merges make no new pairs, so
    no array grows. ``heap`` orders the pairs by distance, then by smaller and greater name.
    """

    rows: NDArray[np.floating]  # (n, d)
    inverse: NDArray[np.float64]  # (n,) 1 / length
    linkage: int
    radius: float
    parent: NDArray[np.int32]  # (n,)
    size: NDArray[np.int64]  # (n,)
    first: NDArray[np.int32]  # (n,) end that heads the cluster's list
    shared_end: NDArray[np.int32]  # (n,) scratch: end towards this cluster from the one being merged
    slot: NDArray[np.int32]  # (n,) row of ``sums``, ABSENT for a single row of the features
    free: NDArray[np.int32]  # stack of unused rows of ``sums``
    sums: NDArray[np.float64]  # (slots, d) sums of unit vectors
    other: NDArray[np.int32]  # (2 pairs,)
    next_end: NDArray[np.int32]  # (2 pairs,) next end of the same list
    distance: NDArray[np.float64]  # (pairs,)
    heap: NDArray[np.int32]  # (pairs,)
    heap_position: NDArray[np.int32]  # (pairs,) position in the heap
    counts: NDArray[np.int64]  # pairs in the heap, free rows of sums, merges made


IN_HEAP, FREE_SLOTS, MERGES = 0, 1, 2


@kernel()
def _precedes(forest: ClusterForest, p: int, q: int) -> bool:
    """Whether pair p comes before pair q: lower distance, then lower smaller name, then lower greater name."""
    if forest.distance[p] != forest.distance[q]:
        return bool(forest.distance[p] < forest.distance[q])
    a, b = forest.other[2 * p], forest.other[2 * p + 1]
    c, d = forest.other[2 * q], forest.other[2 * q + 1]
    low, other_low = min(a, b), min(c, d)
    return bool(low < other_low or (low == other_low and max(a, b) < max(c, d)))


@kernel()
def _sift_up(forest: ClusterForest, index: int) -> None:
    pair = forest.heap[index]
    while index > 0:
        parent = (index - 1) >> 1
        if not _precedes(forest, pair, forest.heap[parent]):
            break
        forest.heap[index] = forest.heap[parent]
        forest.heap_position[forest.heap[index]] = index
        index = parent
    forest.heap[index] = pair
    forest.heap_position[pair] = index


@kernel()
def _sift_down(forest: ClusterForest, index: int) -> None:
    pair, count = forest.heap[index], forest.counts[IN_HEAP]
    while 2 * index + 1 < count:
        child = 2 * index + 1
        if child + 1 < count and _precedes(forest, forest.heap[child + 1], forest.heap[child]):
            child += 1
        if not _precedes(forest, forest.heap[child], pair):
            break
        forest.heap[index] = forest.heap[child]
        forest.heap_position[forest.heap[index]] = index
        index = child
    forest.heap[index] = pair
    forest.heap_position[pair] = index


@kernel()
def _restore_heap(forest: ClusterForest, pair: int) -> None:
    _sift_up(forest, forest.heap_position[pair])
    _sift_down(forest, forest.heap_position[pair])


@kernel()
def _remove_pair(forest: ClusterForest, pair: int) -> None:
    """Remove a pair from the heap."""
    index = forest.heap_position[pair]
    forest.counts[IN_HEAP] -= 1
    last = forest.heap[forest.counts[IN_HEAP]]
    if last != pair:
        forest.heap[index] = last
        forest.heap_position[last] = index
        _restore_heap(forest, last)


@kernel()
def fill_forest(forest: ClusterForest, ends: NDArray[np.int32], distances: NDArray[np.float64]) -> None:
    """Fill the lists and the heap of a forest with the given pairs of rows that are within its radius."""
    pair = 0
    for source in range(distances.shape[0]):
        a, b = ends[source, 0], ends[source, 1]
        distance = distances[source]
        if forest.linkage == WARD:
            distance *= 2.0 * forest.size[a] * forest.size[b] / (forest.size[a] + forest.size[b])
        if distance > forest.radius:
            continue
        _add_end(forest, 2 * pair, a, b)
        _add_end(forest, 2 * pair + 1, b, a)
        forest.distance[pair] = distance
        forest.heap[pair] = forest.heap_position[pair] = pair
        pair += 1
    forest.counts[IN_HEAP] = pair
    for index in range(pair // 2 - 1, -1, -1):
        _sift_down(forest, index)


@kernel()
def _add_end(forest: ClusterForest, end: int, owner: int, other: int) -> None:
    forest.other[end] = other
    forest.next_end[end] = forest.first[owner]
    forest.first[owner] = end


@kernel(VECTOR_SUM)
def _add_row(total: NDArray[np.float64], row: NDArray[np.floating], factor: float) -> None:
    for t in range(total.shape[0]):
        total[t] += row[t] * factor


@kernel()
def _get_slot(forest: ClusterForest, cluster: int) -> int:
    """Return a cluster's row of ``sums``; a single row of the features (with its copies) gets a new one."""
    if forest.slot[cluster] == ABSENT:
        forest.counts[FREE_SLOTS] -= 1
        slot = forest.free[forest.counts[FREE_SLOTS]]
        forest.sums[slot] = 0.0
        _add_row(forest.sums[slot], forest.rows[cluster], forest.size[cluster] * forest.inverse[cluster])
        forest.slot[cluster] = slot
    return int(forest.slot[cluster])


@kernel()
def _add_sums(forest: ClusterForest, kept: int, absorbed: int) -> None:
    """Add the sum of cluster ``absorbed`` to that of ``kept``; call it before their sizes change."""
    if forest.slot[kept] == ABSENT and forest.slot[absorbed] != ABSENT:
        forest.slot[kept] = forest.slot[absorbed]
        _add_row(forest.sums[forest.slot[kept]], forest.rows[kept], forest.size[kept] * forest.inverse[kept])
        return
    slot = _get_slot(forest, kept)
    if forest.slot[absorbed] == ABSENT:
        _add_row(forest.sums[slot], forest.rows[absorbed], forest.size[absorbed] * forest.inverse[absorbed])
        return
    _add_row(forest.sums[slot], forest.sums[forest.slot[absorbed]], 1.0)
    forest.free[forest.counts[FREE_SLOTS]] = forest.slot[absorbed]
    forest.counts[FREE_SLOTS] += 1


@kernel(VECTOR_SUM)
def _squared_difference(
    total: NDArray[np.float64], factor: float, row: NDArray[np.floating], scale: float
) -> float:
    """Return the squared length of factor * total - scale * row."""
    squares = 0.0
    for t in range(total.shape[0]):
        difference = factor * total[t] - scale * row[t]
        squares += difference * difference
    return squares


@kernel()
def _average_distance(forest: ClusterForest, a: int, x: int) -> float:
    """Average linkage: 1 - S_a . S_x / (|a| |x|), from the sums of unit vectors."""
    total = forest.sums[forest.slot[a]]
    if forest.slot[x] == ABSENT:  # the number of copies of the row cancels
        similarity = dot(total, forest.rows[x]) * forest.inverse[x] / forest.size[a]
    else:
        similarity = dot(total, forest.sums[forest.slot[x]]) / (forest.size[a] * forest.size[x])
    return cosine_distance_or_zero(similarity, forest.size[a] + forest.size[x], forest.rows.shape[1])


@kernel()
def _ward_distance(forest: ClusterForest, a: int, x: int) -> float:
    """Ward: |a| |x| / (|a| + |x|) times the squared distance of the means (half the square of scipy's height).

    Integers and a single division, so that distances that tie in exact sums also tie here.
    """
    total, na, nx = forest.sums[forest.slot[a]], float(forest.size[a]), float(forest.size[x])
    if forest.slot[x] == ABSENT:
        spread, masses = _squared_difference(total, 1.0, forest.rows[x], na * forest.inverse[x]), na
        weight = nx
    else:
        spread, masses = _squared_difference(total, nx, forest.sums[forest.slot[x]], na), na * nx
        weight = 1.0
    if 0.5 * spread <= masses * masses * (na + nx + 2 * forest.rows.shape[1] + 16) * ROUNDING:
        return 0.0
    return spread * weight / (masses * (na + nx))


@kernel()
def _update_or_remove_pair(forest: ClusterForest, end: int, kept: int, other_side: float) -> None:
    """Set the distance of a pair from the union. other_side: from its other half, infinite beyond the radius."""
    pair, x = end >> 1, forest.other[end]
    if forest.linkage == AVERAGE:
        distance = _average_distance(forest, kept, x)
    elif forest.linkage == WARD:
        distance = _ward_distance(forest, kept, x)
    elif forest.linkage == COMPLETE:
        distance = max(forest.distance[pair], other_side)
    else:
        distance = min(forest.distance[pair], other_side)
    forest.other[end ^ 1] = kept
    if distance > forest.radius:
        _remove_pair(forest, pair)
        forest.other[end] = forest.other[end ^ 1] = ABSENT
    else:
        forest.distance[pair] = distance
        _restore_heap(forest, pair)


@kernel()
def _link_end_if_present(forest: ClusterForest, end: int, owner: int) -> None:
    if forest.other[end] != ABSENT:
        forest.next_end[end] = forest.first[owner]
        forest.first[owner] = end


@kernel()
def _merge_neighbour_lists(forest: ClusterForest, kept: int, absorbed: int) -> None:
    """Join the two clusters' lists, with the distances from their union."""
    kept_end, end = forest.first[kept], forest.first[absorbed]
    forest.first[kept] = forest.first[absorbed] = ABSENT
    _mark_neighbours(forest, kept_end)
    while end != ABSENT:
        next_end, x = forest.next_end[end], forest.other[end]
        if (
            x != ABSENT and forest.shared_end[x] != ABSENT
        ):  # a neighbour of both: one of the two pairs remains
            twin, distance = forest.shared_end[x], forest.distance[end >> 1]
            forest.shared_end[x] = ABSENT
            _remove_pair(forest, end >> 1)
            forest.other[end] = forest.other[end ^ 1] = ABSENT
            _update_or_remove_pair(forest, twin, kept, distance)
        elif x != ABSENT:
            _update_or_remove_pair(forest, end, kept, np.inf)
            _link_end_if_present(forest, end, kept)
        end = next_end
    while kept_end != ABSENT:
        next_end, x = forest.next_end[kept_end], forest.other[kept_end]
        if x != ABSENT and forest.shared_end[x] != ABSENT:
            forest.shared_end[x] = ABSENT
            _update_or_remove_pair(forest, kept_end, kept, np.inf)
        _link_end_if_present(forest, kept_end, kept)
        kept_end = next_end


@kernel()
def _mark_neighbours(forest: ClusterForest, end: int) -> None:
    """Record for each current neighbour in a list the end that leads to it."""
    while end != ABSENT:
        if forest.other[end] != ABSENT:
            forest.shared_end[forest.other[end]] = end
        end = forest.next_end[end]


@kernel()
def merge(forest: ClusterForest, max_distance: float, stop: int, heights: NDArray[np.float64]) -> bool:
    """Merge the nearest pair until ``stop`` merges are made; heights: (merges,), filled.

    Returns False if no pair at or below ``max_distance`` remains.
    """
    while forest.counts[MERGES] < stop:
        pair = forest.heap[0] if forest.counts[IN_HEAP] else ABSENT
        if pair == ABSENT or forest.distance[pair] > max_distance:
            return False
        kept = min(forest.other[2 * pair], forest.other[2 * pair + 1])
        absorbed = max(forest.other[2 * pair], forest.other[2 * pair + 1])
        _remove_pair(forest, pair)
        forest.other[2 * pair] = forest.other[2 * pair + 1] = ABSENT
        if forest.linkage in (AVERAGE, WARD):
            _add_sums(forest, kept, absorbed)
        forest.size[kept] += forest.size[absorbed]
        forest.parent[absorbed] = kept
        heights[forest.counts[MERGES]] = forest.distance[pair]
        forest.counts[MERGES] += 1
        _merge_neighbour_lists(forest, kept, absorbed)
    return True
