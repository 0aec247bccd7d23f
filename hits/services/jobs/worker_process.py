"""The background worker that this process belongs to, if any."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """A background worker: its name, its queues, and its number of slots."""

    name: str
    queues: frozenset[str]
    slots: int


class _CurrentProcess:
    worker: WorkerProcess | None = None


def current_worker_process() -> WorkerProcess | None:
    """Return the worker of this process; none for a page, a command or a test."""
    return _CurrentProcess.worker


def set_worker_process(name: str, queues: Collection[str], slots: int) -> None:
    """Register this process, and those that it forks, as a worker's."""
    _CurrentProcess.worker = WorkerProcess(name[:31], frozenset(queues), slots)
