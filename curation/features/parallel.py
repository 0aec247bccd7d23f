"""Several batches at once: while one thread decodes pictures, another runs the model.

Each batch belongs to one thread from the file to the vector, and the model computes it with that thread alone. On
processors this is faster than all threads sharing one batch, because nobody waits at the barriers between two layers
for a thread that decodes. And it makes results independent of the number of cores: how a sum is split among threads
changes its last bits.
"""

import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def in_threads(
    work: Callable[[Batch], Result], batches: Iterable[Batch], *, threads: int
) -> Generator[Result]:
    """Yield ``work(batch)`` of every batch, in order; at most ``threads + 1`` batches are under way.

    An error of ``work`` is raised at its batch's turn. Close the iterator (``contextlib.closing``) when leaving
    early: that waits for the batches which are being worked on, and no thread is left.

    Args:
        work: safe to be called in several threads at once, unless ``threads`` is 1: then the caller's is used.
    """
    if threads <= 1:
        yield from map(work, batches)
        return
    waiting: deque[Future[Result]] = deque()
    with one_core_each(), ThreadPoolExecutor(threads, thread_name_prefix="features") as pool:
        try:
            for batch in batches:
                waiting.append(pool.submit(work, batch))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def one_core_each() -> Iterator[None]:
    """Let threads that start from now on compute alone. What never loaded torch needs no such thing."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
