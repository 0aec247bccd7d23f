"""Exact maximum-weight assignment with a certificate of its optimality on every solve.

A dense matrix is solved on a *core*, the few best pairs of every row and column, and then priced: pairs that are
better than the duals allow join the core, until there is none (Volgenant 1996). So a solve reads the matrix a few
times instead of once for each step of a path, and the result is the optimum of the whole matrix.

The certificate is linear programming's: with duals u and v, no assignment weighs more than sum(u) + sum(v) if
u[i] + v[j] >= weights[i, j] for every allowed pair.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.matching import core_kernels, kernels
from curation.matching.hall import HallViolator, find_hall_violator
from curation.matching.kernels import FREE, Graph, Matching
from curation.records import InvalidInput

CORE_SIZE = 12  # best pairs of each row, and of each column, with which a dense solve begins
MAX_CORE_SHARE = 1 / 8  # of all pairs; a larger core is slower than the whole matrix
ROW_REDUCTIONS = 2
RELATIVE_TOLERANCE = 1e-12  # of the greatest weight; smaller differences are rounding
CERTIFICATE_TOLERANCE = 1e-6  # of each reduced cost, and of the gap for each row

Weights = NDArray[np.float32] | NDArray[np.float64]


class CertificateError(RuntimeError):
    """The solver's result is not proven optimal: a defect of the solver, never of its input."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """min_reduced_cost: least u[i] + v[j] - weights[i, j]. gap: |sum(u) + sum(v) - total|."""

    min_reduced_cost: float
    gap: float


@dataclass(frozen=True, slots=True)
class Assignment:
    """An optimal assignment: columns (n,) int64 of the rows, duals u and v (n,) float64, and the sum of weights."""

    columns: NDArray[np.int64]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    total: float
    certificate: Certificate


@dataclass(frozen=True, slots=True)
class Infeasible:
    """No row can be assigned to a column of its own; the violator proves it."""

    violator: HallViolator


def assign(weights: Weights) -> Assignment | Infeasible:
    """Assign every row to a column of its own, so that the sum of weights is greatest.

    weights: (n, n) float32 or float64; -inf forbids a pair. Equal input gives an equal result; which of several
    optima is chosen depends on the order of rows and columns.

    Raises:
        InvalidInput: not square, NaN or +inf, with the row and column.
        CertificateError: the result is not proven optimal.
    """
    best = _column_maxima(weights)
    n = len(weights)
    if np.isneginf(best).any():
        return Infeasible(_violator_of_dense(weights))
    solver = _CoreSolver(weights, -best)
    if not solver.solve():
        return Infeasible(_violator_of_dense(weights))
    columns, v = solver.matching.columns, -solver.matching.prices
    own = weights[np.arange(n), columns].astype(np.float64)
    u = own - v[columns]
    certificate = certify(weights, columns, u, v)
    return Assignment(columns, u, v, float(own.sum()), certificate)


def assign_sparse(
    indptr: NDArray[np.integer], indices: NDArray[np.integer], data: NDArray[np.floating], n: int
) -> Assignment | Infeasible:
    """Assign as ``assign`` does, among the listed pairs only; all others are forbidden.

    indptr: (n + 1,), indices: (e,) columns, ascending within a row, data: (e,) weights, as in a CSR matrix.

    Raises:
        InvalidInput: the arrays are no such matrix, or a weight is NaN or +inf.
        CertificateError: the result is not proven optimal.
    """
    _check_csr(indptr, indices, data, n)
    allowed = data > -np.inf
    rows = np.repeat(np.arange(n), np.diff(indptr))[allowed]
    columns, values = indices[allowed].astype(np.int64), data[allowed].astype(np.float64)
    graph = _make_graph(rows, columns, -values, n)
    matching = _empty_matching(n)
    if len(np.unique(columns)) < n or not _match_graph(graph, matching):
        return Infeasible(find_hall_violator(graph.starts, graph.columns))
    v = -matching.prices
    u = -matching.costs - v[matching.columns]
    certificate = _certify_pairs(rows, columns, values, matching.columns, u, v)
    return Assignment(matching.columns, u, v, float(-matching.costs.sum()), certificate)


