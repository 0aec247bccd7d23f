"""Long-running jobs: queue, claim, renew the lease, finish. A broker message only wakes a worker."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import wraps
from typing import Any

from celery import current_app, shared_task
from django.contrib.auth.models import AbstractBaseUser
from django.db import Error as DatabaseFault
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from hits.domain.jobs.queues import Queue, task_queue
from hits.domain.jobs.turns import TurnOver
from hits.domain.states import OPEN_JOB_STATES, STOPPED_JOB_STATES, JobState
from hits.models import Batch, Heartbeat, Job, Project
from hits.selectors.jobs import REFUSED, find_open_jobs
from hits.services.errors import Conflict, JobCannotStart, Refused, RetryLater
from hits.services.jobs import slots, subjobs, wakeups
from hits.services.jobs.lease import LEASE, lost_job_filter
from hits.services.jobs.progress import (
    RESUME_POINT_KEY,
    TURN_KEYS,
    Cancelled,
    Listener,
    Progress,
    notify_listener,
    replace_listener,
    write_log_line,
)
from hits.services.jobs.subjobs import SplitIntoSubjobs
from hits.services.jobs.wakeups import wake_job, wake_waiting_jobs

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 7.0
CANCEL_ATTEMPTS = 5
FOLLOW_INTERVAL_SECONDS = 0.5
WORKER_HEARTBEAT = "worker"
WAITS_KEY = "waits"  # in a resume point: another process does the same


def enqueue(
    *,
    task: str,
    title: str,
    project: Project | None = None,
    by: AbstractBaseUser | None = None,
    exclusive_key: str = "",
    resumable: bool = False,
    queue: bool = True,
    target_queue: Queue | None = None,
    **args: Any,
) -> Job:
    """Write a job row and wake a worker after the commit.

    Args:
        exclusive_key: at most one open job has it.
        resumable: the task resumes where an earlier run ended, so a person may restart it.
        queue: false if this process runs it directly (``run_in_process``).
        target_queue: the queue, if it is not its task's.
        args: the job's stored arguments.

    Raises:
        Conflict: an open job has the same ``exclusive_key``.
    """
    try:
        with transaction.atomic():
            job = Job.objects.create(
                task=task,
                queue=target_queue or task_queue(task),
                title=title,
                project=project,
                created_by_id=by.pk if by else None,
                args=args,
                exclusive_key=exclusive_key,
                resumable=resumable,
            )
    except IntegrityError as error:
        holder = find_open_jobs(exclusive_key).first()
        number = f" as job {holder.pk}" if holder else ""
        raise Conflict(f"{title}: is running already{number}; wait for it or cancel it") from error
    if queue:
        wake_job(job)
    return job


def enqueue_for_batch(
    *, batch: Batch, task: str, title: str, key: str = "", by: AbstractBaseUser | None, **args: Any
) -> Job:
    """Queue a job about one batch; at most one open job of the batch has the same ``key``.

    Raises:
        Conflict: another one has it.
    """
    return enqueue(
        task=task,
        title=title[:160],
        project=batch.project,
        by=by,
        exclusive_key=key and f"{key}:{batch.pk}",
        batch=batch.pk,
        **args,
    )


@contextmanager
def leased_job(job_id: int) -> Iterator[Progress | None]:
    """Run a job under a lease; yield ``None`` if another process has it, it is over, or it has to wait.

    The claim is one conditional UPDATE whose row count is checked, so that two workers with the same message do the
    work once. In a worker process, a light job runs for one turn and goes to the back of its queue.
    """
    job = _claim_row(job_id)
    if job is None:
        yield None
        return
    if job.runs > 1 and RESUME_POINT_KEY not in job.cursor:
        write_log_line(job, _start_message(job))
    progress = Progress(job)
    stop = _start_lease_renewal(progress)
    try:
        with slots.limit_light_job_to_turn(job):
            yield progress
    except (TurnOver, RetryLater, SplitIntoSubjobs) as reason:
        _reschedule(progress, reason)
    except KeyboardInterrupt:
        _finish_job(job, JobState.CANCELLED, error="interrupted at the keyboard")
        raise
    except Cancelled as reason:
        _finish_job(job, JobState.CANCELLED, error=str(reason))
    except JobCannotStart as reason:
        Job.objects.filter(pk=job.pk).update(resumable=False, cursor={REFUSED: True})
        _finish_job(job, JobState.FAILED, error=str(reason))
    except Refused as reason:
        _finish_job(job, JobState.FAILED, error=str(reason))
    except Exception as error:
        _finish_job(job, JobState.FAILED, error=f"{type(error).__name__}: {error}")
        raise
    else:
        _finish_job(job, JobState.DONE)
    finally:
        stop.set()


def job_task(name: str) -> Callable[[Callable[[Progress], None]], Callable[[int], None]]:
    """Make a function the Celery task that does a job's work; it gets the progress of the job that it claimed."""

    def register(work: Callable[[Progress], None]) -> Callable[[int], None]:
        @wraps(work)
        def run(job_id: int) -> None:
            with leased_job(job_id) as progress:
                if progress is not None:
                    work(progress)

        return shared_task(name=name)(run)

    return register


