"""The clock that sends tasks: it sends no more where nobody takes any."""

from typing import Any

from celery.beat import PersistentScheduler
from celery.result import AsyncResult

from hits.domain.jobs.queues import queue_of
from hits.services.jobs import wakeups

MOST_WAITING = 100


class Scheduler(PersistentScheduler):
    """Celery's own, with a bound: messages carry no end of their own, and a worker may be away for weeks."""

    def apply_async(
        self, entry: Any, producer: Any = None, advance: bool = True, **kwargs: Any
    ) -> AsyncResult | None:
        """Send an entry's task, unless a hundred messages wait in its queue."""
        if wakeups.depth(queue_of(entry.task)) >= MOST_WAITING:
            if advance:
                self.reserve(entry)
            return None
        return super().apply_async(entry, producer=producer, advance=advance, **kwargs)
