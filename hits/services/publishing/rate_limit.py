"""How fast a long row of calls may go: a token bucket that slows down when the marketplace says so."""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.conf import settings

from hits.domain.jobs import turns
from hits.mturk.port import Environment, Failure, MarketplaceError

BURST = 5
AMAZON_PER_SECOND = 3.0  # what requesters settled at; a batch of a hundred without a pause is throttled
SLOWEST = 0.2
FIRST_GUESS = 2.0  # calls a second once a marketplace without a limit of ours has throttled us
PATIENCE_SECONDS = 600.0
_FASTER = 1.05
PER_SECOND, THROTTLED = "per_second", "throttled_since"  # in a turn's place
Reply = TypeVar("Reply")


def pace_for(environment: Environment) -> "Pace":
    """Return the pace of one publisher on a marketplace: ``PUBLISH_PER_SECOND``, or what is usual there."""
    if settings.PUBLISH_PER_SECOND:
        return Pace(float(settings.PUBLISH_PER_SECOND))
    throttles = environment.is_live or environment.name.startswith("aws-")
    return Pace(AMAZON_PER_SECOND if throttles else None)


class Pace:
    """A token bucket of ``per_second`` calls with a little burst; none means as fast as answers come.

    Throttling makes it slower, success faster again up to the limit. ``clock`` and ``sleep`` are in seconds.
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
        self._throttled_since: float | None = None  # on the wall clock, which later turns share

    def go_on(self, place: Mapping[str, Any]) -> None:
        """Take up an earlier turn's pace, without a new burst."""
        self._tokens = 0.0
        self._throttled_since = place.get(THROTTLED)
        if PER_SECOND in place:
            self.per_second = place[PER_SECOND]

    def call(self, call: Callable[[], Reply]) -> Reply:
        """Make one call when there is a token for it; a throttled one is made again, slower.

        Only for calls that may be repeated, such as one with a token.

        Raises:
            MarketplaceError: it failed otherwise, or was throttled for ten minutes on end.
            TurnOver: it was throttled, and the turn's time is over.
        """
        until = self._clock() + PATIENCE_SECONDS
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
                turns.rest(**self.place())
            else:
                self._speed_up()
                return reply

    def place(self) -> dict[str, float]:
        """Return what a later turn needs to go on at this pace."""
        told = {PER_SECOND: self.per_second, THROTTLED: self._throttled_since}
        return {name: value for name, value in told.items() if value is not None}

    def pause(self, seconds: float) -> None:
        """Wait before looking again."""
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
        self.per_second = max(SLOWEST, (self.per_second or 2 * FIRST_GUESS) / 2)
        self._tokens, self._at = 0.0, self._clock()

    def _speed_up(self) -> None:
        self._throttled_since = None
        if self.per_second is not None and self.per_second != self.limit:
            faster = self.per_second * _FASTER
            self.per_second = faster if self.limit is None else min(self.limit, faster)
