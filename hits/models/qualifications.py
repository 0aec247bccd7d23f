"""The project's qualifications, decisions about workers, and the calls that execute them."""

from django.db import models
from django.db.models import Q

from hits.domain.states import CallState, WorkerAction
from hits.domain.workers.requirements import Comparator, GuardedActions
from hits.models.base import DecidedModel, one_of_constraint
from hits.models.batches import Batch
from hits.models.people import Worker
from hits.models.projects import Project


class Qualification(models.Model):
    """A qualification type of the project on one marketplace. ``type_id`` is empty until it exists there."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="qualifications")
    environment = models.CharField(max_length=40)
    slug = models.SlugField(max_length=40)
    name = models.CharField(max_length=120)
    description = models.CharField(max_length=500)
    type_id = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "environment", "slug"], name="qualification_once_per_project"
            ),
            models.UniqueConstraint(fields=["environment", "name"], name="qualification_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class BatchRequirement(models.Model):
    """One requirement for the tasks of a batch: a qualification of ours, or else the declared country."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="requirements")
    qualification = models.ForeignKey(Qualification, on_delete=models.PROTECT, null=True, related_name="+")
    comparator = models.CharField(max_length=24, choices=[(c.value, c.value) for c in Comparator])
    values = models.JSONField(default=list)  # integers, or country codes where there is no qualification
    guards = models.CharField(
        max_length=24, choices=[(g.value, g.value) for g in GuardedActions], default=GuardedActions.PREVIEW
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            one_of_constraint("comparator", Comparator, name="requirement_comparator_known"),
            one_of_constraint("guards", GuardedActions, name="requirement_guards_known"),
        ]


class WorkerDecision(DecidedModel):
    """A decision of a person or a rule about a worker: grant, revoke, block or unblock, with its reason."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="worker_decisions")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="decisions")
    action = models.CharField(max_length=10)
    qualification = models.ForeignKey(
        Qualification, on_delete=models.PROTECT, null=True, related_name="decisions"
    )
    value = models.IntegerField(default=1)
    reason = models.CharField(max_length=1000)

    class Meta(DecidedModel.Meta):
        ordering = ["id"]
        constraints = [
            one_of_constraint("action", WorkerAction, name="worker_action_known"),
            models.CheckConstraint(
                condition=Q(action__in=[WorkerAction.GRANT, WorkerAction.REVOKE], qualification__isnull=False)
                | Q(action__in=[WorkerAction.BLOCK, WorkerAction.UNBLOCK], qualification__isnull=True),
                name="grant_names_its_qualification",
            ),
        ]
        indexes = [models.Index(fields=["worker", "qualification", "-id"], name="holding_of_worker")]


class WorkerCall(models.Model):
    """The marketplace call of one decision about a worker; the row is written before the call."""

    decision = models.OneToOneField(WorkerDecision, on_delete=models.PROTECT, related_name="call")
    state = models.CharField(max_length=10, default=CallState.PLANNED)
    attempt_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=400, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [one_of_constraint("state", CallState, name="worker_call_state_known")]
        indexes = [models.Index(fields=["state"], name="worker_call_outstanding")]
