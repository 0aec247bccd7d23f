"""Compiled loops of the assignment solver: a linear assignment on a sparse graph, after Jonker and Volgenant 1987.

The graph has n rows and n columns; every row lists its columns with their costs, ascending. The steps are column
reduction, augmenting row reduction and shortest augmenting paths. A price v of a column and the cost of a row's own
column give the row's dual u = cost - v. On every edge, cost - u - v is at least 0 while the row has a column.

Sources: R. Jonker and A. Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment
problems", Computing 38 (1987), doi:10.1007/BF02278710; A. Volgenant, "Linear and semi-assignment problems: a core
oriented approach", Computers & Operations Research 23 (1996), doi:10.1016/0305-0548(96)00010-X.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.dedup.kernels import kernel

FREE = -1
MOVES_PER_ROW = (
    8  # cap on the moves of one pass of augmenting row reduction; without it, near ties go on for long
)


class Graph(NamedTuple):
    """The edges of n rows. starts: (n + 1,) int64. columns: (e,) int64, ascending in a row. costs: (e,), finite."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    costs: NDArray[np.float64]


class Matching(NamedTuple):
    """A matching that grows. columns: (n,) of the rows, rows: (n,) of the columns, both FREE where there is none.

    prices: (n,), the duals v of the columns. costs: (n,), the cost of each row's own edge.
    """

    columns: NDArray[np.int64]
    rows: NDArray[np.int64]
    prices: NDArray[np.float64]
    costs: NDArray[np.float64]


@kernel()
def reduce_columns(graph: Graph, matching: Matching) -> None:
    """Set each price to its column's least cost, and match columns with rows at that cost, from the last one."""
    starts, columns, costs = graph
    n = len(starts) - 1
    cheapest = np.full(n, FREE)
    matching.prices[:] = np.inf
    for row in range(n):
        for edge in range(starts[row], starts[row + 1]):
            if costs[edge] < matching.prices[columns[edge]]:
                matching.prices[columns[edge]] = costs[edge]
                cheapest[columns[edge]] = row
    for column in range(n - 1, -1, -1):
        row = cheapest[column]
        if row != FREE and matching.columns[row] == FREE:
            _match(matching, row, column, matching.prices[column])


@kernel()
def _match(matching: Matching, row: Any, column: Any, cost: float) -> None:
    matching.columns[row] = column
    matching.rows[column] = row
    matching.costs[row] = cost


@kernel()
def reduce_rows(graph: Graph, matching: Matching, free: Any) -> Any:
    """Give free rows their best column and lower its price; displaced rows follow. Returns the rows left free.

    A row whose second best is infinite lowers no price. free: (f,), every row with at least one edge.
    """
    waiting = free.copy()
    count = len(waiting)
    left = 0
    moves = MOVES_PER_ROW * (len(graph.starts) - 1)
    position = 0
    while position < count:
        row = waiting[position]
        position += 1
        first, second, best, runner_up = _two_best(graph, matching.prices, row)
        column = graph.columns[best]
        lowers = first < second < np.inf
        if lowers:
            matching.prices[column] -= second - first
        elif matching.rows[column] != FREE and runner_up != FREE:
            best = runner_up
            column = graph.columns[best]
        displaced = matching.rows[column]
        _match(matching, row, column, graph.costs[best])
        if displaced == FREE:
            continue
        matching.columns[displaced] = FREE
        if lowers and moves > 0:
            position -= 1
            waiting[position] = displaced
            moves -= 1
        else:
            waiting[left] = displaced
            left += 1
    return waiting[:left].copy()


@kernel()
def _two_best(graph: Graph, prices: Any, row: Any) -> Any:
    """Return a row's two least values of cost - price, infinite if missing, and their edges."""
    first, second = np.inf, np.inf
    best, runner_up = FREE, FREE
    for edge in range(graph.starts[row], graph.starts[row + 1]):
        value = graph.costs[edge] - prices[graph.columns[edge]]
        if value < first:
            first, second = value, first
            best, runner_up = edge, best
        elif value < second:
            second, runner_up = value, edge
    return first, second, best, runner_up


class Search(NamedTuple):
    """A search for shortest paths from one free row, and its heap.

    distances: (n,) of the columns, infinite if not reached. parents, edges: (n,) the row and edge that reached each.
    settled: (n,) whether the distance is final. touched, order: (n,) the columns as they were reached, and settled.
    keys, heap: the heap's distances and columns.
    """

    distances: NDArray[np.float64]
    parents: NDArray[np.int64]
    edges: NDArray[np.int64]
    settled: NDArray[np.bool_]
    touched: NDArray[np.int64]
    order: NDArray[np.int64]
    keys: NDArray[np.float64]
    heap: NDArray[np.int64]


@kernel()
def augment_paths(graph: Graph, matching: Matching, free: Any) -> Any:
    """Match each free row along a shortest augmenting path. Returns the rows that reach no free column.

    free: (f,) rows without a column. The search is Dijkstra's with a binary heap of columns.
    """
    n, size = len(graph.starts) - 1, len(graph.columns) + 1
    search = Search(
        np.full(n, np.inf),
        np.full(n, FREE),
        np.full(n, FREE),
        np.zeros(n, np.bool_),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(size),
        np.empty(size, np.int64),
    )
    stuck, stuck_count = np.empty(len(free), np.int64), 0
    for start in free:
        end, touched_count, settled_count = _find_path(graph, matching, search, start)
        if end == FREE:
            stuck[stuck_count] = start
            stuck_count += 1
        else:
            length = search.distances[end]
            for column in search.order[:settled_count]:
                matching.prices[column] += search.distances[column] - length
            _flip_path(graph, matching, search, start, end)
        for column in search.touched[:touched_count]:
            search.distances[column] = np.inf
            search.settled[column] = False
    return stuck[:stuck_count].copy()


