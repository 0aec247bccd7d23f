"""Comparisons of our rows with the marketplace, and the remedies that people choose."""

from django.db import models
from django.db.models import Q

from hits.domain.states import MismatchRemedy
from hits.models.base import AppendOnly, DecidedModel, one_of_constraint
from hits.models.batches import Batch
from hits.models.submissions import Assignment, Submission


class Reconciliation(AppendOnly):
    """One comparison of a batch's rows with the marketplace. Counts are assignments or submissions."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="reconciliations")
    hits = models.PositiveIntegerField()  # compared
    failed = models.PositiveIntegerField()  # of them, not readable
    matched = models.PositiveIntegerField()
    marketplace_only = models.PositiveIntegerField()
    ours_only = models.PositiveIntegerField()
    mismatch = models.PositiveIntegerField()
    # Cents that the batch holds and has spent, by our ledger and by the marketplace; a difference is an error.
    cents_ours = models.BigIntegerField()
    cents_marketplace = models.BigIntegerField()
    # HITs that differ: rows of {"what", "hit_id", "annotation", "hit" (our row's key or null)}.
    findings = models.JSONField(default=list)
    compared_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["-id"]


class Resolution(DecidedModel):
    """A person's remedy for one mismatch: the marketplace's assignment or our stored submission."""

    assignment = models.OneToOneField(
        Assignment, on_delete=models.PROTECT, null=True, related_name="resolution"
    )
    submission = models.OneToOneField(
        Submission, on_delete=models.PROTECT, null=True, related_name="resolution"
    )
    remedy = models.CharField(max_length=12)
    note = models.CharField(max_length=1000)
    compensation = models.ForeignKey(Batch, on_delete=models.PROTECT, null=True, related_name="compensates")

    class Meta(DecidedModel.Meta):
        ordering = ["id"]
        constraints = [
            one_of_constraint("remedy", MismatchRemedy, name="remedy_known"),
            models.CheckConstraint(
                condition=Q(assignment=None, submission__isnull=False)
                | Q(assignment__isnull=False, submission=None),
                name="resolution_is_of_one_thing",
            ),
        ]


class MarketplaceEvent(models.Model):
    """A received notification. It only triggers a check, since it may be late, repeated or missing."""

    doc_id = models.CharField(max_length=80, unique=True)
    environment = models.CharField(max_length=40)
    payload = models.JSONField()
    received_at = models.DateTimeField(auto_now_add=True)
    processed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["id"], name="event_unprocessed", condition=Q(processed_at__isnull=True))
        ]