def _column_maxima(weights: Weights) -> NDArray[np.float64]:
    """Return each column's greatest weight (n,).

    Raises:
        InvalidInput: not square, of another type, or a weight is NaN or +inf.
    """
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:  # noqa: PLR2004 - rows and columns
        raise InvalidInput(f"weights: the shape is {weights.shape}; give as many rows as columns")
    if weights.dtype not in {np.dtype(np.float32), np.dtype(np.float64)}:
        raise InvalidInput(f"weights: the type is {weights.dtype}; give float32 or float64")
    best = weights.max(axis=0, initial=-np.inf).astype(np.float64)
    if np.isnan(best).any() or (best == np.inf).any():
        row, column = np.argwhere(np.isnan(weights) | (weights == np.inf))[0]
        value = weights[row, column]
        raise InvalidInput(f"weights: row {row}, column {column} is {value}; give numbers, or -inf to forbid")
    return best


def _check_csr(
    indptr: NDArray[np.integer], indices: NDArray[np.integer], data: NDArray[np.floating], n: int
) -> None:
    if (
        len(indptr) != n + 1
        or indptr[0] != 0
        or indptr[-1] != len(indices)
        or np.diff(indptr).min(initial=0) < 0
    ):
        raise InvalidInput(f"indptr: does not divide {len(indices)} pairs into {n} rows")
    if len(data) != len(indices):
        raise InvalidInput(f"data: {len(data)} weights for {len(indices)} pairs; give one each")
    ascending = np.diff(indices) > 0
    ascending[indptr[(indptr > 0) & (indptr < len(indices))] - 1] = True  # between two rows
    if not ascending.all() or indices.min(initial=0) < 0 or indices.max(initial=-1) >= n:
        raise InvalidInput(f"indices: give columns from 0 to {n - 1}, ascending within each row")
    bad = np.flatnonzero(np.isnan(data) | (data == np.inf))
    if len(bad):
        row = int(np.searchsorted(indptr, bad[0], side="right")) - 1
        raise InvalidInput(
            f"data: row {row}, column {indices[bad[0]]} is {data[bad[0]]}; give numbers or -inf"
        )


def certify(
    weights: Weights, columns: NDArray[np.int64], u: NDArray[np.float64], v: NDArray[np.float64]
) -> Certificate:
    """Return the certificate of an assignment of the dense matrix, computed from its entries alone.

    Raises:
        CertificateError: a column is used twice, a pair is forbidden, or the duals do not prove the optimum.
    """
    n = len(weights)
    total = float(weights[np.arange(n), columns].sum(dtype=np.float64))
    least = float(core_kernels.least_reduced_cost(weights, u, v))
    return _accept(columns, total, least, u, v)


def _certify_pairs(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    chosen: NDArray[np.int64],
    u: NDArray[np.float64],
    v: NDArray[np.float64],
) -> Certificate:
    is_chosen = chosen[rows] == columns
    total = float(values[is_chosen].sum()) if is_chosen.sum() == len(chosen) else -np.inf
    least = float((u[rows] + v[columns] - values).min(initial=np.inf))
    return _accept(chosen, total, least, u, v)


def _accept(
    columns: NDArray[np.int64], total: float, least: float, u: NDArray[np.float64], v: NDArray[np.float64]
) -> Certificate:
    n = len(columns)
    gap = abs(float(u.sum() + v.sum()) - total)
    scale = max(np.abs(u).max(initial=0.0), np.abs(v).max(initial=0.0))
    tolerance = max(
        CERTIFICATE_TOLERANCE, RELATIVE_TOLERANCE * scale
    )  # the second is for weights above a million
    is_permutation = bool((np.sort(columns) == np.arange(n)).all())
    if not is_permutation or not gap <= tolerance * n or not least >= -tolerance:
        raise CertificateError(
            f"the assignment of {n} rows is not proven optimal: least reduced cost {least}, gap {gap}"
        )
    return Certificate(least, gap)


