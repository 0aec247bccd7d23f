"""Runs of image generators and chat models, and the calls that they pay for.

Money of APIs is integer micro-dollars; it never touches the ledgers of workers.
"""

from enum import StrEnum

from django.db import models
from django.db.models import Q

from hits.models import Job, Project
from hits.models.base import CreatedByModel, one_of_constraint


class RunPurpose(StrEnum):
    """What a run calls its model for."""

    PROMPTS = "prompts"
    IMAGES = "images"
    EVALUATION = "evaluation"
    JUDGE = "judge"


class CallState(StrEnum):
    """Life cycle of a call: its price is reserved before it is sent, and the reply settles it.

    A call that was in flight when its process died is ``lost``: it counts at its full price, since it may have been
    paid, and the next try is another row.
    """

    SENT = "sent"
    SETTLED = "settled"
    REFUSED = "refused"  # by the provider's content rules
    FAILED = "failed"  # an error that no repetition mends
    LOST = "lost"


class ModelRun(CreatedByModel):
    """A run of one generator or chat model, with its caps.

    ``generator`` is the name as given, such as ``openai:gpt-image-1``; ``model`` and ``revision`` are what it
    resolved to. ``committed_micro`` are the micro-dollars that are reserved or spent. A price is reserved only if it
    fits under ``cap_micro``. A provider that states more than a call's bound can still lift the sum over the cap.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="model_runs")
    purpose = models.CharField(max_length=10)
    generator = models.CharField(max_length=200)
    model = models.CharField(max_length=200, blank=True)
    revision = models.CharField(max_length=120, blank=True)
    licence = models.CharField(max_length=120, blank=True)
    parameters = models.JSONField(default=dict)
    cap_micro = models.PositiveBigIntegerField()
    cap_calls = models.PositiveIntegerField(null=True)
    committed_micro = models.PositiveBigIntegerField(default=0)
    calls_made = models.PositiveIntegerField(default=0)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="model_run")

    class Meta:
        ordering = ["-id"]
        constraints = [
            one_of_constraint("purpose", RunPurpose, name="model_run_purpose_known"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} by {self.generator}"


class ModelCall(models.Model):
    """One call, stored before it is sent.

    ``key`` is the hash of everything that the reply depends on; a project never sends a settled call again.
    ``subject`` names what it is for, such as a scene's role and candidate. ``request`` has the hashes of images, not
    their bytes; ``reply`` is raw, as received, without keys, in a form that every database stores.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="model_calls")
    run = models.ForeignKey(ModelRun, on_delete=models.PROTECT, related_name="calls")
    key = models.CharField(max_length=64)
    subject = models.CharField(max_length=120)
    state = models.CharField(max_length=8, default=CallState.SENT)
    reserved_micro = models.PositiveBigIntegerField()
    cost_micro = models.PositiveBigIntegerField(null=True)
    request = models.JSONField(default=dict)
    reply = models.JSONField(null=True)
    text = models.TextField(blank=True)
    finish = models.CharField(max_length=40, blank=True)
    model = models.CharField(max_length=200, blank=True)
    usage = models.JSONField(default=dict)
    tries = models.PositiveSmallIntegerField(default=1)
    seconds = models.FloatField(null=True)
    error = models.CharField(max_length=1000, blank=True)
    sent_at = models.DateTimeField(auto_now_add=True)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            one_of_constraint("state", CallState, name="model_call_state_known"),
            models.UniqueConstraint(
                fields=["project", "key"],
                condition=Q(state__in=[CallState.SENT.value, CallState.SETTLED.value]),
                name="model_call_sent_once",
            ),
        ]
        indexes = [models.Index(fields=["run", "state"], name="model_call_run_state")]

    def __str__(self) -> str:
        return f"{self.subject}: {self.state}"
