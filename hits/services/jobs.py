"""Long work: queue it, claim it, keep the claim alive, finish it. A broker message is only a wake-up."""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any

from celery import current_app
from django.contrib.auth.models import AbstractBaseUser
from django.db import Error as DatabaseFault
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from hits.domain.states import OPEN_JOB_STATES, STOPPED_JOB_STATES, JobState
from hits.models import Heartbeat, Job, JobLine, Project
from hits.selectors.jobs import SINCE, open_under
from hits.services import job_parts
from hits.services.errors import Conflict, Refused
from hits.services.job_parts import Split

logger = logging.getLogger(__name__)

# A job whose worker died is taken over after a lease and a round of the sweeper, well within a minute.
LEASE = timedelta(seconds=30)
HEARTBEAT_SECONDS = 7.0
FOLLOW_SECONDS = 0.5
WORKER = "worker"
LONGEST_LINE = 400
Listener = Callable[[Job, str], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Cancelled(Exception):
    """Raised inside a job when somebody asked for it to stop."""


class Progress:
    """A running job's hand on its own row. Each call renews the lease, and notices cancellation."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._since: int | None = None
        self._cursor: dict[str, Any] = dict(job.cursor)
        self._silent_until = timezone.now()

    def advance(self, done: int, total: int | None = None, **cursor: Any) -> None:
        """Say how far the work is; the cursor is where a successor goes on.

        Raises:
            Cancelled: somebody asked for the job to stop, or another worker took it over.
        """
        changes: dict[str, Any] = {"done": done, "lease_until": self.lease()}
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
        self.job.done, self.job.total = done, changes.get("total", self.job.total)
        _tell(self.job, "")

    def brace(self, seconds: float) -> None:
        """Keep the job through a step that may stop all threads of this process, so that nobody takes it over.

        Should the process die in it, others wait so much longer. 0 ends it.

        Raises:
            Cancelled: another worker took the job over.
        """
        self._silent_until = timezone.now() + timedelta(seconds=seconds)
        mine = Job.objects.filter(pk=self.job.pk, lease_owner=self.job.lease_owner, state=JobState.RUNNING)
        if not mine.update(lease_until=self.lease()):
            raise Cancelled("another worker took this job over")

    def lease(self) -> datetime:
        """Until when the job is held, if it is renewed now."""
        return max(timezone.now(), self._silent_until) + LEASE

    def log(self, text: str) -> None:
        """Write a line that people read on the job's page and on the command line."""
        write_line(self.job, text)


def enqueue(
    *,
    task: str,
    title: str,
    project: Project | None = None,
    by: AbstractBaseUser | None = None,
    exclusive_key: str = "",
    resumable: bool = False,
    queue: bool = True,
    **args: Any,
) -> Job:
    """Write a job row and wake a worker once it is committed.

    Args:
        exclusive_key: at most one open job holds it.
        resumable: the task goes on where an earlier run ended, so a person may start it again.
        queue: false when this process runs it at once (``run_here``).

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
                resumable=resumable,
            )
    except IntegrityError as error:
        holder = open_under(exclusive_key).first()
        number = f" as job {holder.pk}" if holder else ""
        raise Conflict(f"{title}: is under way already{number}; wait for it or cancel it") from error
    if queue:
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
    free = Q(state=JobState.QUEUED) | job_parts.lost(now)
    taken = Job.objects.filter(free, pk=job_id).update(
        state=JobState.RUNNING,
        lease_owner=owner,
        lease_until=now + LEASE,
        started_at=now,
        error="",
        runs=F("runs") + 1,
    )
    if not taken:
        yield None
        return
    job = Job.objects.get(pk=job_id)
    if job.runs > 1:
        write_line(job, _beginning(job))
    progress = Progress(job)
    over = _keep_alive(progress)
    try:
        yield progress
    except Split as split:
        for part in job_parts.store(job, split):
            wake(part)
    except KeyboardInterrupt:
        _finish(job, JobState.CANCELLED, error="stopped at the keyboard")
        raise
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


def _keep_alive(progress: Progress) -> threading.Event:
    """Renew the lease from a thread until the returned event is set.

    One step of the work may take longer than the lease, such as a clustering; nobody else must take
    the job over meanwhile. The thread dies with the process, and then the lease runs out.
    """
    over, job = threading.Event(), progress.job

    def renew() -> None:
        mine = Job.objects.filter(pk=job.pk, lease_owner=job.lease_owner, state=JobState.RUNNING)
        while not over.wait(HEARTBEAT_SECONDS):
            try:
                mine.update(lease_until=progress.lease())
                beat()
            except DatabaseFault:  # busy or away for a moment; the lease lasts for several more attempts
                logger.warning("job %s: its lease was not renewed; trying again", job.pk, exc_info=True)
                connection.close()
        connection.close()

    threading.Thread(target=renew, name=f"lease-of-job-{job.pk}", daemon=True).start()
    return over


def set_result(*, job: Job, **result: Any) -> None:
    """Keep what the job found; shown on its page."""
    Job.objects.filter(pk=job.pk).update(result=result)


def cancel(*, job: Job) -> None:
    """Ask a job to stop. One that nobody works on stops at once: it is queued, waits, or its process died.

    Raises:
        Conflict: it is over already.
    """
    now = timezone.now()
    idle = Q(state__in=(JobState.QUEUED, JobState.WAITING)) | job_parts.lost(now)
    ended = Job.objects.filter(idle, pk=job.pk).update(state=JobState.CANCELLED, finished_at=now)
    job_parts.cancel(job.pk)
    if ended:
        write_line(job, "Cancelled")
        if job.parent_id:
            _settle(job.parent_id)
        return
    if not Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(cancel_requested=True):
        raise Conflict("the job is over already")


def resume(*, job: Job, queue: bool = True) -> Job:
    """Start a stopped or failed job again where it ended, or one whose process died; ``queue`` as for ``enqueue``.

    Raises:
        Conflict: somebody works on it, it cannot go on by itself, or another of its kind is under way.
    """
    now = timezone.now()
    over = Q(state__in=STOPPED_JOB_STATES) | job_parts.lost(now)
    try:
        with transaction.atomic():
            job_parts.give_up(job.pk, now)
            taken = Job.objects.filter(over, pk=job.pk, resumable=True, parent=None).update(
                state=JobState.QUEUED,
                cancel_requested=False,
                error="",
                finished_at=None,
                lease_owner="",  # a process that was only slow must not end it in the new one's name
            )
            if not taken:
                raise Conflict(f"{job.title}: {_why_not_resumed(job)}")
    except IntegrityError as error:
        raise Conflict(f"{job.title}: another one is under way; wait for it or cancel it") from error
    job.refresh_from_db()
    if queue:
        wake(job)
    return job


def _why_not_resumed(job: Job) -> str:
    held = Job.objects.filter(pk=job.pk, state__in=(JobState.RUNNING, JobState.WAITING), resumable=True)
    if held.filter(parent=None).exists():
        seconds = int(LEASE.total_seconds())
        return f"somebody works on it, or did until less than {seconds} seconds ago; wait and try again"
    return "it cannot be resumed; start it anew"


def run_here(*, job: Job, listener: Listener | None = None) -> Job:
    """Run a job and its parts in this process, as a worker would, and return it as it ended.

    What a worker took first is waited for. Needs no worker, and lets one help with the parts. A fault of the
    work is not raised: it fails its part and the whole, which say why.

    The listener is told of each step and each line of the log: the job, and the line or nothing.
    """
    current_app.loader.import_default_modules()  # outside of a worker nobody has registered the tasks yet
    token = _listener.set(listener)
    try:
        while job.state in OPEN_JOB_STATES:
            before = (job.state, job.runs)
            for part in job.parts.filter(state__in=OPEN_JOB_STATES).order_by("pk"):
                _run_task(part)
            _settle(job.pk)  # whoever ended the last part may have died before it said so
            _run_task(job)
            job.refresh_from_db()
            if (job.state, job.runs) == before:  # a worker has it, or its last part: follow it
                _tell(job, "")  # whoever listens may want to stop meanwhile
                time.sleep(FOLLOW_SECONDS)
    finally:
        _listener.reset(token)
    return job


def _run_task(job: Job) -> None:
    try:
        current_app.tasks[job.task](job.pk)
    except Exception:
        if Job.objects.filter(pk=job.pk, state__in=OPEN_JOB_STATES).exists():
            raise  # no end of it was written; to call it again would go on for ever
        logger.debug("job %s failed", job.pk, exc_info=True)


def write_line(job: Job, text: str) -> None:
    """Add a line to a job's log."""
    JobLine.objects.create(job_id=job.parent_id or job.pk, text=text[:LONGEST_LINE])
    _tell(job, text)


def _tell(job: Job, text: str) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(job, text)


def sweep() -> int:
    """Wake queued jobs that nobody took and running ones whose worker has gone; return how many."""
    now = timezone.now()
    beat()
    for parent in job_parts.orphaned():
        _settle(parent)
    waiting = Job.objects.filter(
        Q(state=JobState.QUEUED, created_at__lt=now - timedelta(seconds=5)) | job_parts.lost(now)
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
    mine = Job.objects.filter(pk=job.pk, lease_owner=job.lease_owner, state__in=OPEN_JOB_STATES)
    if mine.update(**changes):
        write_line(job, _ending(job, state, error))
        if job.parent_id:
            _settle(job.parent_id)


def _beginning(job: Job) -> str:
    if job.total and job.done == job.total and job.parts.exists():
        return "All parts are done"
    return f"Taken up again at {job.done} of {job.total}" if job.total else "Taken up again"


def _ending(job: Job, state: JobState, error: str) -> str:
    words = f"{job.title}: {state}" if job.parent_id else state.capitalize()
    return f"{words} ({error})" if error else words


def _settle(parent_id: int) -> None:
    parent = job_parts.settle(parent_id)
    if parent is not None:
        wake(parent)
