"""Long work: queue it, claim it, keep the claim alive, finish it. A broker message is only a wake-up."""

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from celery import current_app
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models import Heartbeat, Job, Project
from hits.selectors.jobs import SINCE
from hits.services.errors import Conflict, Refused

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=60)
HEARTBEAT_SECONDS = 15.0
WORKER = "worker"


class Cancelled(Exception):
    """Raised inside a job when somebody asked for it to stop."""


class Progress:
    """A running job's hand on its own row. Each call renews the lease, and notices cancellation."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._since: int | None = None
        self._cursor: dict[str, Any] = dict(job.cursor)

    def advance(self, done: int, total: int | None = None, **cursor: Any) -> None:
        """Say how far the work is; the cursor is where a successor goes on.

        Raises:
            Cancelled: somebody asked for the job to stop, or another worker took it over.
        """
        changes: dict[str, Any] = {"done": done, "lease_until": timezone.now() + LEASE}
        if total is not None:
            changes["total"] = total
        if self._since is None:
            self._since = max(0, done - 1)  # what an earlier run did says nothing about the speed of this one
        self._cursor = cursor or self._cursor
        changes["cursor"] = self._cursor | {SINCE: self._since}
        mine = Job.objects.filter(pk=self.job.pk, lease_owner=self.job.lease_owner, state=JobState.RUNNING)
        if not mine.update(**changes):
            raise Cancelled("another worker took this job over")
        if mine.filter(cancel_requested=True).exists():
            raise Cancelled("cancelled")


def enqueue(
    *,
    task: str,
    title: str,
    project: Project | None = None,
    by: AbstractBaseUser | None = None,
    exclusive_key: str = "",
    **args: Any,
) -> Job:
    """Write a job row and wake a worker once it is committed.

    Raises:
        Conflict: an open job holds the same ``exclusive_key``.
    """
    try:
        with transaction.atomic():
            job = Job.objects.create(
                task=task,
                title=title,
                project=project,
                created_by_id=by.pk if by else None,
                args=args,
                exclusive_key=exclusive_key,
            )
    except IntegrityError as error:
        raise Conflict(f"{title}: is under way already; wait for it or cancel it") from error
    wake(job)
    return job


def wake(job: Job) -> None:
    """Send the wake-up after the commit. A lost message does no harm: the sweeper looks again."""

    def send() -> None:
        try:
            current_app.send_task(job.task, args=[job.pk], ignore_result=True)
        except Exception:
            logger.exception("job %s: the broker cannot be reached; the sweeper will wake it", job.pk)

    transaction.on_commit(send)


@contextmanager
def claimed(job_id: int) -> Iterator[Progress | None]:
    """Run a job under a lease; yields ``None`` when somebody else has it or it is over.

    The claim is one conditional UPDATE whose row count is checked, so that two workers woken by the
    same message do the work once.
    """
    owner = uuid.uuid4().hex
    now = timezone.now()
    free = Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING, lease_until__lt=now)
    taken = Job.objects.filter(free, pk=job_id).update(
        state=JobState.RUNNING, lease_owner=owner, lease_until=now + LEASE, started_at=now, error=""
    )
    if not taken:
        yield None
        return
    job = Job.objects.get(pk=job_id)
    over = _keep_alive(job)
    try:
        yield Progress(job)
    except Cancelled as reason:
        _finish(job, JobState.CANCELLED, error=str(reason))
    except Refused as reason:
        _finish(job, JobState.FAILED, error=str(reason))
    except Exception as error:
        _finish(job, JobState.FAILED, error=f"{type(error).__name__}: {error}")
        raise
    else:
        _finish(job, JobState.DONE)
    finally:
        over.set()


def _keep_alive(job: Job) -> threading.Event:
    """Renew the lease from a thread until the returned event is set.

    One step of the work may take longer than the lease, such as a clustering; nobody else must take
    the job over meanwhile. The thread dies with the process, and then the lease runs out.
    """
    over = threading.Event()

    def renew() -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            mine = Job.objects.filter(pk=job.pk, lease_owner=job.lease_owner, state=JobState.RUNNING)
            mine.update(lease_until=timezone.now() + LEASE)
            beat()
        connection.close()

    threading.Thread(target=renew, name=f"lease-of-job-{job.pk}", daemon=True).start()
    return over


def set_result(*, job: Job, **result: Any) -> None:
    """Keep what the job found; shown on its page."""
    Job.objects.filter(pk=job.pk).update(result=result)


def cancel(*, job: Job) -> None:
    """Ask a job to stop; a queued one stops at once.

    Raises:
        Conflict: it is over already.
    """
    if Job.objects.filter(pk=job.pk, state=JobState.QUEUED).update(
        state=JobState.CANCELLED, finished_at=timezone.now()
    ):
        return
    if not Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(cancel_requested=True):
        raise Conflict("the job is over already")


def sweep() -> int:
    """Wake queued jobs that nobody took and running ones whose worker has gone; return how many."""
    now = timezone.now()
    beat()
    waiting = Job.objects.filter(
        Q(state=JobState.QUEUED, created_at__lt=now - timedelta(seconds=5))
        | Q(state=JobState.RUNNING, lease_until__lt=now)
    )
    count = 0
    for job in waiting:
        wake(job)
        count += 1
    return count


def beat() -> None:
    """Say that a worker process is alive."""
    now = timezone.now()
    if not Heartbeat.objects.filter(name=WORKER).update(at=now):
        Heartbeat.objects.get_or_create(name=WORKER, defaults={"at": now})


def _finish(job: Job, state: JobState, *, error: str = "") -> None:
    changes: dict[str, Any] = {"state": state, "finished_at": timezone.now(), "error": error[:1000]}
    if state is JobState.DONE:
        changes["done"] = F("total")
    Job.objects.filter(pk=job.pk, lease_owner=job.lease_owner, state__in=OPEN_JOB_STATES).update(**changes)
