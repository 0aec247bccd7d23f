"""Multiple-choice questions whose wrong choices were matched (Zellers et al. 2019 §4)."""

from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from curation.records import MAX_MOVIE_LENGTH, Stage
from hits.models import Batch, Job, Project, Record
from hits.models.base import AppendOnly, CreatedByModel


class QuestionSetState(StrEnum):
    """State of a question set. Versions hold accepted sets."""

    BUILDING = "building"
    DRAFT = "draft"
    ACCEPTED = "accepted"


class QuestionSet(CreatedByModel):
    """One run of Adversarial Matching over a project's triplets.

    ``options`` are named options of ``curation.services.questions``; ``provenance`` has the names and revisions of
    the relevance and similarity models, and the folds. ``figures`` has each bucket with its rounds, gaps and
    certificates, and the counts of what was set aside. ``audits`` are the results of ``audit_choices``. ``secret`` is
    the key from which remapped tags and the order of choices are drawn; it lies with the held answers and is never
    exported with public files. ``path`` is the folder of the buckets' results, relative to the media folder.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="question_sets")
    name = models.CharField(max_length=60)
    state = models.CharField(max_length=8, default=QuestionSetState.BUILDING)
    rehearsal = models.BooleanField(default=False)
    options = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict)
    figures = models.JSONField(default=dict)
    audits = models.JSONField(default=dict)
    secret = models.CharField(max_length=64)
    path = models.CharField(max_length=200, blank=True)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="question_set")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="question_set_name_once"),
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in QuestionSetState]),
                name="question_set_state_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Question(models.Model):
    """One stage of one triplet with its choices.

    ``annot_id`` is the published id, such as ``val-17``; both stages of a triplet have the same. ``question_number``
    counts the triplets of an image in the set from 0. ``match_index`` counts the triplets of a ``fold`` from 0 and
    is never renumbered. ``choices`` are four, in the order of display: ``{"source": match_index, "round": 0-3,
    "text": segments, "remapped": [[from, to], …], "words": [class, …], "relevance", "similarity"}``; ``label`` is
    the position of the right one. A triplet that was set aside has its reason in ``set_aside`` and no choices.
    """

    question_set = models.ForeignKey(QuestionSet, on_delete=models.CASCADE, related_name="questions")
    triplet = models.ForeignKey(Record, on_delete=models.PROTECT, related_name="questions")
    stage = models.CharField(max_length=9)
    movie = models.CharField(max_length=MAX_MOVIE_LENGTH)
    split = models.CharField(max_length=12)
    annot_id = models.CharField(max_length=24)
    question_number = models.PositiveSmallIntegerField()
    fold = models.CharField(max_length=20)
    match_index = models.PositiveIntegerField()
    bucket = models.CharField(max_length=80, blank=True)
    choices = models.JSONField(default=list)
    label = models.PositiveSmallIntegerField(null=True)
    set_aside = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["question_set", "triplet", "stage"], name="question_once_per_stage"
            ),
            models.UniqueConstraint(
                fields=["question_set", "stage", "fold", "match_index"], name="match_index_once_per_fold"
            ),
            models.CheckConstraint(
                condition=Q(stage__in=[stage.value for stage in Stage]), name="question_stage_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.fold} {self.match_index} ({self.stage})"


class AuditWaiver(AppendOnly):
    """A person's reason for using a question set although an audit is over its limit; the newest counts."""

    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="waivers")
    audits_sha256 = models.CharField(max_length=64)
    reason = models.CharField(max_length=1000)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]


class ChoiceRound(CreatedByModel):
    """One stage of questions of a set that people solve; ``batch`` has their units.

    ``purpose`` is a launch for human figures, or a pilot for choosing λ (``options`` has its value).
    """

    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="rounds")
    stage = models.CharField(max_length=9)
    purpose = models.CharField(max_length=12)
    options = models.JSONField(default=dict)
    batch = models.OneToOneField(Batch, on_delete=models.PROTECT, related_name="choice_round")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(stage__in=[stage.value for stage in Stage]), name="choice_round_stage_known"
            ),
        ]


class ChoiceEvaluation(CreatedByModel):
    """The accuracies of a model, of people or of a file of predictions on one split of a question set.

    ``figures`` are described at ``curation.evaluation.choices``. ``path`` is the folder of the predictions, relative
    to the media folder.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="choice_evaluations")
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="evaluations")
    split = models.CharField(max_length=12, blank=True)
    source = models.CharField(max_length=12)
    label = models.CharField(max_length=80)
    options = models.JSONField(default=dict)
    figures = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict)
    path = models.CharField(max_length=200, blank=True)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="choice_evaluation")

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.label
