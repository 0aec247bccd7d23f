"""A first-in, first-out queue of the writers of one SQLite file.

SQLite lets one connection write at a time. A connection that finds another writer retries after 1, 2, 5 … 100 ms, and
any connection that retries at the right moment wins: with twenty writers some wait for seconds while others write ten
times. Here the threads of a process queue up, and only the first competes with other processes for a file lock
beside the database, on which the kernel blocks. SQLite's own lock still protects the data. This queue only orders
the writers, so nothing is lost on a file system without locks.
"""

import contextlib
import fcntl
import os
import threading
from collections import deque


class WriteQueue:
    """The queue of one process for one file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._reset()

    def _reset(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._is_taken = False
        self._file: int | None = None

    def acquire(self, seconds: float) -> bool:
        """Wait in the queue; return whether the caller may write, within ``seconds`` for threads of this process.

        The wait for another process has no timeout: it ends when that process ends its transaction or dies.
        """
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                event = None
            else:
                event = threading.Event()
                self._waiting.append(event)
        if event is not None and not event.wait(seconds):
            with self._guard:
                if not event.is_set():
                    self._waiting.remove(event)
                    return False
        with contextlib.suppress(OSError):
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.lockf(self._file, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        """Let the next writer continue; other processes first, since they wait for the file lock already."""
        with contextlib.suppress(OSError):
            if self._file is not None:
                fcntl.lockf(self._file, fcntl.LOCK_UN)
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False

    def reset_after_fork(self) -> None:
        """Reset the queue in a forked process: the lock and the waiting threads belong to its parent."""
        if self._file is not None:
            os.close(self._file)
        self._reset()


_queues: dict[str, WriteQueue] = {}
_guard = threading.Lock()


def write_queue(database: str) -> WriteQueue:
    """Return this process's queue for a database file."""
    with _guard:
        return _queues.setdefault(database, WriteQueue(f"{database}-turns"))


def _reset_queues_after_fork() -> None:
    global _guard  # noqa: PLW0603 - a thread of the parent may hold the old one
    _guard = threading.Lock()
    for queue in _queues.values():
        queue.reset_after_fork()


os.register_at_fork(after_in_child=_reset_queues_after_fork)