@kernel()
def _find_path(graph: Graph, matching: Matching, search: Search, start: Any) -> Any:
    """Return the nearest free column, or FREE, and the numbers of touched and of settled columns."""
    row, length = start, 0.0
    offset = _two_best(graph, matching.prices, start)[0]
    touched_count, settled_count, size = 0, 0, 0
    while True:
        touched_count, size = _relax_row(
            graph, matching.prices, search, row, offset, length, touched_count, size
        )
        column, size = _pop_unsettled(search.keys, search.heap, size, search.settled)
        if column == FREE or matching.rows[column] == FREE:
            return column, touched_count, settled_count
        length = search.distances[column]
        search.settled[column] = True
        search.order[settled_count] = column
        settled_count += 1
        row = matching.rows[column]
        offset = matching.costs[row] - matching.prices[column] - length


@kernel()
def _relax_row(  # noqa: PLR0917 - one more structure would be made for every row
    graph: Graph,
    prices: Any,
    search: Search,
    row: Any,
    offset: float,
    length: float,
    touched_count: Any,
    size: Any,
) -> Any:
    """Shorten the distances of a row's columns; return the number of touched columns and the heap's size.

    offset: the row's dual minus the length of the path to it.
    """
    for edge in range(graph.starts[row], graph.starts[row + 1]):
        column = graph.columns[edge]
        if search.settled[column]:
            continue
        # Rounding may make a reduced cost negative by a last digit; a path never gets shorter.
        distance = max(graph.costs[edge] - prices[column] - offset, length)
        if distance < search.distances[column]:
            if search.distances[column] == np.inf:
                search.touched[touched_count] = column
                touched_count += 1
            search.distances[column], search.parents[column], search.edges[column] = distance, row, edge
            size = _push(search.keys, search.heap, size, distance, column)
    return touched_count, size


@kernel()
def _flip_path(graph: Graph, matching: Matching, search: Search, start: Any, end: Any) -> None:
    """Match the rows of a path with the columns that lead to them in the search."""
    column = end
    while column != FREE:
        row = search.parents[column]
        following = matching.columns[row]
        _match(matching, row, column, graph.costs[search.edges[column]])
        column = FREE if row == start else following


@kernel()
def _push(keys: Any, heap: Any, size: Any, key: float, column: Any) -> Any:
    """Add a column to the heap; return its new size."""
    index = size
    while index > 0:
        parent = (index - 1) >> 1
        if keys[parent] <= key:
            break
        keys[index], heap[index] = keys[parent], heap[parent]
        index = parent
    keys[index], heap[index] = key, column
    return size + 1


@kernel()
def _pop_unsettled(keys: Any, heap: Any, size: Any, settled: Any) -> Any:
    """Remove columns up to the nearest one that is not settled; return it, or FREE, and the heap's size."""
    while size > 0:
        top = heap[0]
        size = _remove_top(keys, heap, size)
        if not settled[top]:
            return top, size
    return FREE, size


@kernel()
def _remove_top(keys: Any, heap: Any, size: Any) -> Any:
    """Remove the heap's first column; return the new size."""
    size -= 1
    key, column = keys[size], heap[size]
    index = 0
    while True:
        child = 2 * index + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[index], heap[index] = keys[child], heap[child]
        index = child
    keys[index], heap[index] = key, column
    return size


@kernel()
def release_rows(graph: Graph, matching: Matching, tolerance: float) -> Any:
    """Unmatch the rows that have an edge below their dual by more than tolerance; return all free rows."""
    n = len(graph.starts) - 1
    free, count = np.empty(n, np.int64), 0
    for row in range(n):
        column = matching.columns[row]
        if column != FREE:
            dual = matching.costs[row] - matching.prices[column]
            first, _, _, _ = _two_best(graph, matching.prices, row)
            if first >= dual - tolerance:
                continue
            matching.rows[column] = FREE
            matching.columns[row] = FREE
        free[count] = row
        count += 1
    return free[:count].copy()


@kernel()
def reach(starts: Any, columns: Any, rows_of: Any, sources: Any) -> Any:
    """Return which rows (n,) and columns (n,) alternating paths from the rows in ``sources`` reach.

    starts, columns: the edges of each row. rows_of: (n,) the row of each column, or FREE.
    """
    n = len(starts) - 1
    rows, reached = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    queue, head, tail = np.empty(n, np.int64), 0, 0
    for row in sources:
        rows[row] = True
        queue[tail] = row
        tail += 1
    while head < tail:
        row = queue[head]
        head += 1
        for edge in range(starts[row], starts[row + 1]):
            column = columns[edge]
            if reached[column]:
                continue
            reached[column] = True
            following = rows_of[column]
            if following != FREE and not rows[following]:
                rows[following] = True
                queue[tail] = following
                tail += 1
    return rows, reached
