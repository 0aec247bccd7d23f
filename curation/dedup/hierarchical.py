"""Hierarchical clustering of vectors into an exact number of clusters, by cosine distance.

The published corpus was de-duplicated this way: 80K clusters of CLIP image vectors, one image kept from each, and
again on sentence vectors for its comparison sets. Linkage and metric are not stated there; average linkage on
cosine distance is the default here. Source: Hessel et al. 2022, section 3 and appendices A.2 and E,
doi:10.1007/978-3-031-20059-5_32.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage as merge_tree

from curation.dedup.vectors import unit_rows
from curation.records import InvalidInput

MEMORY_LIMIT_BYTES = 6 * 2**30
BLOCK_ROWS = 256


class Linkage(StrEnum):
    """How far apart two clusters are: mean, greatest or least distance between their members."""

    AVERAGE = "average"
    COMPLETE = "complete"
    SINGLE = "single"


def cluster_to_k(
    features: NDArray[np.floating],
    k: int,
    *,
    linkage: Linkage = Linkage.AVERAGE,
    memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
) -> NDArray[np.int64]:
    """Merge n vectors into exactly k clusters.

    features: (n, d), any length but zero; only directions matter. Returns (n,) labels 0..k-1 in order of first
    appearance. The n - k lowest merges of the tree are made, so ties never change the number of clusters; nothing
    is drawn at random. Raises InvalidInput for a bad row, a k outside 1..n, or more rows than memory_limit_bytes
    allows (all pairwise distances are held, twice, in float64).
    """
    rows = unit_rows(features, "features")
    n = len(rows)
    if not 1 <= k <= n:
        raise InvalidInput(f"clusters: {k} asked for from {n} rows of features; ask for 1 to {n}")
    if k == n:
        return np.arange(n, dtype=np.int64)
    if k == 1:
        return np.zeros(n, dtype=np.int64)
    _check_memory(n, memory_limit_bytes)
    tree = merge_tree(condensed_cosine_distances(rows), method=linkage.value)
    return _labels_after(tree[: n - k, :2].astype(np.int64), n)


def condensed_cosine_distances(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Pairwise 1 - cosine of (n, d) unit rows, in scipy's condensed order: (n (n - 1) / 2,)."""
    n = len(rows)
    distances = np.empty(n * (n - 1) // 2, dtype=np.float64)
    position = 0
    for row in _similarity_rows(rows):
        np.subtract(1.0, row, out=distances[position : position + len(row)])
        position += len(row)
    # Rounding leaves copies a hair below zero, which is no distance.
    return np.maximum(distances, 0.0, out=distances)


def _similarity_rows(rows: NDArray[np.floating]) -> Iterator[NDArray[np.floating]]:
    """The cosine of each row with every later row; whole blocks are multiplied at once for speed."""
    for start in range(0, len(rows), BLOCK_ROWS):
        block = rows[start : start + BLOCK_ROWS] @ rows[start:].T
        for offset, similarity in enumerate(block):
            yield similarity[offset + 1 :]


def _check_memory(n: int, limit: int) -> None:
    needed = n * (n - 1) * 8  # two condensed float64 arrays: ours and the copy that the tree is built in
    if needed > limit:
        raise InvalidInput(
            f"features: {n} rows need {needed / 2**30:.1f} GiB for their pairwise distances and the limit is "
            f"{limit / 2**30:.1f} GiB; cluster fewer rows at a time"
        )


def _labels_after(merges: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Labels of n leaves once the given merges (pairs of tree nodes; merge i makes node n + i) are made."""
    parent = np.arange(n + len(merges), dtype=np.int64)
    for index, (left, right) in enumerate(merges):
        parent[left] = parent[right] = n + index
    # A node's parent has a higher number, so one pass from the top finds every root.
    for node in range(len(parent) - 1, -1, -1):
        parent[node] = parent[parent[node]]
    return relabel_by_first_appearance(parent[:n])


def relabel_by_first_appearance(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Rename (n,) labels to 0, 1, 2, … in the order in which they first occur."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    names = np.empty(len(first), dtype=np.int64)
    names[np.argsort(first)] = np.arange(len(first))
    return names[inverse]
