"""Audits: several readers label a sample of pairs with a codebook."""

from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from curation.models.pairs import Pair
from hits.models import Project
from hits.models.base import AppendOnly, CreatedByModel


class AuditState(StrEnum):
    """State of an audit: a closed one accepts no more labels."""

    OPEN = "open"
    CLOSED = "closed"


class Audit(CreatedByModel):
    """An audit of a sample of pairs. Readers do not see each other's labels before a pair is complete.

    ``codebook`` is a copy from the audit's creation. ``sample`` states how the pairs were chosen: at random with a
    seed, or by the highest scores of an analysis in each split. ``readers`` is the number of readers per pair.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="audits")
    name = models.CharField(max_length=120)
    codebook = models.JSONField()
    sample = models.JSONField()
    readers = models.PositiveSmallIntegerField(default=2)
    state = models.CharField(max_length=8, default=AuditState.OPEN)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="audit_name_once_per_project"),
            models.CheckConstraint(
                condition=Q(state__in=[s.value for s in AuditState]), name="audit_state_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AuditItem(models.Model):
    """One pair to be labelled, at a position of the reading order. ``score`` is the score that selected it."""

    audit = models.ForeignKey(Audit, on_delete=models.CASCADE, related_name="items")
    observation = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="audit_items")
    position = models.PositiveIntegerField(db_column="place")
    split = models.CharField(max_length=12, blank=True)
    score = models.FloatField(null=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["audit", "observation"], name="audit_item_once"),
            models.UniqueConstraint(fields=["audit", "position"], name="audit_place_once"),
        ]


class AuditLabel(AppendOnly):
    """A reader's answers for a pair; the reader's newest label counts.

    ``answers`` maps each code's id to the chosen value, or to a list of values.
    """

    item = models.ForeignKey(AuditItem, on_delete=models.PROTECT, related_name="labels")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    answers = models.JSONField()
    note = models.CharField(max_length=1000, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        db_table = "curation_auditreading"
        ordering = ["id"]
        indexes = [models.Index(fields=["item", "reader"], name="audit_reading_pair")]
