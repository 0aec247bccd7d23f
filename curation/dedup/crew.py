"""Threads that share blocks, or the rows of one. Products and compiled loops release the interpreter's lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

from curation.cores import usable_cores

Item = TypeVar("Item")
Found = TypeVar("Found")
AHEAD = 2  # items a thread may be ahead: one thread's slow item keeps no other waiting
Span = tuple[int, int]


class Crew:
    """A pool of threads for as long as a ``with`` block lasts."""

    def __init__(self, pool: ThreadPoolExecutor, size: int) -> None:
        self.pool, self.size = pool, size

    def spans(self, rows: int) -> list[Span]:
        """One range of rows per thread; together they cover all rows."""
        bounds = [rows * worker // self.size for worker in range(self.size + 1)]
        return list(pairwise(bounds))

    def stream(self, work: Callable[[Item], Found], items: Iterable[Item]) -> Iterator[Found]:
        """What work(item) returns, in order, while the threads are at most a few items ahead of the caller."""
        ahead: deque[Future[Found]] = deque()
        for item in items:
            ahead.append(self.pool.submit(work, item))
            if len(ahead) > AHEAD * self.size:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()

    def each(self, work: Callable[[int], Found]) -> list[Found]:
        """Call work(thread number) on every thread; return what the calls returned, in order."""
        return list(self.pool.map(work, range(self.size)))


@contextmanager
def crew(size: int | None = None) -> Iterator[Crew]:
    """Hire one thread per processor that this process may use."""
    size = size or usable_cores()
    with ThreadPoolExecutor(size, thread_name_prefix="dedup") as pool:
        try:
            yield Crew(pool, size)
        finally:
            pool.shutdown(cancel_futures=True)
