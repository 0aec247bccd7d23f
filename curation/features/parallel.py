"""Process several batches in parallel: while one thread decodes images, another runs the model.

One thread handles a batch from file to vector, and the model computes it with that thread only. On CPUs this is
faster than all threads sharing one batch, because no thread waits between layers for one that decodes. It also makes
results independent of the number of cores: splitting a sum among threads would change its last bits.
"""

import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def map_in_threads(
    work: Callable[[Batch], Result], batches: Iterable[Batch], *, threads: int
) -> Generator[Result]:
    """Yield ``work(batch)`` of every batch, in order; at most ``threads + 1`` batches are in progress.

    An error of ``work`` is raised at its batch's turn. Close the iterator (``contextlib.closing``) when leaving
    early: that waits for the batches in progress, and no thread remains.

    Args:
        work: must be thread-safe, unless ``threads`` is 1: then the calling thread runs it.
    """
    if threads <= 1:
        yield from map(work, batches)
        return
    pending: deque[Future[Result]] = deque()
    with limit_torch_threads_if_loaded(), ThreadPoolExecutor(threads, thread_name_prefix="features") as pool:
        try:
            for batch in batches:
                pending.append(pool.submit(work, batch))
                if len(pending) > threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


@contextmanager
def limit_torch_threads_if_loaded() -> Iterator[None]:
    """Limit torch to one thread per calling thread. Does nothing if torch is not loaded."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    previous = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(previous)
