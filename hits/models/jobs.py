"""Long pieces of work."""

from django.db import models
from django.db.models import Q

from hits.domain.jobs.queues import Queue
from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models.base import Created
from hits.models.projects import Project


class Job(Created):
    """One piece of long work. The row is the truth; a broker message only says: look at it now.

    ``task`` is the Celery task's name, ``queue`` what it waits in; ``cursor`` is where to go on after a kill;
    ``lease_until`` says until when the present worker may be believed alive (of a job that is queued again: when it
    was given back). ``woken_at`` is when the message was sent that nobody has acted on yet; a queued job is not
    taken before ``not_before``. A job that was split has ``parts``, jobs of
    their own that any worker takes. ``resumable`` says that its task goes on where an earlier run ended, so
    that a person may start a stopped or failed one again; ``runs`` counts how often it was taken.
    """

    task = models.CharField(max_length=80)
    queue = models.CharField(max_length=12, default=Queue.DEFAULT)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, related_name="jobs")
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="parts")
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
    # At most one open job per key, for instance one publisher per batch.
    exclusive_key = models.CharField(max_length=120, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["exclusive_key"],
                condition=Q(state__in=[s.value for s in OPEN_JOB_STATES]) & ~Q(exclusive_key=""),
                name="one_open_job_per_key",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[s.value for s in JobState]), name="job_state_known"
            ),
        ]
        indexes = [
            # The sweeper's query: open jobs whose lease has run out.
            models.Index(fields=["state", "lease_until"], name="job_sweep"),
            # Which jobs of a queue wait, and how many of them were woken.
            models.Index(fields=["state", "queue", "woken_at"], name="job_queue"),
        ]

    def __str__(self) -> str:
        return self.title


class JobLine(models.Model):
    """One line of a job's log: what a person who waits for it, or looks later, wants to know."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="lines")
    at = models.DateTimeField(auto_now_add=True)
    text = models.CharField(max_length=400)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.text


class Heartbeat(models.Model):
    """When a background process last said that it is alive, so that pages can tell when none is.

    Each task that the clock sends has a row too, by its name: ``at`` is when it began last, ``held_until`` is set
    while a process is at it, and ``place`` is where it goes on when its turn was over before its work was.
    """

    name = models.CharField(max_length=40, unique=True)
    at = models.DateTimeField()
    held_until = models.DateTimeField(null=True)
    place = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name
