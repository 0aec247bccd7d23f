"""Evaluations of models and people on image triplets, their predictions, and audits (Ventura et al. 2025 §4)."""

from enum import StrEnum

from django.conf import settings
from django.db import models

from curation.models.image_triplets import TripletExplanation
from curation.models.model_runs import ModelCall, ModelRun
from curation.models.versions import DatasetVersion
from hits.models import Job, Project
from hits.models.base import AppendOnly, CreatedByModel, one_of_constraint


class TripletSource(StrEnum):
    """Whose answers an evaluation measures."""

    MODEL = "model"
    BASELINE = "baseline"
    PEOPLE = "people"
    FILE = "file"
    JUDGE = "judge"  # a model that grades explanations


class TripletEvaluation(CreatedByModel):
    """The figures of one model, baseline, file or crowd on a sealed version.

    ``setup`` is ``triplet``, ``pairs`` or, for judges, ``explanations``; ``strategy`` says what the model saw.
    ``figures`` are those of ``curation.evaluation.nleye``.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="triplet_evaluations")
    version = models.ForeignKey(
        DatasetVersion, on_delete=models.PROTECT, null=True, related_name="triplet_evaluations"
    )
    source = models.CharField(max_length=10)
    label = models.CharField(max_length=120)
    setup = models.CharField(max_length=12)
    strategy = models.CharField(max_length=20, blank=True)
    options = models.JSONField(default=dict)
    figures = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict)
    run = models.ForeignKey(ModelRun, on_delete=models.PROTECT, null=True, related_name="evaluations")
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="triplet_evaluation")

    class Meta:
        ordering = ["-id"]
        constraints = [one_of_constraint("source", TripletSource, name="triplet_source_known")]

    def __str__(self) -> str:
        return self.label


class TripletPrediction(AppendOnly):
    """One answer about one presentation of a triplet, or the score of one hypothesis.

    ``instance_id`` is the triplet's id in the version. ``presentation`` is ``as_listed`` or ``swapped``, or ``h1`` or
    ``h2`` for a score. ``choice`` is ``first``, ``second``, ``equal`` or ``none``; without one, ``reason`` says why.
    """

    evaluation = models.ForeignKey(TripletEvaluation, on_delete=models.PROTECT, related_name="predictions")
    instance_id = models.CharField(max_length=64)
    presentation = models.CharField(max_length=10)
    choice = models.CharField(max_length=8, blank=True)
    score = models.FloatField(null=True)
    reason = models.CharField(max_length=16, blank=True)
    explanation = models.TextField(blank=True)
    call = models.ForeignKey(ModelCall, on_delete=models.PROTECT, null=True, related_name="predictions")

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["evaluation", "instance_id", "presentation"], name="presentation_answered_once"
            )
        ]


class ReplyCorrection(AppendOnly):
    """What a person read in a reply that the parser refused; the newest one counts."""

    prediction = models.ForeignKey(TripletPrediction, on_delete=models.PROTECT, related_name="corrections")
    choice = models.CharField(max_length=8)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]


class ExplanationGrade(AppendOnly):
    """A judge's grade of an explanation: 0 not logical, 1 another reason, 2 the reason of a reference; null unread.

    ``purpose`` is ``candidate``, or a check of the judge: ``other_triplet`` (must be about 0) or ``people``.
    """

    evaluation = models.ForeignKey(TripletEvaluation, on_delete=models.PROTECT, related_name="grades")
    explanation = models.ForeignKey(TripletExplanation, on_delete=models.PROTECT, related_name="grades")
    purpose = models.CharField(max_length=16)
    repeat = models.PositiveSmallIntegerField()
    grade = models.PositiveSmallIntegerField(null=True)
    call = models.ForeignKey(ModelCall, on_delete=models.PROTECT, null=True, related_name="grades")

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["evaluation", "explanation", "purpose", "repeat"], name="explanation_graded_once"
            )
        ]


class TripletAudit(CreatedByModel):
    """The audits of a project's triplets for shortcuts; ``figures`` are those of ``nleye_audits``."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="triplet_audits")
    figures = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="triplet_audit")

    class Meta:
        ordering = ["-id"]
