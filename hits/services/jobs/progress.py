"""A running job's hand on its own row, and whoever listens to what it says."""

from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from hits.domain.states import JobState
from hits.models import Job, JobLine
from hits.selectors.jobs import SINCE

# A job whose worker died is taken over after a lease and a round of the sweeper, well within a minute.
LEASE = timedelta(seconds=30)
LONGEST_LINE = 400
# In a cursor, beside what the job keeps there itself: where a turn ended, what was counted, and how much was done.
TURN, TALLY, PAST = TURN_KEYS = ("turn", "turn_tally", "turn_past")
Listener = Callable[[Job, str], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Cancelled(Exception):
    """Raised inside a job when somebody asked for it to stop."""


class Progress:
    """A running job's hand on its own row. Each call renews the lease, and notices cancellation."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.place: dict[str, Any] = dict(job.cursor.get(TURN, {}))  # where an earlier turn stopped
        self.tally: dict[str, int] = dict(
            job.cursor.get(TALLY, {})
        )  # what earlier turns counted, and this one
        self._past: int = job.cursor.get(PAST, 0)
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
        tell(self.job, "")

    def step(self, number: int, left: int) -> None:
        """Say that ``number`` are done of the ``left`` that this turn began with; what earlier turns did is added.

        Raises:
            Cancelled: as for ``advance``.
        """
        self.advance(self._past + number, self._past + left)

    def cursor_for(self, place: dict[str, Any]) -> dict[str, Any]:
        """Return the cursor with which a later turn goes on at ``place``."""
        self._cursor |= {TURN: place, TALLY: self.tally, PAST: self.job.done}
        return self._cursor | ({SINCE: self._since} if self._since is not None else {})

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


def write_line(job: Job, text: str) -> None:
    """Add a line to a job's log."""
    JobLine.objects.create(job_id=job.parent_id or job.pk, text=text[:LONGEST_LINE])
    tell(job, text)


def tell(job: Job, text: str) -> None:
    """Tell whoever listens of a step, or of a line of the log."""
    listener = _listener.get()
    if listener is not None:
        listener(job, text)


def listen(listener: Listener | None) -> Listener | None:
    """Let somebody listen to the jobs of this thread, or nobody; return who did before."""
    before = _listener.get()
    _listener.set(listener)
    return before
