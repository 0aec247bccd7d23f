"""Long-running jobs."""

from django.db import models
from django.db.models import Q

from hits.domain.jobs.queues import Queue
from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models.base import CreatedByModel, one_of_constraint
from hits.models.projects import Project


class Job(CreatedByModel):
    """One long-running job. The row holds its state; a broker message only makes a worker check it.

    ``task`` is the name of the Celery task. ``cursor`` is the point where the next run resumes. ``lease_until`` is
    the end of the worker's lease (of a requeued job: when it was requeued). ``woken_at`` is the time of a message
    that no worker has acted on yet. No worker claims a queued job before ``not_before``. A split job has ``subjobs``
    that any worker claims. ``resumable``: a person may restart the job after a stop or a failure, and it resumes.
    ``runs`` counts its claims.
    """

    task = models.CharField(max_length=80)
    queue = models.CharField(max_length=12, default=Queue.DEFAULT)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, related_name="jobs")
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="subjobs")
    title = models.CharField(max_length=160)
    args = models.JSONField(default=dict)
    state = models.CharField(max_length=10, default=JobState.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    cursor = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    error = models.CharField(max_length=1000, blank=True)
    cancel_requested = models.BooleanField(default=False)
    resumable = models.BooleanField(default=False)
    runs = models.PositiveIntegerField(default=0)
    lease_owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    woken_at = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    # At most one open job per key, for example one publisher per batch.
    exclusive_key = models.CharField(max_length=120, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["exclusive_key"],
                condition=Q(state__in=[s.value for s in OPEN_JOB_STATES]) & ~Q(exclusive_key=""),
                name="one_open_job_per_key",
            ),
            one_of_constraint("state", JobState, name="job_state_known"),
        ]
        indexes = [
            # The sweeper's query: open jobs with an expired lease.
            models.Index(fields=["state", "lease_until"], name="job_sweep"),
            # Waiting jobs of a queue, with and without a message.
            models.Index(fields=["state", "queue", "woken_at"], name="job_queue"),
        ]

    def __str__(self) -> str:
        return self.title


class JobLine(models.Model):
    """One line of a job's log, for its page and the command line."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="lines")
    at = models.DateTimeField(auto_now_add=True)
    text = models.CharField(max_length=400)

    class Meta:
        ordering = ["id"]


class Heartbeat(models.Model):
    """When a worker process last reported; pages warn when that is too long ago.

    Each periodic task has a row by its name too. ``at`` is the time of its last start, and ``held_until`` is set
    while a process runs it. ``resume_point`` is where the next turn resumes unfinished work.
    """

    name = models.CharField(max_length=40, unique=True)
    at = models.DateTimeField()
    held_until = models.DateTimeField(null=True)
    resume_point = models.JSONField(default=dict, db_column="place")
