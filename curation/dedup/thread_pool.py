"""A thread pool for blocks of rows. Matrix products and compiled loops release the interpreter's lock."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

from curation.cores import usable_cores

Item = TypeVar("Item")
Result = TypeVar("Result")
MAX_AHEAD = 2  # items per thread ahead of the caller, so that one slow item does not stall the others
Span = tuple[int, int]


class ThreadPool:
    """A pool of threads, which ``open_thread_pool`` opens for a ``with`` block."""

    def __init__(self, pool: ThreadPoolExecutor, size: int) -> None:
        self.pool, self.size = pool, size

    def row_spans(self, row_count: int) -> list[Span]:
        """Return one range of rows per thread; together they cover all rows."""
        bounds = [row_count * thread // self.size for thread in range(self.size + 1)]
        return list(pairwise(bounds))

    def map_ordered(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield work(item) in order; the threads are at most a few items ahead of the caller."""
        pending: deque[Future[Result]] = deque()
        for item in items:
            pending.append(self.pool.submit(work, item))
            if len(pending) > MAX_AHEAD * self.size:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def run_on_each(self, work: Callable[[int], Result]) -> list[Result]:
        """Call work(thread number) on every thread; return the results in order."""
        return list(self.pool.map(work, range(self.size)))


@contextmanager
def open_thread_pool(size: int | None = None) -> Iterator[ThreadPool]:
    """Open a pool of one thread per processor core that this process may use."""
    size = size or usable_cores()
    with ThreadPoolExecutor(size, thread_name_prefix="dedup") as pool:
        try:
            yield ThreadPool(pool, size)
        finally:
            pool.shutdown(cancel_futures=True)
