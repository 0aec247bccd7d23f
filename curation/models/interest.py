"""Which images are interesting: labels of people, models, and their scores."""

from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from hits.models import Image, Job, Project
from hits.models.base import AppendOnly, CreatedByModel


class InterestModelKind(StrEnum):
    """What an interest model sees."""

    COUNTS = "counts"
    FEATURES = "features"


class InterestLabel(AppendOnly):
    """A researcher's verdict on an image: 1 interesting, 0 okay, -1 boring; the newest of a person counts."""

    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="interest_labels")
    verdict = models.SmallIntegerField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(verdict__in=(-1, 0, 1)), name="interest_verdict_known")
        ]


class InterestModel(CreatedByModel):
    """A model of interestingness (Zellers et al. 2019 §B.2).

    ``encoder`` names the image features of a ``features`` model. ``weights`` are its parameters as plain JSON;
    larger models keep them in the folder ``path``. ``threshold`` is the score from which an image is selected;
    ``figures`` has the precision, recall and share kept, with intervals, out of fold.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="interest_models")
    kind = models.CharField(max_length=8)
    encoder = models.CharField(max_length=120, blank=True)
    options = models.JSONField(default=dict)
    weights = models.JSONField(default=dict)
    path = models.CharField(max_length=200, blank=True)
    threshold = models.FloatField(null=True)
    figures = models.JSONField(default=dict)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="interest_model")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in InterestModelKind]), name="interest_kind_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} ({self.pk})"


class InterestScore(models.Model):
    """A model's score of an image, in [0, 1]."""

    model = models.ForeignKey(InterestModel, on_delete=models.CASCADE, related_name="scores")
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="interest_scores")
    score = models.FloatField()

    class Meta:
        ordering = ["-score", "id"]
        constraints = [models.UniqueConstraint(fields=["model", "image"], name="interest_score_once")]
