"""Read jobs."""

from django.db.models import QuerySet, Sum
from django.utils import timezone

from hits.domain.jobs.speed import speed_words
from hits.domain.states import OPEN_JOB_STATES, STOPPED_JOB_STATES, JobState
from hits.models import Job

SINCE = "since"  # in a job's cursor: how much was done when its present run began
REFUSED = (
    "refused"  # in a job's cursor: it ended before any work was done, so there is no place to go on from
)


def open_under(*keys: str) -> "QuerySet[Job]":
    """Return the jobs that hold one of these exclusive keys: they wait or run."""
    return Job.objects.filter(exclusive_key__in=keys, state__in=OPEN_JOB_STATES)


def may_resume(job: Job) -> bool:
    """Return whether a person may start a job again where it ended.

    A job whose process died is not among them: a worker takes it up by itself once its lease has run out.
    """
    return job.resumable and job.parent_id is None and job.state in STOPPED_JOB_STATES


def is_refused(job: Job) -> bool:
    """Return whether a job failed before any work, since what it was asked for cannot be done."""
    return job.state == JobState.FAILED and bool(job.cursor.get(REFUSED))


def counts(job: Job) -> tuple[int, int]:
    """Return how much of a job is done, and of how much; what its parts have done is counted in."""
    if job.state != JobState.WAITING:
        return job.done, job.total
    return job.done + (job.parts.aggregate(done=Sum("done"))["done"] or 0), job.total


def speed_of(job: Job) -> str:
    """Return how fast a running job goes and how long it still takes, in words; nothing when that is unknown."""
    if job.state not in (JobState.RUNNING, JobState.WAITING) or job.started_at is None:
        return ""
    seconds = (timezone.now() - job.started_at).total_seconds()
    done, total = counts(job)
    since = int(job.cursor.get(SINCE, done))
    return speed_words(done=done, since=since, total=total, seconds=seconds)
