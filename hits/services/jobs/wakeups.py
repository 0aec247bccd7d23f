"""Send wake-ups: messages that say “look at this job now”. The rows are the truth, so few messages do for many jobs.

At most twice as many as there are slots wait in a queue, and a job has one that nobody acted on in a minute. What
ends sends for the next in line, an idle worker looks at the rows by itself, and the sweep looks after all queues.
"""

import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from kombu.exceptions import ChannelError, OperationalError

from hits.domain.jobs.queues import Queue
from hits.domain.states import JobState
from hits.models import Job
from hits.services.jobs import subjobs
from hits.services.jobs.database_clock import database_now

logger = logging.getLogger(__name__)

WOKEN_FOR = timedelta(seconds=60)
IDLE_LOOK = timedelta(seconds=10)
SETTLING = timedelta(seconds=5)  # so long a new job's own message is given


def wake(job: Job) -> None:
    """Send one job's wake-up after the commit. A lost message does no harm: the sweeper looks again."""
    Job.objects.filter(pk=job.pk).update(woken_at=database_now())
    transaction.on_commit(lambda: send_message(job))


def wake_waiting(
    *,
    queues: Collection[str] | None = None,
    again_after: timedelta = WOKEN_FOR,
    settling: timedelta = SETTLING,
) -> int:
    """Wake jobs that wait and such whose worker has died, longest waiting first; return how many.

    Args:
        queues: which to look at; all without.
        again_after: when a message that nobody acted on counts as lost.
        settling: jobs younger than this are left to the message that they were made with.
    """
    now = database_now()
    return sum(
        _wake_some(queue, now, again_after, settling)
        for queue in (queues or [queue.value for queue in Queue])
    )


def wake_next(queue: str) -> int:
    """Wake the one job that waits longest in a queue, after a slot has become free; return how many."""
    now = database_now()
    return _send_all(_in_line(queue, now, now - WOKEN_FOR)[:1], now)


def ready(now: datetime) -> Q:
    """Match the jobs that may be taken: they wait and their time has come, or whoever had them has died."""
    return Q(state=JobState.QUEUED) & (Q(not_before=None) | Q(not_before__lte=now)) | subjobs.lost(now)


def depth(queue: str) -> int:
    """Return how many messages wait in a queue; 0 when it was never made.

    Raises:
        OperationalError: the broker cannot be reached.
    """
    pool: Any = current_app.pool  # kombu's own types leave out what is asked here
    with pool.acquire(block=True) as broker:
        try:
            with broker.channel() as channel:  # one of its own: a refusal closes it
                return int(channel.queue_declare(queue=queue, passive=True).message_count)
        except (ChannelError, *broker.channel_errors):
            return 0


def send_message(job: Job) -> None:
    """Send one message; a broker that is away only means that the rows are looked at later."""
    try:
        current_app.send_task(job.task, args=[job.pk], queue=job.queue, ignore_result=True)
    except Exception:
        logger.exception("job %s: the broker cannot be reached; the sweeper will wake it", job.pk)


def _wake_some(queue: str, now: datetime, again_after: timedelta, settling: timedelta) -> int:
    if not Job.objects.filter(ready(now), queue=queue).exists():
        return 0
    opened = Job.objects.filter(queue=queue)
    running = opened.filter(state=JobState.RUNNING, lease_until__gte=now).count()
    woken = opened.filter(ready(now), woken_at__gt=now - again_after).count()
    room = 2 * settings.QUEUE_SLOTS.get(queue, 1) - running - woken
    if room <= 0:
        return 0
    line = _in_line(queue, now, now - again_after)
    line = line.exclude(state=JobState.QUEUED, lease_until=None, created_at__gt=now - settling)
    jobs = list(line[:room])
    if jobs and _is_full(queue):
        return 0  # nobody acts on messages; more of them would not help
    return _send_all(jobs, now)


def _in_line(queue: str, now: datetime, woken_before: datetime) -> "QuerySet[Job]":
    """Return a queue's jobs that may be taken and have no message: who has waited longest comes first."""
    unwoken = Q(woken_at=None) | Q(woken_at__lte=woken_before)
    jobs = Job.objects.filter(ready(now) & unwoken, queue=queue)
    return jobs.order_by(Coalesce(F("lease_until"), F("created_at")), "pk")


def _is_full(queue: str) -> bool:
    try:
        return depth(queue) >= 2 * settings.QUEUE_SLOTS.get(queue, 1)
    except (OperationalError, OSError):
        logger.warning(
            "the broker cannot be reached: nothing waits for long, since workers look at the rows too"
        )
        return True


def _send_all(jobs: "Collection[Job] | QuerySet[Job]", now: datetime) -> int:
    count = 0
    for job in jobs:
        Job.objects.filter(pk=job.pk).update(woken_at=now)
        send_message(job)
        count += 1
    return count
