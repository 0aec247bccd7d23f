"""Shortlists: the pairs that are worth an expensive score, as the rows of a CSR matrix."""

import numpy as np
from numpy.typing import NDArray

from curation.matching import core_kernels
from curation.matching.assign import Weights, merge_pairs, row_starts
from curation.matching.options import ShortlistBy

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""indptr (n + 1,) and indices (e,), ascending within a row, of the listed pairs."""


def shortlist_pairs(weights: Weights, k: int, by: ShortlistBy) -> Pairs:
    """Return the k best columns of each row and, with ``both``, the k best rows of each column.

    weights: (n, n); -inf is never listed. The lower index wins a tie. A row may have fewer than k.
    """
    n = len(weights)
    best_columns, best_rows = core_kernels.select_pairs(weights, np.zeros(n), min(k, max(n, 1)), False)
    if by is ShortlistBy.ROWS:
        best_rows = np.full_like(best_rows, core_kernels.NONE)
    rows, columns = np.divmod(merge_pairs(best_columns, best_rows), max(n, 1))
    return row_starts(rows, n), columns


def pair_rows(indptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each listed pair: (e,)."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
