"""The Celery beat scheduler, which sends nothing to a queue that no worker reads."""

from typing import Any

from celery.beat import PersistentScheduler
from celery.result import AsyncResult

from hits.domain.jobs.queues import task_queue
from hits.services.jobs import wakeups

MAX_WAITING_MESSAGES = 100


class Scheduler(PersistentScheduler):
    """Celery's scheduler with a limit per queue: messages never expire, and a worker may be down for weeks."""

    def apply_async(
        self, entry: Any, producer: Any = None, advance: bool = True, **kwargs: Any
    ) -> AsyncResult | None:
        """Send an entry's task unless ``MAX_WAITING_MESSAGES`` wait in its queue."""
        if wakeups.queue_depth(task_queue(entry.task)) >= MAX_WAITING_MESSAGES:
            if advance:
                self.reserve(entry)
            return None
        return super().apply_async(entry, producer=producer, advance=advance, **kwargs)
