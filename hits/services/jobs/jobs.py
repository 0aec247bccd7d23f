"""Long work: queue it, claim it, keep the claim alive, finish it. A broker message is only a wake-up."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from celery import current_app
from django.contrib.auth.models import AbstractBaseUser
from django.db import Error as DatabaseFault
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from hits.domain.jobs.queues import Queue, queue_of
from hits.domain.jobs.turns import TurnOver
from hits.domain.states import OPEN_JOB_STATES, STOPPED_JOB_STATES, JobState
from hits.models import Heartbeat, Job, Project
from hits.selectors.jobs import REFUSED, open_under
from hits.services.errors import Busy, Conflict, NotStarted, Refused
from hits.services.jobs import slots, subjobs, wakeups
from hits.services.jobs.progress import (
    LEASE,
    TURN,
    TURN_KEYS,
    Cancelled,
    Listener,
    Progress,
    listen,
    tell,
    write_line,
)
from hits.services.jobs.subjobs import Split
from hits.services.jobs.wakeups import wake, wake_waiting

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 7.0
CANCEL_TRIES = 5
FOLLOW_SECONDS = 0.5
WORKER = "worker"
WAITS = "waits"  # in a turn's place: another process does the same


def enqueue(
    *,
    task: str,
    title: str,
    project: Project | None = None,
    by: AbstractBaseUser | None = None,
    exclusive_key: str = "",
    resumable: bool = False,
    queue: bool = True,
    on: Queue | None = None,
    **args: Any,
) -> Job:
    """Write a job row and wake a worker once it is committed.

    Args:
        exclusive_key: at most one open job holds it.
        resumable: the task goes on where an earlier run ended, so a person may start it again.
        queue: false when this process runs it at once (``run_here``).
        on: the queue that it waits in, where that is not its task's.

    Raises:
        Conflict: an open job holds the same ``exclusive_key``.
    """
    try:
        with transaction.atomic():
            job = Job.objects.create(
                task=task,
                queue=on or queue_of(task),
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


@contextmanager
def claimed(job_id: int) -> Iterator[Progress | None]:
    """Run a job under a lease; yields ``None`` when somebody else has it, it is over, or its turn has not come.

    The claim is one conditional UPDATE whose row count is checked, so that two workers woken by the
    same message do the work once. In a worker, light work does one turn and goes to the back of its queue.
    """
    job = _taken(job_id)
    if job is None:
        yield None
        return
    if job.runs > 1 and TURN not in job.cursor:
        write_line(job, _beginning(job))
    progress = Progress(job)
    over = _keep_alive(progress)
    try:
        with slots.turn_of(job):
            yield progress
    except (TurnOver, Busy, Split) as later:
        _go_on_later(progress, later)
    except KeyboardInterrupt:
        _finish(job, JobState.CANCELLED, error="stopped at the keyboard")
        raise
    except Cancelled as reason:
        _finish(job, JobState.CANCELLED, error=str(reason))
    except NotStarted as reason:
        Job.objects.filter(pk=job.pk).update(resumable=False, cursor={REFUSED: True})
        _finish(job, JobState.FAILED, error=str(reason))
    except Refused as reason:
        _finish(job, JobState.FAILED, error=str(reason))
    except Exception as error:
        _finish(job, JobState.FAILED, error=f"{type(error).__name__}: {error}")
        raise
    else:
        _finish(job, JobState.DONE)
    finally:
        over.set()


def _taken(job_id: int) -> Job | None:
    """Claim a job for this process; ``None`` when that cannot be."""
    owner = slots.owner()
    if slots.has_no_room(job_id, owner):
        return None
    now = timezone.now()
    taken = Job.objects.filter(wakeups.ready(now), pk=job_id).update(
        state=JobState.RUNNING,
        lease_owner=owner,
        lease_until=now + LEASE,
        woken_at=None,
        not_before=None,
        started_at=now,
        error="",
        runs=F("runs") + 1,
    )
    return Job.objects.get(pk=job_id) if taken else None


def _go_on_later(progress: Progress, why: TurnOver | Busy | Split) -> None:
    if isinstance(why, TurnOver):
        _put_back(progress, why.place, wait=why.wait)
    elif isinstance(why, Busy):
        _put_back(progress, {WAITS: True}, wait=why.seconds, why=str(why))
    elif subjobs.store(progress.job, why):
        wake_waiting(queues=[queue_of(why.task)], settling=timedelta())


def _put_back(progress: Progress, place: dict[str, Any], *, wait: float, why: str = "") -> None:
    """Queue a running job again, behind the others, to go on at ``place``; at the earliest in ``wait`` seconds."""
    job, now = progress.job, timezone.now()
    mine = Job.objects.filter(pk=job.pk, lease_owner=job.lease_owner, state=JobState.RUNNING)
    back = mine.update(  # somebody who wants it to stop is heard when its next turn begins
        state=JobState.QUEUED,
        cursor=progress.cursor_for(place),
        lease_owner="",
        lease_until=now,
        not_before=now + timedelta(seconds=wait) if wait else None,
    )
    if back and why and not progress.place.get(WAITS):
        write_line(job, f"Waits: {why}")


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
    for _ in range(CANCEL_TRIES):  # between two looks it may have been taken, or have ended its turn
        now = timezone.now()
        idle = Q(state__in=(JobState.QUEUED, JobState.WAITING)) | subjobs.lost(now)
        ended = Job.objects.filter(idle, pk=job.pk).update(state=JobState.CANCELLED, finished_at=now)
        subjobs.cancel(job.pk)
        if ended:
            write_line(job, "Cancelled")
            if job.parent_id:
                _settle(job.parent_id)
            return
        if Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(cancel_requested=True):
            return
    raise Conflict("the job is over already")


def resume(*, job: Job, queue: bool = True) -> Job:
    """Start a stopped or failed job again where it ended, or one whose process died; ``queue`` as for ``enqueue``.

    Raises:
        Conflict: somebody works on it, it cannot go on by itself, or another of its kind is under way.
    """
    now = timezone.now()
    over = Q(state__in=STOPPED_JOB_STATES) | subjobs.lost(now)
    try:
        with transaction.atomic():
            subjobs.give_up(job.pk, now)
            taken = Job.objects.filter(over, pk=job.pk, resumable=True, parent=None).update(
                state=JobState.QUEUED,
                cancel_requested=False,
                error="",
                finished_at=None,
                cursor={key: value for key, value in job.cursor.items() if key not in TURN_KEYS},
                not_before=None,
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
    before_me = listen(listener)
    try:
        while job.state in OPEN_JOB_STATES:
            before = (job.state, job.runs)
            for part in job.parts.filter(state__in=OPEN_JOB_STATES).order_by("pk"):
                _run_task(part)
            _settle(job.pk)  # whoever ended the last part may have died before it said so
            _run_task(job)
            job.refresh_from_db()
            if (job.state, job.runs) == before:  # a worker has it, or its last part: follow it
                tell(job, "")  # whoever listens may want to stop meanwhile
                time.sleep(FOLLOW_SECONDS)
    finally:
        listen(before_me)
    return job


def _run_task(job: Job) -> None:
    try:
        current_app.tasks[job.task](job.pk)
    except Exception:
        if Job.objects.filter(pk=job.pk, state__in=OPEN_JOB_STATES).exists():
            raise  # no end of it was written; to call it again would go on for ever
        logger.debug("job %s failed", job.pk, exc_info=True)


def sweep() -> int:
    """Wake queued jobs that nobody took and running ones whose worker has gone; return how many.

    Few of many at a time: see ``wakeups``.
    """
    beat()
    for parent in subjobs.orphaned():
        _settle(parent)
    return wake_waiting()


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
    parent = subjobs.settle(parent_id)
    if parent is not None:
        wake(parent)
