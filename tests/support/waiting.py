"""Wait for a state by looking at it, never for a fixed time."""

import time
from collections.abc import Callable

STEP_SECONDS = 0.02


def wait_until(
    condition: Callable[[], object],
    seconds: float = 60.0,
    what: str = "the condition was not met in time",
    *,
    step: float = STEP_SECONDS,
) -> float:
    """Wait until the condition holds, and return how many seconds that took.

    Args:
        condition: called every ``step`` seconds; it may raise to end the wait early.
        seconds: the deadline. It only limits how long a failure takes, so make it generous.

    Raises:
        AssertionError: with ``what``, if the condition does not hold in time.
    """
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, what
        time.sleep(step)
    return time.monotonic() - started
