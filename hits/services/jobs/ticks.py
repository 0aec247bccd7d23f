"""What the clock sends: each task once an interval, however many messages piled up, and never long at a time."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from celery import current_app
from django.db.models import Q

from hits.domain.jobs.queues import EVERY_SECONDS
from hits.domain.jobs.turns import TurnOver, turn
from hits.models import Heartbeat
from hits.services.jobs.database_clock import database_now

logger = logging.getLogger(__name__)

TICK_SECONDS = 3.0
HELD_FOR = timedelta(seconds=60)  # a process that died in it keeps it so long


def run(task: str, work: Callable[[], object]) -> None:
    """Run one of the clock's tasks, unless it ran just now or runs elsewhere.

    What takes longer than its turn goes to the back of the queue and on from there. By the database's clock: a
    message says nothing of when it was sent. Where it goes on, the work finds in ``turns.place``.
    """
    place = _begun(task)
    if place is None:
        return
    left: dict[str, Any] = {}
    try:
        with turn(TICK_SECONDS, place):
            work()
    except TurnOver as over:
        left = over.place or {"again": True}
    finally:
        Heartbeat.objects.filter(name=task).update(held_until=None, place=left)
    if left:
        _send(task)


def _begun(task: str) -> dict[str, Any] | None:
    """Note that the task begins now, and return where; ``None`` when it is not due.

    One conditional UPDATE whose row count is checked: of two processes one begins.
    """
    now = database_now()
    before = Heartbeat.objects.filter(name=task).first()
    if before is None:
        long_ago = now - timedelta(days=1)
        before, _ = Heartbeat.objects.get_or_create(name=task, defaults={"at": long_ago})
    latest = now - timedelta(seconds=EVERY_SECONDS[task] / 2)
    free = Q(held_until=None) | Q(held_until__lte=now)
    # Where it goes on, the time does not matter. A row that lies ahead was written before the clock was set back.
    due = Q(at__lte=latest) | ~Q(place={}) | Q(at__gt=now + HELD_FOR)
    mine = Heartbeat.objects.filter(free & due, pk=before.pk, at=before.at)
    return before.place if mine.update(at=now, held_until=now + HELD_FOR) else None


def _send(task: str) -> None:
    try:
        current_app.send_task(task, ignore_result=True)
    except Exception:
        logger.exception("%s: the broker cannot be reached; it goes on with the clock's next message", task)
