"""Read jobs."""

from django.db.models import QuerySet, Sum
from django.utils import timezone

from hits.domain.jobs.speed import describe_speed
from hits.domain.states import OPEN_JOB_STATES, STOPPED_JOB_STATES, JobState
from hits.models import Job

DONE_AT_START = "since"  # key of a job's cursor: what was done when its current run began
REFUSED = "refused"  # key of a job's cursor: it ended before any work, so it cannot resume


def find_open_jobs(*keys: str) -> "QuerySet[Job]":
    """Return the queued and running jobs that hold one of these exclusive keys."""
    return Job.objects.filter(exclusive_key__in=keys, state__in=OPEN_JOB_STATES)


def can_resume(job: Job) -> bool:
    """Return whether a person may resume a job.

    A job whose process died is not resumable: a worker process claims it when its lease expires.
    """
    return job.resumable and job.parent_id is None and job.state in STOPPED_JOB_STATES


def is_refused(job: Job) -> bool:
    """Return whether a job failed before any work because its request was invalid."""
    return job.state == JobState.FAILED and bool(job.cursor.get(REFUSED))


def job_done_and_total(job: Job) -> tuple[int, int]:
    """Return a job's done and total counts, including those of its subjobs."""
    if job.state != JobState.WAITING:
        return job.done, job.total
    return job.done + (job.subjobs.aggregate(done=Sum("done"))["done"] or 0), job.total


def job_speed_label(job: Job) -> str:
    """Return a running job's speed and remaining time as a label; empty if unknown."""
    if job.state not in (JobState.RUNNING, JobState.WAITING) or job.started_at is None:
        return ""
    seconds = (timezone.now() - job.started_at).total_seconds()
    done, total = job_done_and_total(job)
    since = int(job.cursor.get(DONE_AT_START, done))
    return describe_speed(done=done, done_before=since, total=total, seconds=seconds)
