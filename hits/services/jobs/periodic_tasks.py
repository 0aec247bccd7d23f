"""Periodic tasks: each runs once per interval, for any number of messages, and in short turns."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from celery import current_app
from django.db.models import Q

from hits.domain.jobs.queues import INTERVAL_SECONDS
from hits.domain.jobs.turns import TurnOver, time_limited_turn
from hits.models import Heartbeat
from hits.services.jobs.database_clock import database_now

logger = logging.getLogger(__name__)

TURN_SECONDS = 3.0
LEASE = timedelta(seconds=60)  # after it, another process may run the task of a dead one


def run_periodic_task(task: str, work: Callable[[], object]) -> None:
    """Run a periodic task, unless it ran just now or another process runs it, by the database's clock.

    A task that needs more than its turn goes to the back of the queue and resumes at ``turns.resume_point``.
    """
    resume_point = _claim_task(task)
    if resume_point is None:
        return
    next_point: dict[str, Any] = {}
    try:
        with time_limited_turn(TURN_SECONDS, resume_point):
            work()
    except TurnOver as turn_over:
        next_point = turn_over.resume_point or {"again": True}
    finally:
        Heartbeat.objects.filter(name=task).update(held_until=None, resume_point=next_point)
    if next_point:
        _send_task(task)


def _claim_task(task: str) -> dict[str, Any] | None:
    """Claim the task and return its resume point; ``None`` if it is not due.

    One conditional UPDATE: its row count shows which of two processes got the task.
    """
    now = database_now()
    heartbeat = Heartbeat.objects.filter(name=task).first()
    if heartbeat is None:
        long_ago = now - timedelta(days=1)
        heartbeat, _ = Heartbeat.objects.get_or_create(name=task, defaults={"at": long_ago})
    due_before = now - timedelta(seconds=INTERVAL_SECONDS[task] / 2)
    free = Q(held_until=None) | Q(held_until__lte=now)
    # A task with a resume point is always due. A time in the future means that the clock was set back.
    due = Q(at__lte=due_before) | ~Q(resume_point={}) | Q(at__gt=now + LEASE)
    claimable = Heartbeat.objects.filter(free & due, pk=heartbeat.pk, at=heartbeat.at)
    return heartbeat.resume_point if claimable.update(at=now, held_until=now + LEASE) else None


def _send_task(task: str) -> None:
    try:
        current_app.send_task(task, ignore_result=True)
    except Exception:
        logger.exception("%s: the broker cannot be reached; the next periodic message continues it", task)
