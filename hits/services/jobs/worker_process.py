"""Whether this process belongs to a background worker, and to which."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Worker:
    """A background worker: its own name, the queues that it takes from, and how much it does at once."""

    name: str
    queues: frozenset[str]
    slots: int


class _Here:
    worker: Worker | None = None


def here() -> Worker | None:
    """Return the worker that this process belongs to; none on a page, a command line or in a test."""
    return _Here.worker


def become(name: str, queues: Collection[str], slots: int) -> None:
    """Say that this process, and those that it forks, belong to a worker."""
    _Here.worker = Worker(name[:31], frozenset(queues), slots)


@contextmanager
def acting_as(name: str, queues: Collection[str], slots: int) -> Iterator[None]:
    """Belong to a worker for the block, as a test does."""
    before = _Here.worker
    become(name, queues, slots)
    try:
        yield
    finally:
        _Here.worker = before
