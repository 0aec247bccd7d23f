"""A limit on the calls per minute, shared by the threads of a process."""

import threading
import time
from collections.abc import Callable

SECONDS_PER_MINUTE = 60.0


class Pace:
    """Spaces calls evenly, so that at most ``per_minute`` start in a minute.

    clock: seconds, never going back. sleep: waits for seconds.
    """

    def __init__(
        self,
        per_minute: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval = SECONDS_PER_MINUTE / per_minute if per_minute else 0.0
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = clock()

    def wait(self) -> float:
        """Wait for this call's turn, and return the seconds that it took."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next)
            self._next = start + self._interval
        seconds = start - now
        if seconds > 0:
            self._sleep(seconds)
        return seconds
