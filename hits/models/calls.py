"""The outbox: a row for each marketplace call about money, a decision or an offer, written before the call."""

from django.db import models
from django.db.models import Q

from hits.domain.states import CallState
from hits.models.base import DecidedModel, one_of_constraint, unique_idempotency_key_per_batch
from hits.models.batches import Batch, Extension, Hit
from hits.models.submissions import Assignment, Decision


class TopUp(DecidedModel):
    """A person's decision to raise underpaid work of a batch to the target; its calls are the bonuses."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="top_ups")
    target_cents_per_hour = models.PositiveIntegerField()
    cents = models.PositiveIntegerField()
    fee_cents = models.PositiveIntegerField()
    submissions = models.PositiveIntegerField()
    reason = models.CharField(max_length=400)
    # A second press of the same button has the same key and tops up nothing.
    idempotency_key = models.CharField(max_length=64, blank=True, db_column="once")

    class Meta(DecidedModel.Meta):
        ordering = ["id"]
        constraints = [
            unique_idempotency_key_per_batch("top_up_once_per_wish"),
        ]


class OutgoingCall(models.Model):
    """One marketplace call: the row is committed before the call, claimed under a lease, and updated after it.

    ``decision``, ``top_up`` or ``extension`` names its reason (one of them, none for an expiry or a message);
    ``assignment`` or ``hit`` its subject. ``args`` holds the operation's other values (see services.outbox).
    """

    class Operation(models.TextChoices):
        """The type of the call."""

        APPROVE = "approve"
        REJECT = "reject"
        BONUS = "bonus"
        EXTEND = "extend"  # more assignments for a HIT
        PROLONG = "prolong"  # a later end of its offer
        EXPIRE = "expire"  # no new work from now on
        NOTIFY = "notify"  # a message to the worker about their submission

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="calls")
    operation = models.CharField(max_length=10, choices=Operation.choices)
    decision = models.ForeignKey(Decision, on_delete=models.PROTECT, null=True, related_name="calls")
    top_up = models.ForeignKey(TopUp, on_delete=models.PROTECT, null=True, related_name="calls")
    extension = models.ForeignKey(Extension, on_delete=models.PROTECT, null=True, related_name="calls")
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, null=True, related_name="calls")
    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, null=True, related_name="calls")
    args = models.JSONField(default=dict)
    amount_cents = models.PositiveIntegerField(default=0)
    fee_cents = models.PositiveIntegerField(default=0)
    token = models.CharField(max_length=64, unique=True)
    state = models.CharField(max_length=10, default=CallState.PLANNED)
    attempt_at = models.DateTimeField(null=True)  # of the first attempt, which starts the token's life
    lease_owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=400, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["decision", "operation"], name="one_call_per_operation"),
            models.UniqueConstraint(fields=["top_up", "assignment"], name="one_top_up_per_assignment"),
            models.UniqueConstraint(fields=["extension", "hit", "operation"], name="one_call_per_extension"),
            models.UniqueConstraint(
                fields=["hit"],
                condition=Q(operation="expire", state__in=["planned", "intent"]),
                name="one_open_expiry_per_hit",
            ),
            one_of_constraint("state", CallState, name="call_state_known"),
            models.CheckConstraint(
                condition=Q(operation__in=["approve", "reject", "bonus", "notify"], assignment__isnull=False)
                | Q(operation__in=["extend", "prolong", "expire"], hit__isnull=False),
                name="call_is_about_something",
            ),
        ]
        indexes = [
            models.Index(
                fields=["batch", "id"], name="call_outstanding", condition=Q(state__in=["planned", "intent"])
            ),
        ]