def _claim_row(job_id: int) -> Job | None:
    """Claim a job for this process; ``None`` if it is not available."""
    if slots.decline_if_no_free_slot(job_id):
        return None
    owner = slots.new_lease_owner()
    now = timezone.now()
    claimed = Job.objects.filter(wakeups.ready_job_filter(now), pk=job_id).update(
        state=JobState.RUNNING,
        lease_owner=owner,
        lease_until=now + LEASE,
        woken_at=None,
        not_before=None,
        started_at=now,
        error="",
        runs=F("runs") + 1,
    )
    return Job.objects.get(pk=job_id) if claimed else None


def _reschedule(progress: Progress, reason: TurnOver | RetryLater | SplitIntoSubjobs) -> None:
    if isinstance(reason, TurnOver):
        _requeue(progress, reason.resume_point, wait=reason.wait_seconds)
    elif isinstance(reason, RetryLater):
        _requeue(progress, {WAITS_KEY: True}, wait=reason.seconds, reason=str(reason))
    elif subjobs.store_subjobs_and_set_waiting(progress.job, reason):
        wake_waiting_jobs(queues=[task_queue(reason.task)], new_job_grace=timedelta())


def _requeue(progress: Progress, resume_point: dict[str, Any], *, wait: float, reason: str = "") -> None:
    """Requeue a running job behind the others; it resumes at ``resume_point`` after at least ``wait`` seconds."""
    job, now = progress.job, timezone.now()
    own_job = Job.objects.filter(pk=job.pk, lease_owner=job.lease_owner, state=JobState.RUNNING)
    is_queued = own_job.update(  # its next turn notices a cancellation
        state=JobState.QUEUED,
        cursor=progress.build_cursor(resume_point),
        lease_owner="",
        lease_until=now,
        not_before=now + timedelta(seconds=wait) if wait else None,
    )
    if is_queued and reason and not progress.resume_point.get(WAITS_KEY):
        write_log_line(job, f"Waits: {reason}")


def _start_lease_renewal(progress: Progress) -> threading.Event:
    """Renew the lease from a thread until the returned event is set.

    One step, for example a clustering, may take longer than the lease, and no other process may claim the job then.
    The thread dies with the process, and the lease expires.
    """
    stop, job = threading.Event(), progress.job

    def renew() -> None:
        own_job = Job.objects.filter(pk=job.pk, lease_owner=job.lease_owner, state=JobState.RUNNING)
        while not stop.wait(HEARTBEAT_SECONDS):
            try:
                own_job.update(lease_until=progress.lease_end())
                record_heartbeat()
            except DatabaseFault:  # busy for a moment; the lease lasts for several attempts
                logger.warning("job %s: its lease was not renewed; trying again", job.pk, exc_info=True)
                connection.close()
        connection.close()

    threading.Thread(target=renew, name=f"lease-of-job-{job.pk}", daemon=True).start()
    return stop


def set_result(*, job: Job, **result: Any) -> None:
    """Store the job's result, which its page shows."""
    Job.objects.filter(pk=job.pk).update(result=result)


def cancel_job(*, job: Job) -> None:
    """Cancel a job: a queued, waiting or orphaned job immediately, a running one at its next step.

    Raises:
        Conflict: it is over already.
    """
    for _ in range(CANCEL_ATTEMPTS):  # between two queries a process may claim it, or its turn may end
        now = timezone.now()
        idle = Q(state__in=(JobState.QUEUED, JobState.WAITING)) | lost_job_filter(now)
        is_cancelled = Job.objects.filter(idle, pk=job.pk).update(state=JobState.CANCELLED, finished_at=now)
        subjobs.cancel_subjobs(job.pk)
        if is_cancelled:
            write_log_line(job, "Cancelled")
            if job.parent_id:
                _finish_or_wake_parent(job.parent_id)
            return
        if Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(cancel_requested=True):
            return
    raise Conflict("the job is over already")


