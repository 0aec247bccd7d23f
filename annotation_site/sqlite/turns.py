"""Writers of one SQLite file take turns, in the order in which they asked.

SQLite lets one connection write at a time. Who comes while another writes looks again after 1, 2, 5 … 100 ms, and
whoever happens to look at the right moment gets it: with twenty writers some wait for seconds while others are served
ten times. Here a process's threads stand in line, and only its first one competes with other processes, by a lock on
a file beside the database, which the kernel wakes up for. SQLite's own lock is what keeps data safe, as before; this
one is about order alone, so nothing is lost where a file system knows no locks.
"""

import contextlib
import fcntl
import os
import threading
from collections import deque


class Turns:
    """The line of one process for one file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._begin()

    def _begin(self) -> None:
        self._guard = threading.Lock()
        self._line: deque[threading.Event] = deque()
        self._taken = False
        self._file: int | None = None

    def take(self, seconds: float) -> bool:
        """Wait for one's turn; return whether it came within so many seconds.

        Waiting for another process has no end but that process's: it ends its transaction, or dies.
        """
        with self._guard:
            if not self._taken:
                self._taken = True
                mine = None
            else:
                mine = threading.Event()
                self._line.append(mine)
        if mine is not None and not mine.wait(seconds):
            with self._guard:
                if not mine.is_set():
                    self._line.remove(mine)
                    return False
        with contextlib.suppress(OSError):
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.lockf(self._file, fcntl.LOCK_EX)
        return True

    def give(self) -> None:
        """Let the next one have its turn: of other processes first, since they wait already."""
        with contextlib.suppress(OSError):
            if self._file is not None:
                fcntl.lockf(self._file, fcntl.LOCK_UN)
        with self._guard:
            if self._line:
                self._line.popleft().set()
            else:
                self._taken = False

    def forget(self) -> None:
        """Begin anew in a forked process: the lock, and whoever waits, stayed with its parent."""
        if self._file is not None:
            os.close(self._file)
        self._begin()


_turns: dict[str, Turns] = {}
_guard = threading.Lock()


def turns_of(database: str) -> Turns:
    """Return this process's line for a database file."""
    with _guard:
        return _turns.setdefault(database, Turns(f"{database}-turns"))


def _forget_all() -> None:
    global _guard  # noqa: PLW0603 - the parent's may be held by a thread that this process has not
    _guard = threading.Lock()
    for turns in _turns.values():
        turns.forget()


os.register_at_fork(after_in_child=_forget_all)
