"""How a worker's slots are shared: turns for light work, one slot left to the clock, parts one after the other."""

import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from django.utils import timezone

from hits.domain.jobs.queues import LIGHT_QUEUES, Queue
from hits.domain.jobs.turns import turn
from hits.domain.states import JobState
from hits.models import Job
from hits.services.jobs import wakeups, worker_process

TURN_SECONDS = 10.0
PARTS_SECONDS = 600.0  # so long one process goes on with the parts of one whole


def owner() -> str:
    """Return a new name for whoever claims a job; a worker's begins with the worker's own."""
    here = worker_process.here()
    return f"{here.name}/{uuid.uuid4().hex}" if here is not None else uuid.uuid4().hex


def has_no_room(job_id: int, owner: str) -> bool:
    """Tell whether this worker has all the short jobs that it may have: a slot is always left to the clock's tasks.

    The job's message is then spent, and who ends a turn sends for the next in line.
    """
    here = worker_process.here()
    if here is None or Queue.TICK not in here.queues:
        return False
    short = Job.objects.filter(queue=Queue.DEFAULT)
    if not short.filter(pk=job_id).exists():
        return False
    mine = short.filter(
        state=JobState.RUNNING,
        lease_until__gte=timezone.now(),
        lease_owner__startswith=owner.rpartition("/")[0] + "/",
    )
    if mine.count() < max(1, here.slots - 1):
        return False
    short.filter(pk=job_id, state=JobState.QUEUED).update(woken_at=None)
    return True


def turn_of(job: Job) -> AbstractContextManager[None]:
    """Open a turn around light work in a worker; heavy work, and what a command line runs, goes on to its end."""
    if worker_process.here() is None or job.queue not in LIGHT_QUEUES:
        return nullcontext()
    return turn(TURN_SECONDS)


def run_in_worker(run: Callable[[int], object], job_id: int) -> None:
    """Run a job's task, then further parts of the same whole without a message, and send for the next in line.

    It stops after ten minutes, or as soon as another job of the queue waits.
    """
    ends = time.monotonic() + PARTS_SECONDS
    tried: set[int] = set()
    job: Job | None = Job.objects.filter(pk=job_id).first()
    if job is None:
        return
    try:
        while job is not None:
            tried.add(job.pk)
            run(job.pk)
            job = _next_part(job, tried) if time.monotonic() < ends else None
    finally:
        wakeups.wake_next(Job.objects.values_list("queue", flat=True).get(pk=job_id))


def _next_part(part: Job, tried: set[int]) -> Job | None:
    if part.parent_id is None:
        return None
    waiting = Job.objects.filter(wakeups.ready(timezone.now()), queue=part.queue)
    if waiting.exclude(parent=part.parent_id).exists():
        return None
    return waiting.filter(parent=part.parent_id, task=part.task).exclude(pk__in=tried).order_by("pk").first()