class _CoreSolver:
    """Solves a dense matrix on a core of pairs that grows until no pair outside of it could improve the result."""

    def __init__(self, weights: Weights, prices: NDArray[np.float64]) -> None:
        """prices: (n,) each column's least cost, finite."""
        self.weights = weights
        self.n = len(weights)
        best_columns, best_rows = core_kernels.select_pairs(weights, prices, min(CORE_SIZE, self.n), True)
        self.keys = merge_pairs(best_columns, best_rows)
        self.matching = _empty_matching(self.n)

    def solve(self) -> bool:
        """Complete the matching; return whether it is complete."""
        graph = self.graph()
        if np.diff(graph.starts).min(initial=1) == 0:  # a row without an allowed pair
            return False
        free = _start_matching(graph, self.matching)
        limit, tolerance = CORE_SIZE, RELATIVE_TOLERANCE * max(1.0, np.abs(graph.costs).max(initial=0.0))
        while True:
            stuck = kernels.augment_paths(graph, self.matching, free)
            rows, columns = self.widen(graph, stuck, limit) if len(stuck) else self.price(tolerance, limit)
            if not len(rows):
                return not len(stuck)
            size = len(self.keys)
            self.keys = _sort_distinct(np.concatenate([self.keys, rows * self.n + columns]))
            if len(self.keys) == size:  # what is below a dual inside the core is rounding
                return True
            if len(self.keys) > MAX_CORE_SHARE * self.n**2:
                return self.solve_whole(tolerance)
            graph = self.graph()
            free = kernels.release_rows(graph, self.matching, tolerance)
            limit = min(2 * limit, self.n)

    def solve_whole(self, tolerance: float) -> bool:
        """Complete the matching on the whole matrix: the core is so large that it saves no time."""
        matching = self.matching
        is_free = matching.columns == FREE
        is_free[self.price(tolerance, 1)[0]] = True
        matching.rows[matching.columns[is_free & (matching.columns != FREE)]] = FREE
        matching.columns[is_free] = FREE
        return not core_kernels.augment_dense(self.weights, matching, np.flatnonzero(is_free))

    def graph(self) -> Graph:
        rows, columns = np.divmod(self.keys, self.n)
        return _make_graph(rows, columns, -self.weights[rows, columns].astype(np.float64), self.n)

    def price(self, tolerance: float, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        matching = self.matching
        duals = np.where(
            matching.columns == FREE, -np.inf, matching.costs - matching.prices[matching.columns]
        )
        found: tuple[NDArray[np.int64], NDArray[np.int64]] = core_kernels.price_rows(
            self.weights, matching.prices, duals, tolerance, limit
        )
        return found

    def widen(
        self, graph: Graph, stuck: NDArray[np.int64], limit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        reached = kernels.reach(graph.starts, graph.columns, self.matching.rows, stuck)
        found: tuple[NDArray[np.int64], NDArray[np.int64]] = core_kernels.widen_rows(
            self.weights, self.matching.prices, *reached, limit
        )
        return found


def merge_pairs(best_columns: NDArray[np.int64], best_rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct pairs of two lists (n, k) as ascending keys, row x n + column; NONE is left out."""
    n, k = best_columns.shape
    items = np.repeat(np.arange(n), k)
    by_row, by_column = best_columns.ravel(), best_rows.ravel()
    keys = np.concatenate([(items * n + by_row)[by_row >= 0], (by_column * n + items)[by_column >= 0]])
    return _sort_distinct(keys)


def _sort_distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct keys, ascending; faster than ``numpy.unique``, which hashes."""
    keys = np.sort(keys)
    return keys[np.diff(keys, prepend=-1) > 0]


def _make_graph(
    rows: NDArray[np.int64], columns: NDArray[np.int64], costs: NDArray[np.float64], n: int
) -> Graph:
    return Graph(row_starts(rows, n), columns, costs)


def row_starts(rows: NDArray[np.integer], n: int) -> NDArray[np.int64]:
    """Return where each of n rows starts among pairs (e,) that are sorted by row, and their number: (n + 1,)."""
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=starts[1:])
    return starts


def _empty_matching(n: int) -> Matching:
    free = np.full(n, FREE, np.int64)
    return Matching(free, free.copy(), np.zeros(n), np.zeros(n))


def _match_graph(graph: Graph, matching: Matching) -> bool:
    """Match all rows at least cost; return whether that was possible. Every column has an edge."""
    if np.diff(graph.starts).min(initial=1) == 0:
        return False
    return not len(kernels.augment_paths(graph, matching, _start_matching(graph, matching)))


def _start_matching(graph: Graph, matching: Matching) -> NDArray[np.int64]:
    """Reduce columns and rows; return the rows that are left free."""
    kernels.reduce_columns(graph, matching)
    free: NDArray[np.int64] = np.flatnonzero(matching.columns == FREE)
    for _ in range(ROW_REDUCTIONS):
        free = kernels.reduce_rows(graph, matching, free)
    return free


def _violator_of_dense(weights: Weights) -> HallViolator:
    rows, allowed = np.nonzero(weights > -np.inf)
    graph = _make_graph(rows, allowed, np.empty(0), len(weights))
    return find_hall_violator(graph.starts, graph.columns)
