"""Progress of long work on stderr: updated in place on a terminal, else as lines at intervals."""

import sys
import time
from typing import Any

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_UPDATES = 0.2  # on a terminal


class ProgressLines:
    """Writes ``title done of total`` at most once per interval."""

    def __init__(self, title: str = "", *, stream: Any = None) -> None:
        self._title = title
        self._stream = stream or sys.stderr
        self._last_written = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the next update would be written."""
        pause = SECONDS_BETWEEN_UPDATES if self._is_terminal else SECONDS_BETWEEN_LINES
        return time.monotonic() - self._last_written >= pause

    @property
    def _is_terminal(self) -> bool:
        return bool(sys.stderr.isatty())

    def advance(self, done: int, total: int, title: str = "", detail: str = "") -> None:
        """Write the progress if it is due or complete."""
        if not self.is_due and done < total:
            return
        self._last_written = time.monotonic()
        line = f"{title or self._title} {done} of {total} {detail}".strip()
        self._stream.write(f"\r{line}\033[K" if self._is_terminal else f"{line}\n")
