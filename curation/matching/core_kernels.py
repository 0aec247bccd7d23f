"""Compiled passes over a dense matrix of weights, which choose the few edges that the sparse solver works on.

Weights are (n, n) float32 or float64; -inf forbids a pair. The cost of a pair is its negative weight. A pair's value
in a row is cost - price of the column, and in a column cost - dual of the row.
"""

from typing import Any

import numpy as np

from curation.dedup.kernels import kernel
from curation.matching.kernels import FREE, Matching

NONE = -1


@kernel()
def keep_least(keys: Any, items: Any, key: float, item: Any) -> None:
    """Insert an item into the (k,) least keys, ascending; an equal key that came earlier stays before it."""
    index = len(keys) - 1
    while index > 0 and keys[index - 1] > key:
        keys[index], items[index] = keys[index - 1], items[index - 1]
        index -= 1
    keys[index], items[index] = key, item


@kernel()
def select_pairs(weights: Any, prices: Any, k: int, is_core: bool) -> Any:
    """Return the k best columns of each row (n, k) and the k best rows of each column (n, k); NONE where too few.

    prices: (n,). With is_core, rows begin their scan one column after the diagonal, so that rows with equal values
    choose different columns, and columns compare cost - dual, the least cost - price of a row. Without it, columns
    compare costs, and the lower index wins a tie.
    """
    n = len(weights)
    best_columns, best_rows = np.full((n, k), NONE), np.full((n, k), NONE)
    column_keys, column_bounds = np.full((n, k), np.inf), np.full(n, np.inf)
    keys, costs, values = np.empty(k), np.empty(n), np.empty(n)
    for row in range(n):
        for column in range(n):
            costs[column] = -np.float64(weights[row, column])
            values[column] = costs[column] - prices[column]
        keys[:] = np.inf
        bound = np.inf
        begin = (row + 1) % n if is_core else 0
        for start, stop in ((begin, n), (0, begin)):
            for column in range(start, stop):
                if values[column] < bound:
                    keep_least(keys, best_columns[row], values[column], column)
                    bound = keys[k - 1]
        dual = keys[0] if is_core and keys[0] < np.inf else 0.0
        for column in range(n):
            if costs[column] - dual < column_bounds[column]:
                keep_least(column_keys[column], best_rows[column], costs[column] - dual, row)
                column_bounds[column] = column_keys[column, k - 1]
    return best_columns, best_rows


