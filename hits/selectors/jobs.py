"""Read jobs."""

from django.utils import timezone

from hits.domain.speed import speed_words
from hits.domain.states import JobState
from hits.models import Job

SINCE = "since"  # in a job's cursor: how much was done when its present run began


def speed_of(job: Job) -> str:
    """Return how fast a running job goes and how long it still takes, in words; nothing when that is unknown."""
    if job.state != JobState.RUNNING or job.started_at is None:
        return ""
    seconds = (timezone.now() - job.started_at).total_seconds()
    since = int(job.cursor.get(SINCE, job.done))
    return speed_words(done=job.done, since=since, total=job.total, seconds=seconds)
