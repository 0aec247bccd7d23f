"""Read jobs."""

from django.db.models import QuerySet
from django.utils import timezone

from hits.domain.speed import speed_words
from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models import Job

SINCE = "since"  # in a job's cursor: how much was done when its present run began


def open_under(*keys: str) -> "QuerySet[Job]":
    """Return the jobs that hold one of these exclusive keys: they wait or run."""
    return Job.objects.filter(exclusive_key__in=keys, state__in=OPEN_JOB_STATES)


def speed_of(job: Job) -> str:
    """Return how fast a running job goes and how long it still takes, in words; nothing when that is unknown."""
    if job.state != JobState.RUNNING or job.started_at is None:
        return ""
    seconds = (timezone.now() - job.started_at).total_seconds()
    since = int(job.cursor.get(SINCE, job.done))
    return speed_words(done=job.done, since=since, total=job.total, seconds=seconds)
