"""Image triplets: a premise and two hypotheses as images, with their checks, explanations and decisions."""

import secrets
from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from curation.models.generated_images import GeneratedImage
from curation.models.imports import ImportedRow
from curation.models.scenes import Scene, new_public_id
from hits.models import Project, Record, Submission, Worker
from hits.models.base import AppendOnly, one_of_constraint


class ExplanationSource(StrEnum):
    """Who wrote an explanation. ``reference`` is one that an import brought along."""

    GOLD = "gold"
    CROWD = "crowd"
    MODEL = "model"
    REFERENCE = "reference"


class TripletVerdict(StrEnum):
    """A person's decision about a triplet; ``keep`` overrules a majority against gold and needs a note."""

    KEEP = "keep"
    REVISE = "revise"
    DROP = "drop"


def new_explanation_id() -> str:
    """Return a random id of 20 hexadecimal digits, by which pages name an explanation."""
    return secrets.token_hex(10)


class ImageTriplet(AppendOnly):
    """Three picked images of a scene.

    ``first`` says which of the scene's hypotheses is hypothesis 1; it is drawn once, so that gold is 1 in half of
    each category. ``gold`` is 1 or 2, the more plausible one. An imported triplet names its row.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="image_triplets")
    public_id = models.CharField(max_length=32, unique=True, default=new_public_id)
    scene = models.ForeignKey(Scene, on_delete=models.PROTECT, related_name="triplets")
    premise = models.ForeignKey(GeneratedImage, on_delete=models.PROTECT, related_name="+")
    a = models.ForeignKey(GeneratedImage, on_delete=models.PROTECT, related_name="+")
    b = models.ForeignKey(GeneratedImage, on_delete=models.PROTECT, related_name="+")
    first = models.CharField(max_length=1)
    gold = models.PositiveSmallIntegerField()
    imported_row = models.OneToOneField(
        ImportedRow, on_delete=models.PROTECT, null=True, related_name="image_triplet"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["premise", "a", "b"], name="triplet_of_images_once"),
            models.CheckConstraint(condition=Q(first__in=["a", "b"]), name="triplet_first_known"),
            models.CheckConstraint(condition=Q(gold__in=[1, 2]), name="triplet_gold_known"),
        ]

    def __str__(self) -> str:
        return f"Triplet {self.pk}"

    @property
    def h1(self) -> GeneratedImage:
        """Hypothesis 1."""
        return self.a if self.first == "a" else self.b

    @property
    def h2(self) -> GeneratedImage:
        """Hypothesis 2."""
        return self.b if self.first == "a" else self.a

    @property
    def gold_label(self) -> str:
        """The label of the more plausible hypothesis: ``h1`` or ``h2``."""
        return f"h{self.gold}"


class TripletCheck(AppendOnly):
    """What somebody found of a triplet: its facets, and whether each image shows its text. The newest one counts.

    ``alignment`` maps premise, h1 and h2 to yes, partly or no. The origin is a worker's record or a person.
    """

    triplet = models.ForeignKey(ImageTriplet, on_delete=models.PROTECT, related_name="checks")
    category = models.CharField(max_length=20)
    direction = models.CharField(max_length=10)
    duration = models.CharField(max_length=10, blank=True)
    domain = models.CharField(max_length=60)
    alignment = models.JSONField(default=dict)
    note = models.CharField(max_length=400, blank=True)
    record = models.OneToOneField(Record, on_delete=models.PROTECT, null=True, related_name="triplet_check")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]


class TripletExplanation(AppendOnly):
    """Why the more plausible hypothesis is more plausible, in somebody's words.

    A crowd's explanation names its submission, a gold one its record or the person who wrote it, a model's one the
    prediction (``curation.models.triplet_evaluations``). ``label`` of ``evaluation`` names the model.
    """

    triplet = models.ForeignKey(ImageTriplet, on_delete=models.PROTECT, related_name="explanations")
    public_id = models.CharField(max_length=20, unique=True, default=new_explanation_id)
    text = models.TextField()
    source = models.CharField(max_length=10)
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, related_name="+")
    submission = models.OneToOneField(
        Submission, on_delete=models.PROTECT, null=True, related_name="triplet_explanation"
    )
    record = models.OneToOneField(
        Record, on_delete=models.PROTECT, null=True, related_name="triplet_explanation"
    )
    prediction = models.OneToOneField(
        "curation.TripletPrediction", on_delete=models.PROTECT, null=True, related_name="stored_explanation"
    )
    simulated = models.BooleanField(default=False)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [one_of_constraint("source", ExplanationSource, name="explanation_source_known")]


class TripletDecision(AppendOnly):
    """A person's decision about a triplet whose majority is against gold, or that shall go; the newest one counts."""

    triplet = models.ForeignKey(ImageTriplet, on_delete=models.PROTECT, related_name="decisions")
    verdict = models.CharField(max_length=8)
    note = models.CharField(max_length=400, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [one_of_constraint("verdict", TripletVerdict, name="triplet_verdict_known")]
