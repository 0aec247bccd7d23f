"""Hierarchical clustering by scipy, on all pairwise distances."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage as merge_tree

from curation.dedup.cuts import Linkage, relabel_by_first_appearance
from curation.dedup.vectors import unit_rows

BLOCK_ROWS = 256
Step = Callable[[], None]  # called between blocks; an exception ends the work


def dense_memory_bytes(n: int, d: int) -> int:
    """Return the memory for n rows of length d: unit rows, and two condensed arrays (ours and scipy's copy)."""
    return n * (n - 1) * 8 + n * d * 8


def dense_tree(
    features: NDArray[np.floating], linkage: Linkage, step: Step = lambda: None
) -> NDArray[np.float64]:
    """Return scipy's merges of (n, d) features, (n - 1, 4), heights in the linkage's unit. Raises as unit_rows does.

    An exception from step ends the work until scipy starts. scipy cannot be stopped and holds the interpreter's lock:
    no other thread of the process runs meanwhile, about 4 s for 7,000 rows, growing with the square of the rows.
    """
    distances = condensed_cosine_distances(unit_rows(features, "features"), step)
    if linkage is Linkage.WARD:  # the Euclidean distance of unit vectors
        np.sqrt(np.multiply(distances, 2.0, out=distances), out=distances)
    step()
    tree: NDArray[np.float64] = merge_tree(distances, method=linkage.value)
    return tree


def condensed_cosine_distances(rows: NDArray[np.floating], step: Step = lambda: None) -> NDArray[np.float64]:
    """Return pairwise 1 - cosine of (n, d) unit rows, in scipy's condensed order: (n (n - 1) / 2,)."""
    n = len(rows)
    distances = np.empty(n * (n - 1) // 2, dtype=np.float64)
    position = 0
    for row in _similarity_rows(rows, step):
        np.subtract(1.0, row, out=distances[position : position + len(row)])
        position += len(row)
    # Rounding makes distances of copies slightly negative.
    return np.maximum(distances, 0.0, out=distances)


def _similarity_rows(rows: NDArray[np.floating], step: Step) -> Iterator[NDArray[np.floating]]:
    """Yield the cosines of each row with all later rows; whole blocks are multiplied at once for speed."""
    for start in range(0, len(rows), BLOCK_ROWS):
        step()
        block = rows[start : start + BLOCK_ROWS] @ rows[start:].T
        for offset, similarity in enumerate(block):
            yield similarity[offset + 1 :]


def labels_from_merges(merges: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the labels of n leaves after the given merges (pairs of tree nodes; merge i makes node n + i)."""
    parent = np.arange(n + len(merges), dtype=np.int64)
    for index, (left, right) in enumerate(merges):
        parent[left] = parent[right] = n + index
    # A node's parent has a higher number, so one pass from the top finds every root.
    for node in range(len(parent) - 1, -1, -1):
        parent[node] = parent[parent[node]]
    return relabel_by_first_appearance(parent[:n])
