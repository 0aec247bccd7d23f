"""Our own retries of a call: the libraries' are off, since no cap would see them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from curation.generation.errors import AskDifferently, Transient

TRIES = 4
_MAX_DIFFERENT_REQUESTS = 8  # parameters that a server may refuse one after the other
Reply = TypeVar("Reply")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and when a call is repeated.

    tries: at most, the first included. first_wait: seconds before the second try; each further wait is twice as long.
    max_wait: seconds that are waited at most, also if the server asks for more.
    """

    tries: int = TRIES
    first_wait: float = 1.0
    max_wait: float = 60.0

    def wait_after(self, failed_try: int, retry_after: float | None) -> float:
        """Return the seconds to wait after a failed try (1, 2, …): Retry-After, else twice the last wait."""
        seconds = self.first_wait * 2 ** (failed_try - 1) if retry_after is None else max(0.0, retry_after)
        return min(seconds, self.max_wait)


def call_with_retries(
    send: Callable[[int], Reply],
    *,
    policy: RetryPolicy = RetryPolicy(),
    sleep: Callable[[float], None] = time.sleep,
    before_wait: Callable[[Transient, float], None] | None = None,
) -> Reply:
    """Return the reply of the first try that succeeds.

    Args:
        send: makes one call. It gets the call's number, from 1. Each call may cost, so it reserves its own price.
        before_wait: gets each failure that is repeated, and the seconds until then. It may raise, for example if a
            job is cancelled.

    Raises:
        Transient: of the last try. Every other error of ``send`` is raised at once.
    """
    calls = tries = 0
    while True:
        calls += 1
        try:
            return send(calls)
        except AskDifferently:
            if calls - tries > _MAX_DIFFERENT_REQUESTS:
                raise
        except Transient as error:
            tries += 1
            if tries >= policy.tries:
                raise
            seconds = policy.wait_after(tries, error.retry_after)
            if before_wait is not None:
                before_wait(error, seconds)
            sleep(seconds)
