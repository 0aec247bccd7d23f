"""The calls of a run that this process has reserved and that have not ended: one that does not fit waits for them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

from curation.models import ModelCall
from curation.services.triplets.model_calls import CapReached


class CallsInFlight:
    """Lets the threads of one run wait for room under its cap.

    A call in flight is reserved at the most that it may cost, and most calls cost far less. So a call that does not
    fit beside them waits until one of them has ended. The cap is reached if none is in flight.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._count = 0
        self._ended = 0

    @contextmanager
    def reserved(
        self, reserve: Callable[[], ModelCall], *, before_try: Callable[[], None]
    ) -> Iterator[ModelCall]:
        """Reserve a call, which is in flight until the block ends. ``before_try`` is called before each try.

        Raises:
            CapReached: it does not fit, and no other call is in flight.
        """
        call = self._reserve(reserve, before_try)
        try:
            yield call
        finally:
            self._leave(ended=1)

    def _reserve(self, reserve: Callable[[], ModelCall], before_try: Callable[[], None]) -> ModelCall:
        while True:
            before_try()
            ended_before = self._enter()
            try:
                return reserve()
            except CapReached:
                self._leave()
                if not self._wait_for_end(ended_before):
                    raise
            except BaseException:
                self._leave()
                raise

    def _enter(self) -> int:
        """Count a call before it is reserved, so that no other one fails because of it without seeing it."""
        with self._changed:
            self._count += 1
            return self._ended

    def _leave(self, *, ended: int = 0) -> None:
        with self._changed:
            self._count -= 1
            self._ended += ended
            self._changed.notify_all()

    def _wait_for_end(self, ended_before: int) -> bool:
        """Wait until a call has ended since, or none is in flight; return whether one has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended != ended_before or not self._count)
            return self._ended != ended_before