@kernel()
def _append(rows: Any, columns: Any, count: int, row: int, items: Any) -> Any:
    """Add the pairs of a row up to the first NONE; the arrays grow by half when they are full."""
    if count + len(items) > len(rows):
        spare = np.empty(len(rows) // 2 + len(items), np.int64)
        rows, columns = np.concatenate((rows, spare)), np.concatenate((columns, spare))
    for column in items:
        if column == NONE:
            break
        rows[count], columns[count] = row, column
        count += 1
    return rows, columns, count


@kernel()
def price_rows(weights: Any, prices: Any, duals: Any, tolerance: float, limit: int) -> Any:
    """Return rows (m,) and columns (m,) of pairs below their row's dual by more than tolerance, at most limit a row.

    prices, duals: (n,) v of the columns and u of the rows. The pairs furthest below come first.
    """
    n = len(weights)
    rows, columns, count = np.empty(n, np.int64), np.empty(n, np.int64), 0
    keys, items = np.empty(limit), np.empty(limit, np.int64)
    for row in range(n):
        bound = duals[row] - tolerance
        below = np.int64(0)  # counted first, without a branch: most rows have none
        for column in range(n):
            below = below + np.int64(-np.float64(weights[row, column]) - prices[column] < bound)
        if below == 0:
            continue
        keys[:] = np.inf
        items[:] = NONE
        for column in range(n):
            value = -np.float64(weights[row, column]) - prices[column]
            if value < bound and value < keys[limit - 1]:
                keep_least(keys, items, value, column)
        rows, columns, count = _append(rows, columns, count, row, items)
    return rows[:count].copy(), columns[:count].copy()


@kernel()
def widen_rows(weights: Any, prices: Any, reached_rows: Any, reached_columns: Any, limit: int) -> Any:
    """Return rows (m,) and columns (m,) of the best pairs that lead from reached rows to other columns.

    reached_rows, reached_columns: (n,) booleans. At most limit pairs a row.
    """
    n = len(weights)
    rows, columns, count = np.empty(n, np.int64), np.empty(n, np.int64), 0
    keys, items = np.empty(limit), np.empty(limit, np.int64)
    for row in range(n):
        if not reached_rows[row]:
            continue
        keys[:] = np.inf
        items[:] = NONE
        for offset in range(n):
            column = (row + 1 + offset) % n
            if reached_columns[column]:
                continue
            value = -np.float64(weights[row, column]) - prices[column]
            if value < keys[limit - 1]:
                keep_least(keys, items, value, column)
        rows, columns, count = _append(rows, columns, count, row, items)
    return rows[:count].copy(), columns[:count].copy()


@kernel()
def augment_dense(weights: Any, matching: Matching, free: Any) -> Any:
    """Match each free row along a shortest augmenting path of the whole matrix. Returns how many rows are stuck.

    free: (f,) rows without a column. On every allowed pair of another row, cost - u - v is at least 0.
    """
    n = len(weights)
    distances, parents = np.empty(n), np.empty(n, np.int64)
    columns = np.empty(n, np.int64)  # the open ones, then the settled ones
    stuck = 0
    for start in free:
        distances[:] = np.inf
        for column in range(n):
            columns[column] = column
        end, open_count = _find_dense_path(weights, matching, start, distances, parents, columns)
        if end == FREE:
            stuck += 1
            continue
        for column in columns[open_count:]:
            matching.prices[column] += distances[column] - distances[end]
        column = end
        while column != FREE:
            row = parents[column]
            following = matching.columns[row]
            matching.columns[row], matching.rows[column] = column, row
            matching.costs[row] = -np.float64(weights[row, column])
            column = FREE if row == start else following
    return stuck


@kernel()
def _find_dense_path(
    weights: Any, matching: Matching, start: Any, distances: Any, parents: Any, columns: Any
) -> Any:
    """Return the nearest free column, or FREE, and how many of the columns (n,), moved to the front, are open."""
    open_count = len(weights)
    row, length, offset = start, 0.0, np.inf
    for column in range(open_count):
        offset = min(offset, -np.float64(weights[start, column]) - matching.prices[column])
    while offset < np.inf:
        nearest, index = _relax_dense_row(
            weights[row], matching, row, offset, length, distances, parents, columns[:open_count]
        )
        if index == FREE:
            break
        column, length = columns[index], nearest
        if matching.rows[column] == FREE:
            return column, open_count
        open_count -= 1
        columns[index], columns[open_count] = columns[open_count], column
        row = matching.rows[column]
        offset = matching.costs[row] - matching.prices[column] - length
    return FREE, open_count


@kernel()
def _relax_dense_row(  # noqa: PLR0917 - a structure would be made for every row
    weights: Any,
    matching: Matching,
    row: Any,
    offset: float,
    length: float,
    distances: Any,
    parents: Any,
    columns: Any,
) -> Any:
    """Shorten the distances of open columns from a row; return the least one and its index, a free column first."""
    nearest, found = np.inf, FREE
    for index in range(len(columns)):
        column = columns[index]
        distance = max(-np.float64(weights[column]) - matching.prices[column] - offset, length)
        if distance < distances[column]:
            distances[column], parents[column] = distance, row
        if distances[column] < nearest or (
            distances[column] == nearest < np.inf and matching.rows[column] == FREE
        ):
            nearest, found = distances[column], index
    return nearest, found


@kernel()
def least_reduced_cost(weights: Any, u: Any, v: Any) -> Any:
    """Return the least u[i] + v[j] - weights[i, j] over all allowed pairs."""
    least = np.inf
    for row in range(len(weights)):
        for column in range(len(weights)):
            value = u[row] + v[column] - weights[row, column]
            least = min(value, least)
    return least
