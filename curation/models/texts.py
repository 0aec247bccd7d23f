"""Analyses of people's texts, and reviews of single texts."""

from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from curation.models.pairs import Pair
from hits.models import Project
from hits.models.base import AppendOnly, CreatedByModel


class AnalysisKind(StrEnum):
    """The kind of an analysis of texts."""

    DUPLICATES = "duplicates"
    TOPICS = "topics"
    TOXICITY = "toxicity"
    CAPTIONS = "captions"


class PairText(StrEnum):
    """Which text of a pair: its clue or its inference."""

    CLUE = "clue"
    INFERENCE = "inference"


class TextAnalysis(CreatedByModel):
    """An analysis of a project's texts: its options, results and provenance."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="text_analyses")
    kind = models.CharField(max_length=12)
    options = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict)
    pairs = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=[k.value for k in AnalysisKind]), name="analysis_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} ({self.pk})"


class TextScore(models.Model):
    """A text's score in an analysis, such as its toxicity. ``detail`` explains it."""

    analysis = models.ForeignKey(TextAnalysis, on_delete=models.CASCADE, related_name="scores")
    observation = models.ForeignKey(Pair, on_delete=models.CASCADE, related_name="text_scores")
    field = models.CharField(max_length=10)
    score = models.FloatField()
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["-score", "id"]
        indexes = [models.Index(fields=["analysis", "-score"], name="text_score_queue")]
        constraints = [
            models.UniqueConstraint(
                fields=["analysis", "observation", "field"], name="text_scored_once_per_analysis"
            ),
            models.CheckConstraint(
                condition=Q(field__in=[f.value for f in PairText]), name="text_field_known"
            ),
        ]


class TextReview(AppendOnly):
    """A person's review of a text that an analysis ranked high; the newest review counts. No text is removed."""

    observation = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="text_reviews")
    field = models.CharField(max_length=10)
    is_concern = models.BooleanField()
    note = models.CharField(max_length=400, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        db_table = "curation_textreading"
        ordering = ["id"]
