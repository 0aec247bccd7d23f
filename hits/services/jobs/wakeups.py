"""Send wake-ups: messages that make a worker check one job. The rows hold all state, so few messages are enough.

At most twice as many messages as slots wait in a queue, and a message without a reaction counts as lost after a
minute. The end of a job wakes the next one, an idle worker checks the rows itself, and the sweep checks all queues.
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
from hits.services.jobs.database_clock import database_now
from hits.services.jobs.lease import lost_job_filter

logger = logging.getLogger(__name__)

WAKEUP_TIMEOUT = timedelta(seconds=60)
IDLE_CHECK_INTERVAL = timedelta(seconds=10)
NEW_JOB_GRACE = timedelta(seconds=5)  # time for a new job's own message


def wake_job(job: Job) -> None:
    """Send one job's wake-up after the commit. A lost message does no harm, since the sweeper checks again."""
    Job.objects.filter(pk=job.pk).update(woken_at=database_now())
    transaction.on_commit(lambda: send_wakeup(job))


def wake_waiting_jobs(
    *,
    queues: Collection[str] | None = None,
    wakeup_timeout: timedelta = WAKEUP_TIMEOUT,
    new_job_grace: timedelta = NEW_JOB_GRACE,
) -> int:
    """Wake waiting jobs and jobs whose worker died, longest waiting first; return their number.

    Args:
        queues: the queues to check; by default all.
        wakeup_timeout: after it, a message without a reaction counts as lost.
        new_job_grace: younger jobs wait for their first message.
    """
    now = database_now()
    return sum(
        _wake_queue(queue, now, wakeup_timeout, new_job_grace)
        for queue in (queues or [queue.value for queue in Queue])
    )


def wake_next_job(queue: str) -> int:
    """Wake the longest waiting job of a queue after a slot has become free; return the number of messages."""
    now = database_now()
    return _send_wakeups(_unwoken_jobs(queue, now, now - WAKEUP_TIMEOUT)[:1], now)


def ready_job_filter(now: datetime) -> Q:
    """Match the jobs that a worker may claim: queued and due, or orphaned."""
    return Q(state=JobState.QUEUED) & (Q(not_before=None) | Q(not_before__lte=now)) | lost_job_filter(now)


def queue_depth(queue: str) -> int:
    """Return the number of waiting messages of a queue; 0 if it does not exist.

    Raises:
        OperationalError: the broker cannot be reached.
    """
    pool: Any = current_app.pool  # kombu's types omit what is used here
    with pool.acquire(block=True) as broker:
        try:
            with broker.channel() as channel:  # its own channel, since a refusal closes it
                return int(channel.queue_declare(queue=queue, passive=True).message_count)
        except (ChannelError, *broker.channel_errors):
            return 0


def send_wakeup(job: Job) -> None:
    """Send one message; without a broker, the sweep checks the rows later."""
    try:
        current_app.send_task(job.task, args=[job.pk], queue=job.queue, ignore_result=True)
    except Exception:
        logger.exception("job %s: the broker cannot be reached; the sweeper will wake it", job.pk)


def _wake_queue(queue: str, now: datetime, wakeup_timeout: timedelta, new_job_grace: timedelta) -> int:
    if not Job.objects.filter(ready_job_filter(now), queue=queue).exists():
        return 0
    opened = Job.objects.filter(queue=queue)
    running = opened.filter(state=JobState.RUNNING, lease_until__gte=now).count()
    woken = opened.filter(ready_job_filter(now), woken_at__gt=now - wakeup_timeout).count()
    room = 2 * settings.QUEUE_SLOTS.get(queue, 1) - running - woken
    if room <= 0:
        return 0
    waiting = _unwoken_jobs(queue, now, now - wakeup_timeout)
    waiting = waiting.exclude(state=JobState.QUEUED, lease_until=None, created_at__gt=now - new_job_grace)
    jobs = list(waiting[:room])
    if jobs and _is_queue_full(queue):
        return 0  # no worker reads messages, so more would not help
    return _send_wakeups(jobs, now)


def _unwoken_jobs(queue: str, now: datetime, woken_before: datetime) -> "QuerySet[Job]":
    """Return a queue's claimable jobs without a message, longest waiting first."""
    unwoken = Q(woken_at=None) | Q(woken_at__lte=woken_before)
    jobs = Job.objects.filter(ready_job_filter(now) & unwoken, queue=queue)
    return jobs.order_by(Coalesce(F("lease_until"), F("created_at")), "pk")


def _is_queue_full(queue: str) -> bool:
    try:
        return queue_depth(queue) >= 2 * settings.QUEUE_SLOTS.get(queue, 1)
    except (OperationalError, OSError):
        logger.warning(
            "the broker cannot be reached: jobs wait only shortly, since workers check the rows too"
        )
        return True


def _send_wakeups(jobs: "Collection[Job] | QuerySet[Job]", now: datetime) -> int:
    count = 0
    for job in jobs:
        Job.objects.filter(pk=job.pk).update(woken_at=now)
        send_wakeup(job)
        count += 1
    return count
