"""Scorers, evaluations of scorers and other predictions, and error analyses."""

from enum import StrEnum

from django.db import models
from django.db.models import Q

from curation.models.versions import DatasetVersion
from hits.models import Job, Project
from hits.models.base import CreatedByModel


class ScorerOrigin(StrEnum):
    """The origin of a scorer's weights."""

    TRAINED = "trained"
    IMPORTED = "imported"


class EvaluationSource(StrEnum):
    """The source of an evaluation's scores."""

    SCORER = "scorer"
    ENCODER = "encoder"
    BASELINE = "baseline"
    PREDICTIONS = "predictions"
    JUDGMENTS = "judgments"


class Scorer(CreatedByModel):
    """A project's model m(image, region, inference): its training data, settings and weights.

    ``version`` and ``splits`` are the training data, and ``parent`` is the scorer it was initialised from; an
    imported scorer has neither. ``config`` is a ``curation.scorer.config.TrainingConfig``; ``environment`` describes
    the machine and libraries. ``path`` is the run's folder, relative to the media folder and never served; its
    weights are in ``best/``, with the hash ``weights_sha256``. ``figures`` has the validation figures of the best
    checkpoint, and the progress of training. ``recipe`` names the row of the tables of Hessel et al. 2022 that the
    scorer reproduces, if any.
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
        """The encoder name by which rounds, feature sets and evaluations refer to the scorer."""
        return f"scorer:{self.pk}"


class Evaluation(CreatedByModel):
    """An evaluation on one split of a sealed version: retrieval, localization and comparison.

    ``label`` is its name in tables. ``texts`` states whether inferences or clues were ranked. ``figures`` are
    described at ``curation.evaluation.figures``. ``path`` is the folder of the scores, relative to the media folder
    and never served; ``sha256`` is the hash of the folder's manifest. ``provenance`` has the hash of the weights, the
    chunks and the box proposals.
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
    def known_pair_count(self) -> int:
        """The number of the evaluation's pairs on which the model was trained or validated."""
        return int(self.provenance.get("pairs_known_from_training", 0))


class ErrorAnalysis(CreatedByModel):
    """An analysis of how predictable an evaluation's comparison errors are (Hessel et al., ECCV 2022, section 5.3).

    ``figures`` has the AUC of each predictor; ``galleries`` has the worst false positives and false negatives.
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
