"""The rate limit of a series of calls: a token bucket that slows down when the marketplace throttles."""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.conf import settings

from hits.domain.jobs import turns
from hits.mturk.port import Environment, Failure, MarketplaceError

BURST = 5
AMAZON_PER_SECOND = 3.0  # common among requesters; a hundred calls without a pause are throttled
MIN_PER_SECOND = 0.2
INITIAL_PER_SECOND = 2.0  # calls per second after the first throttling of an unlimited marketplace
MAX_THROTTLED_SECONDS = 600.0
_SPEED_UP_FACTOR = 1.05
PER_SECOND, THROTTLED = "per_second", "throttled_since"  # keys of a resume point
Reply = TypeVar("Reply")


def build_rate_limiter(environment: Environment) -> "RateLimiter":
    """Return the rate limiter of one publisher: ``PUBLISH_PER_SECOND``, or the marketplace's default."""
    if settings.PUBLISH_PER_SECOND:
        return RateLimiter(float(settings.PUBLISH_PER_SECOND))
    throttles = environment.is_live or environment.name.startswith("aws-")
    return RateLimiter(AMAZON_PER_SECOND if throttles else None)


class RateLimiter:
    """A token bucket of ``per_second`` calls with a small burst; none means no limit.

    Throttling halves the rate, and success raises it up to the limit. ``clock`` and ``sleep`` are in seconds.
    """

    def __init__(
        self,
        per_second: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.limit = per_second
        self.per_second = per_second
        self._clock, self._sleep = clock, sleep
        self._tokens, self._at = float(BURST), clock()
        self._throttled_since: float | None = None  # wall clock, which later turns share

    def resume(self, resume_point: Mapping[str, Any]) -> None:
        """Continue at an earlier turn's rate, without a new burst."""
        self._tokens = 0.0
        self._throttled_since = resume_point.get(THROTTLED)
        if PER_SECOND in resume_point:
            self.per_second = resume_point[PER_SECOND]

    def call(self, call: Callable[[], Reply]) -> Reply:
        """Make one call when the bucket has a token; repeat a throttled call at a lower rate.

        Only for repeatable calls, such as one with a request token.

        Raises:
            MarketplaceError: it failed otherwise, or was throttled for ten minutes.
            TurnOver: it was throttled and the turn's time is over.
        """
        until = self._clock() + MAX_THROTTLED_SECONDS
        if self._throttled_since is not None:
            until += self._throttled_since - time.time()
        while True:
            self._wait()
            try:
                reply = call()
            except MarketplaceError as error:
                if error.failure is not Failure.THROTTLED or self._clock() >= until:
                    raise
                self._slow_down()
                turns.end_turn_if_over(**self.resume_point())
            else:
                self._speed_up()
                return reply

    def resume_point(self) -> dict[str, float]:
        """Return the state for a later turn at this rate."""
        state = {PER_SECOND: self.per_second, THROTTLED: self._throttled_since}
        return {name: value for name, value in state.items() if value is not None}

    def pause(self, seconds: float) -> None:
        """Wait before the next lookup."""
        self._sleep(seconds)

    def _wait(self) -> None:
        if self.per_second is None:
            return
        now = self._clock()
        self._tokens = min(float(BURST), self._tokens + (now - self._at) * self.per_second)
        self._at = now
        if self._tokens < 1:
            missing = (1 - self._tokens) / self.per_second
            self._sleep(missing)
            self._tokens, self._at = 1.0, self._at + missing
        self._tokens -= 1

    def _slow_down(self) -> None:
        self._throttled_since = self._throttled_since or time.time()
        self.per_second = max(MIN_PER_SECOND, (self.per_second or 2 * INITIAL_PER_SECOND) / 2)
        self._tokens, self._at = 0.0, self._clock()

    def _speed_up(self) -> None:
        self._throttled_since = None
        if self.per_second is not None and self.per_second != self.limit:
            faster = self.per_second * _SPEED_UP_FACTOR
            self.per_second = faster if self.limit is None else min(self.limit, faster)
