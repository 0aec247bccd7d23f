"""Sharing of a worker process's slots: turns for light jobs, a slot for periodic tasks, subjobs in sequence."""

import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from django.utils import timezone

from hits.domain.jobs.queues import LIGHT_QUEUES, Queue
from hits.domain.jobs.turns import time_limited_turn
from hits.domain.states import JobState
from hits.models import Job
from hits.services.jobs import wakeups, worker_process

TURN_SECONDS = 10.0
SUBJOBS_SECONDS = 600.0  # time of one process for further subjobs of one parent


def new_lease_owner() -> str:
    """Return a new lease owner; in a worker process it starts with the worker's name."""
    process = worker_process.current_worker_process()
    return f"{process.name}/{uuid.uuid4().hex}" if process is not None else uuid.uuid4().hex


def decline_if_no_free_slot(job_id: int) -> bool:
    """Return whether this worker process runs all the light jobs that it may; one slot is for periodic tasks.

    The job's message is consumed then, and the end of a turn wakes the next job.
    """
    light = Job.objects.filter(pk=job_id, queue=Queue.DEFAULT)
    if _has_slot_for_light_job() or not light.exists():
        return False
    light.filter(state=JobState.QUEUED).update(woken_at=None)
    return True


def _has_slot_for_light_job() -> bool:
    process = worker_process.current_worker_process()
    if process is None or Queue.TICK not in process.queues:
        return True
    own_jobs = Job.objects.filter(
        queue=Queue.DEFAULT,
        state=JobState.RUNNING,
        lease_until__gte=timezone.now(),
        lease_owner__startswith=f"{process.name}/",
    )
    return own_jobs.count() < max(1, process.slots - 1)


def limit_light_job_to_turn(job: Job) -> AbstractContextManager[None]:
    """Limit a light job in a worker process to a turn (a time slice); heavy jobs and commands run to completion."""
    if worker_process.current_worker_process() is None or job.queue not in LIGHT_QUEUES:
        return nullcontext()
    return time_limited_turn(TURN_SECONDS)


def run_job_and_next_subjobs(run: Callable[[int], object], job_id: int) -> None:
    """Run a job's task, then further subjobs of its parent without messages, and wake the next job of the queue.

    It stops after ten minutes, or when another job of the queue waits.
    """
    end_time = time.monotonic() + SUBJOBS_SECONDS
    tried: set[int] = set()
    job: Job | None = Job.objects.filter(pk=job_id).first()
    if job is None:
        return
    try:
        while job is not None:
            tried.add(job.pk)
            run(job.pk)
            job = _next_subjob(job, tried) if time.monotonic() < end_time else None
    finally:
        queue = Job.objects.values_list("queue", flat=True).get(pk=job_id)
        # A job that was declined wakes none, or the waiting jobs would wake each other for as long as one runs.
        if queue != Queue.DEFAULT or _has_slot_for_light_job():
            wakeups.wake_next_job(queue)


def _next_subjob(subjob: Job, tried: set[int]) -> Job | None:
    if subjob.parent_id is None:
        return None
    waiting = Job.objects.filter(wakeups.ready_job_filter(timezone.now()), queue=subjob.queue)
    if waiting.exclude(parent=subjob.parent_id).exists():
        return None
    return (
        waiting.filter(parent=subjob.parent_id, task=subjob.task).exclude(pk__in=tried).order_by("pk").first()
    )