def resume_job(*, job: Job, queue: bool = True) -> Job:
    """Restart a stopped, failed or orphaned job where it ended; ``queue`` as for ``enqueue``.

    Raises:
        Conflict: a process works on it, it cannot be resumed, or another job with its key is open.
    """
    now = timezone.now()
    is_resumable = Q(state__in=STOPPED_JOB_STATES) | lost_job_filter(now)
    try:
        with transaction.atomic():
            subjobs.cancel_waiting_parent_if_idle(job.pk, now)
            is_queued = Job.objects.filter(is_resumable, pk=job.pk, resumable=True, parent=None).update(
                state=JobState.QUEUED,
                cancel_requested=False,
                error="",
                finished_at=None,
                cursor={key: value for key, value in job.cursor.items() if key not in TURN_KEYS},
                not_before=None,
                lease_owner="",  # a slow old process must not end the resumed job
            )
            if not is_queued:
                raise Conflict(f"{job.title}: {_resume_refusal(job)}")
    except IntegrityError as error:
        raise Conflict(f"{job.title}: another one is running; wait for it or cancel it") from error
    job.refresh_from_db()
    if queue:
        wake_job(job)
    return job


def _resume_refusal(job: Job) -> str:
    still_held = Job.objects.filter(pk=job.pk, state__in=(JobState.RUNNING, JobState.WAITING), resumable=True)
    if still_held.filter(parent=None).exists():
        seconds = int(LEASE.total_seconds())
        return f"a process is working on it, or was less than {seconds} seconds ago; wait and try again"
    return "it cannot be resumed; start a new one"


def run_in_process(*, job: Job, listener: Listener | None = None) -> Job:
    """Run a job and its subjobs in this process, and return the ended job.

    It waits for jobs that a worker claimed first; workers may help with the subjobs. An error in the work is not
    raised: it fails the subjob and the parent, whose rows hold the message.

    ``listener`` gets the job and an empty text for each step, and the job and the line for each log line.
    """
    current_app.loader.import_default_modules()  # registers the tasks, which only workers do by themselves
    outer_listener = replace_listener(listener)
    try:
        while job.state in OPEN_JOB_STATES:
            state_before = (job.state, job.runs)
            for subjob in job.subjobs.filter(state__in=OPEN_JOB_STATES).order_by("pk"):
                _run_task(subjob)
            _finish_or_wake_parent(
                job.pk
            )  # the process of the last subjob may have died before it woke the parent
            _run_task(job)
            job.refresh_from_db()
            if (job.state, job.runs) == state_before:  # a worker has it or a subjob: follow it
                notify_listener(job, "")  # the listener may stop the wait
                time.sleep(FOLLOW_INTERVAL_SECONDS)
    finally:
        replace_listener(outer_listener)
    return job


def _run_task(job: Job) -> None:
    try:
        current_app.tasks[job.task](job.pk)
    except Exception:
        if Job.objects.filter(pk=job.pk, state__in=OPEN_JOB_STATES).exists():
            raise  # the job has no end state, and calling it again would loop for ever
        logger.debug("job %s failed", job.pk, exc_info=True)


def sweep_jobs() -> int:
    """Wake queued jobs without a worker and running ones whose worker died; return their number.

    The module ``wakeups`` limits how many messages wait.
    """
    record_heartbeat()
    for parent in subjobs.find_orphaned_parents():
        _finish_or_wake_parent(parent)
    return wake_waiting_jobs()


def record_heartbeat() -> None:
    """Record that a worker process is alive."""
    now = timezone.now()
    if not Heartbeat.objects.filter(name=WORKER_HEARTBEAT).update(at=now):
        Heartbeat.objects.get_or_create(name=WORKER_HEARTBEAT, defaults={"at": now})


def _finish_job(job: Job, state: JobState, *, error: str = "") -> None:
    changes: dict[str, Any] = {"state": state, "finished_at": timezone.now(), "error": error[:1000]}
    if state is JobState.DONE:
        changes["done"] = F("total")
    own_job = Job.objects.filter(pk=job.pk, lease_owner=job.lease_owner, state__in=OPEN_JOB_STATES)
    if own_job.update(**changes):
        write_log_line(job, _end_message(job, state, error))
        if job.parent_id:
            _finish_or_wake_parent(job.parent_id)


def _start_message(job: Job) -> str:
    if job.total and job.done == job.total and job.subjobs.exists():
        return "All sub-jobs are done"
    return f"Resumed at {job.done} of {job.total}" if job.total else "Resumed"


def _end_message(job: Job, state: JobState, error: str) -> str:
    message = f"{job.title}: {state}" if job.parent_id else state.capitalize()
    return f"{message} ({error})" if error else message


def _finish_or_wake_parent(parent_id: int) -> None:
    parent = subjobs.finish_or_requeue_parent_if_done(parent_id)
    if parent is not None:
        wake_job(parent)
