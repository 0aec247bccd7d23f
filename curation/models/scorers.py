"""Scorers, what they and others scored, and why they erred."""

from enum import StrEnum

from django.db import models
from django.db.models import Q

from curation.models.versions import DatasetVersion
from hits.models import Job, Project
from hits.models.base import CreatedByModel


class ScorerOrigin(StrEnum):
    """Where a scorer's weights come from."""

    TRAINED = "trained"
    IMPORTED = "imported"


class EvaluationSource(StrEnum):
    """Where the scores of an evaluation come from."""

    SCORER = "scorer"
    ENCODER = "encoder"
    BASELINE = "baseline"
    PREDICTIONS = "predictions"
    JUDGMENTS = "judgments"


class Scorer(CreatedByModel):
    """A model m(image, region, inference) of a project: what it was trained on, with what settings, and its weights.

    ``version`` and ``splits`` say on which pairs it was trained, ``parent`` from which scorer it started; an imported
    one has neither. ``config`` is a ``curation.scorer.config.TrainingConfig``, ``environment`` the machine and the
    libraries. ``path`` is the run's folder below the media folder, never served; its weights are in ``best/``, whose
    sha256 is ``weights_sha256``. ``figures`` are those of the kept checkpoint and where training stands. ``recipe``
    names the row of the paper's tables that it repeats, if any.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="scorers")
    name = models.CharField(max_length=60)
    origin = models.CharField(max_length=8, default=ScorerOrigin.TRAINED)
    version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, null=True, related_name="scorers")
    splits = models.JSONField(default=dict)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="children")
    recipe = models.CharField(max_length=40, blank=True)
    config = models.JSONField(default=dict)
    environment = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict)
    figures = models.JSONField(default=dict)
    path = models.CharField(max_length=200)
    weights_sha256 = models.CharField(max_length=64, blank=True)
    is_ready = models.BooleanField(default=False)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="scorer")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="scorer_name_once_per_project"),
            models.CheckConstraint(
                condition=Q(origin__in=[o.value for o in ScorerOrigin]), name="scorer_origin_known"
            ),
            models.CheckConstraint(
                condition=Q(is_ready=False) | ~Q(weights_sha256=""), name="ready_scorer_has_its_hash"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def encoder_name(self) -> str:
        """The name under which rounds, feature sets and evaluations use it."""
        return f"scorer:{self.pk}"


class Evaluation(CreatedByModel):
    """How well something scores one split of a sealed version: retrieval, localization and comparison.

    ``label`` is what tables call it. ``texts`` says whether inferences or clues were ranked. ``figures`` are
    described at ``curation.evaluation.figures``. ``path`` is a folder below the media folder, never served, with the
    scores that the figures rest on; ``sha256`` is of its manifest. ``provenance`` has the weights' hash, chunks and
    proposals.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="evaluations")
    version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="evaluations")
    split = models.CharField(max_length=12, blank=True)
    source = models.CharField(max_length=12)
    scorer = models.ForeignKey(Scorer, on_delete=models.PROTECT, null=True, related_name="evaluations")
    label = models.CharField(max_length=80)
    texts = models.CharField(max_length=10, default="inference")
    options = models.JSONField(default=dict)
    figures = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict)
    path = models.CharField(max_length=200, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="evaluation")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(source__in=[s.value for s in EvaluationSource]), name="evaluation_source_known"
            ),
            models.CheckConstraint(
                condition=Q(scorer__isnull=False) | ~Q(source=EvaluationSource.SCORER.value),
                name="scorers_evaluation_names_it",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label} on {self.version_id}"

    @property
    def known_pairs(self) -> int:
        """How many of its pairs trained what it measures, or chose its checkpoint."""
        return int(self.provenance.get("pairs_known_from_training", 0))


class ErrorAnalysis(CreatedByModel):
    """Whether errors of an evaluation on the comparison task can be foretold, and the worst of them (paper 001 §5.3).

    ``figures`` has one area under the curve per predictor; ``galleries`` the worst false positives and negatives.
    """

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="error_analyses")
    options = models.JSONField(default=dict)
    figures = models.JSONField(default=dict)
    galleries = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="error_analysis")

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"Error analysis {self.pk}"
