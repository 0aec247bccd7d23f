"""Progress, lease and log of a running job, and the listener to them."""

from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from hits.domain.states import JobState
from hits.models import Job, JobLine
from hits.selectors.jobs import DONE_AT_START
from hits.services.jobs.lease import LEASE

MAX_LINE_LENGTH = 400
# In a cursor, beside the job's own keys: the end of a turn, the counts, and the steps done.
RESUME_POINT_KEY, COUNTS_KEY, DONE_BEFORE_KEY = TURN_KEYS = ("turn", "turn_tally", "turn_past")
Listener = Callable[[Job, str], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Cancelled(Exception):
    """Raised inside a job after somebody cancelled it."""


class Progress:
    """Updates a running job's row. Each call renews the lease and notices a cancellation."""

    def __init__(self, job: Job) -> None:
        self.job = job
        # Where an earlier turn ended.
        self.resume_point: dict[str, Any] = dict(job.cursor.get(RESUME_POINT_KEY, {}))
        self.counts: dict[str, int] = dict(job.cursor.get(COUNTS_KEY, {}))  # of all turns
        self._done_before: int = job.cursor.get(DONE_BEFORE_KEY, 0)
        self._done_at_start: int | None = None
        self._cursor: dict[str, Any] = dict(job.cursor)
        self._held_until = timezone.now()

    def advance(self, done: int, total: int | None = None, **cursor: Any) -> None:
        """Record the progress; the cursor is where the next run resumes.

        Raises:
            Cancelled: somebody cancelled the job, or another worker claimed it.
        """
        changes: dict[str, Any] = {"done": done, "lease_until": self.lease_end()}
        if total is not None:
            changes["total"] = total
        if self._done_at_start is None:
            self._done_at_start = max(0, done - 1)  # the speed of this run excludes earlier runs
        self._cursor = cursor or self._cursor
        changes["cursor"] = self._cursor | {DONE_AT_START: self._done_at_start}
        own_job = Job.objects.filter(pk=self.job.pk, lease_owner=self.job.lease_owner, state=JobState.RUNNING)
        if not own_job.update(**changes):
            raise Cancelled("another worker took this job over")
        if own_job.filter(cancel_requested=True).exists():
            raise Cancelled("cancelled")
        self.job.done, self.job.total = done, changes.get("total", self.job.total)
        notify_listener(self.job, "")

    def advance_in_turn(self, done: int, total: int) -> None:
        """Record that ``done`` of the ``total`` steps of this turn are done; steps of earlier turns are added.

        Raises:
            Cancelled: as for ``advance``.
        """
        self.advance(self._done_before + done, self._done_before + total)

    def build_cursor(self, resume_point: dict[str, Any]) -> dict[str, Any]:
        """Return the cursor for a later turn that resumes at ``resume_point``."""
        self._cursor |= {
            RESUME_POINT_KEY: resume_point,
            COUNTS_KEY: self.counts,
            DONE_BEFORE_KEY: self.job.done,
        }
        return self._cursor | (
            {DONE_AT_START: self._done_at_start} if self._done_at_start is not None else {}
        )

    def hold_lease(self, seconds: float) -> None:
        """Keep the lease for ``seconds`` during a step that may stop all threads of this process; 0 ends it.

        If the process dies in the step, other workers wait until the longer lease ends.

        Raises:
            Cancelled: another worker claimed the job.
        """
        self._held_until = timezone.now() + timedelta(seconds=seconds)
        own_job = Job.objects.filter(pk=self.job.pk, lease_owner=self.job.lease_owner, state=JobState.RUNNING)
        if not own_job.update(lease_until=self.lease_end()):
            raise Cancelled("another worker took this job over")

    def lease_end(self) -> datetime:
        """Return the end of the lease if it is renewed now."""
        return max(timezone.now(), self._held_until) + LEASE

    def log(self, text: str) -> None:
        """Write a line for the job's page and the command line."""
        write_log_line(self.job, text)


def write_log_line(job: Job, text: str) -> None:
    """Add a line to a job's log."""
    JobLine.objects.create(job_id=job.parent_id or job.pk, text=text[:MAX_LINE_LENGTH])
    notify_listener(job, text)


def notify_listener(job: Job, text: str) -> None:
    """Pass a step (an empty text) or a log line to the listener."""
    listener = _listener.get()
    if listener is not None:
        listener(job, text)


def replace_listener(listener: Listener | None) -> Listener | None:
    """Set the listener to the jobs of this thread, or none; return the previous one."""
    previous = _listener.get()
    _listener.set(listener)
    return previous
