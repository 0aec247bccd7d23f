"""Why an assignment is impossible: Hall's theorem names rows that share too few columns, or the reverse.

Source: P. Hall, "On representatives of subsets", J. London Math. Soc. 10 (1935), doi:10.1112/jlms/s1-10.37.26.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from curation.matching import kernels
from curation.matching.kernels import FREE

MAX_SOURCES = 16  # unmatched rows, and columns, from which a smallest violator is sought


@dataclass(frozen=True, slots=True)
class HallViolator:
    """Rows and columns that prove that no assignment exists; both ascending.

    by_rows: the rows are allowed no columns but these, which are fewer. Otherwise the columns are allowed no rows but
    these, which are fewer.
    """

    by_rows: bool
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of rows and columns."""
        return len(self.rows) + len(self.columns)


def find_hall_violator(starts: NDArray[np.int64], columns: NDArray[np.int64]) -> HallViolator:
    """Return the smallest violator that alternating paths from unmatched rows or columns show.

    starts: (n + 1,) and columns: (e,), the allowed pairs of each row, which have no perfect matching.
    """
    n = len(starts) - 1
    allowed = csr_array((np.ones(len(columns), np.int8), columns, starts), shape=(n, n))
    matched = maximum_bipartite_matching(allowed, perm_type="column").astype(np.int64)
    rows_of = np.full(n, FREE, np.int64)
    rows_of[matched[matched != FREE]] = np.flatnonzero(matched != FREE)
    found = [
        HallViolator(True, *_reach(starts, columns, rows_of, source))
        for source in np.flatnonzero(matched == FREE)[:MAX_SOURCES]
    ]
    back = csr_array(allowed.T)
    back_starts, back_rows = back.indptr.astype(np.int64), back.indices.astype(np.int64)
    found += [
        HallViolator(False, *reversed(_reach(back_starts, back_rows, matched, source)))
        for source in np.flatnonzero(rows_of == FREE)[:MAX_SOURCES]
    ]
    return min(found, key=lambda violator: (violator.size, not violator.by_rows))


def _reach(
    starts: NDArray[np.int64], columns: NDArray[np.int64], rows_of: NDArray[np.int64], source: np.int64
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rows, reached = kernels.reach(starts, columns, rows_of, np.array([source], np.int64))
    return tuple(np.flatnonzero(rows).tolist()), tuple(np.flatnonzero(reached).tolist())
