"""How far long work is, on stderr: in place on a terminal, else as a line from time to time."""

import sys
import time
from typing import Any

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_UPDATES = 0.2  # of a terminal


class ProgressLines:
    """Says ``title done of total``, not more often than somebody reads it."""

    def __init__(self, title: str = "", *, stream: Any = None) -> None:
        self._title = title
        self._stream = stream or sys.stderr
        self._said = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the next progress would be said."""
        pause = SECONDS_BETWEEN_UPDATES if self._is_terminal else SECONDS_BETWEEN_LINES
        return time.monotonic() - self._said >= pause

    @property
    def _is_terminal(self) -> bool:
        return bool(sys.stderr.isatty())

    def advance(self, done: int, total: int, title: str = "", more: str = "") -> None:
        """Say how many of how many are done, if that is due; the last of them always."""
        if not self.is_due and done < total:
            return
        self._said = time.monotonic()
        line = f"{title or self._title} {done} of {total} {more}".strip()
        self._stream.write(f"\r{line}\033[K" if self._is_terminal else f"{line}\n")
