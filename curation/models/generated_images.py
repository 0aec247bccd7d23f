"""Prompts of scenes, the images that were generated from them or imported, and people's picks."""

from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from curation.models.imports import ImportedRow
from curation.models.model_runs import ModelCall, ModelRun
from curation.models.scenes import Scene
from hits.models import Image
from hits.models.base import AppendOnly, one_of_constraint

MAX_COMPONENTS = 2  # of an augmented prompt (Ventura et al. 2025 §3, E.1)


class ImageRole(StrEnum):
    """The part of a scene that an image shows."""

    PREMISE = "premise"
    A = "a"
    B = "b"


class PromptWay(StrEnum):
    """How a scene's prompts were made."""

    PLAIN = "plain"
    AUGMENTED = "augmented"
    MANUAL = "manual"


class PromptVerdict(StrEnum):
    """A person's verdict on prompts; images are generated from approved ones only."""

    APPROVED = "approved"
    REJECTED = "rejected"


class PickOrigin(StrEnum):
    """Who picked an image: a person on the queue page, the majority of a crowd, or nobody (the first candidate)."""

    QUEUE = "queue"
    CROWD = "crowd"
    FIRST = "first"


class PromptSet(AppendOnly):
    """The three prompts of a scene. The newest approved set of a scene is drawn.

    An augmented set adds up to two ``components`` and an ``environment``, repeated in all three prompts so that
    they show the same people and place; ``template_sha256`` and ``call`` say how a model wrote them.
    """

    scene = models.ForeignKey(Scene, on_delete=models.PROTECT, related_name="prompt_sets")
    way = models.CharField(max_length=10)
    components = models.JSONField(default=list)
    environment = models.CharField(max_length=400, blank=True)
    premise = models.TextField()
    a = models.TextField()
    b = models.TextField()
    template = models.CharField(max_length=60, blank=True)
    template_sha256 = models.CharField(max_length=64, blank=True)
    call = models.ForeignKey(ModelCall, on_delete=models.PROTECT, null=True, related_name="prompt_sets")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [one_of_constraint("way", PromptWay, name="prompt_way_known")]

    def __str__(self) -> str:
        return f"Prompts of {self.scene}"

    def prompt(self, role: str) -> str:
        """Return the prompt of a role."""
        return str(getattr(self, role))


class PromptDecision(AppendOnly):
    """A person's verdict on prompts; the newest one counts."""

    prompt_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, related_name="decisions")
    verdict = models.CharField(max_length=10)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [one_of_constraint("verdict", PromptVerdict, name="prompt_verdict_known")]


class GeneratedImage(AppendOnly):
    """A candidate image of a scene's role, with everything that is known of its origin.

    ``number`` counts the candidates of a role from 1. ``seed`` is the one really used, or null if the generator
    tells none. ``parent`` is the image that it was made from, ``mask`` the boxes of the region that was edited.
    ``flags`` are a safety checker's; a flagged image is hidden until a person releases it. ``figures`` are those of
    its pixels (``curation.evaluation.image_figures``), null if they were not measured. Micro-dollars, seconds.
    """

    scene = models.ForeignKey(Scene, on_delete=models.PROTECT, related_name="generated_images")
    prompt_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, null=True, related_name="images")
    role = models.CharField(max_length=8)
    number = models.PositiveSmallIntegerField()
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="generated")
    run = models.ForeignKey(ModelRun, on_delete=models.PROTECT, null=True, related_name="images")
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, null=True, related_name="image")
    imported_row = models.ForeignKey(ImportedRow, on_delete=models.PROTECT, null=True, related_name="images")
    generator = models.CharField(max_length=200)
    model = models.CharField(max_length=200, blank=True)
    revision = models.CharField(max_length=120, blank=True)
    licence = models.CharField(max_length=120, blank=True)
    prompt = models.TextField(blank=True)
    revised_prompt = models.TextField(blank=True)
    negative_prompt = models.TextField(blank=True)
    seed = models.PositiveBigIntegerField(null=True)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="edits")
    mask = models.JSONField(default=list)
    strength = models.FloatField(null=True)
    parameters = models.JSONField(default=dict)
    usage = models.JSONField(default=dict)
    cost_micro = models.PositiveBigIntegerField(default=0)
    seconds = models.FloatField(null=True)
    flags = models.JSONField(default=list)
    figures = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            one_of_constraint("role", ImageRole, name="image_role_known"),
            models.UniqueConstraint(fields=["scene", "role", "number"], name="candidate_number_once"),
            models.CheckConstraint(
                condition=Q(run=None) | Q(imported_row=None), name="generated_image_has_one_origin"
            ),
        ]

    def __str__(self) -> str:
        return f"Candidate {self.number} ({self.role})"

    def is_beside_other_premise(self, premise: "GeneratedImage") -> bool:
        """Whether it is a hypothesis that was drawn beside the image of another premise than this one."""
        beside = self.parameters.get("reference")
        is_hypothesis = self.role != ImageRole.PREMISE and self.parent_id is None
        return is_hypothesis and beside is not None and beside != premise.image.sha256


class ImagePick(AppendOnly):
    """The candidate that a role shall show; the newest pick counts. No image takes an earlier pick back."""

    scene = models.ForeignKey(Scene, on_delete=models.PROTECT, related_name="picks")
    role = models.CharField(max_length=8)
    image = models.ForeignKey(GeneratedImage, on_delete=models.PROTECT, null=True, related_name="picks")
    origin = models.CharField(max_length=8)
    note = models.CharField(max_length=400, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            one_of_constraint("role", ImageRole, name="picked_role_known"),
            one_of_constraint("origin", PickOrigin, name="pick_origin_known"),
        ]


class SafetyRelease(AppendOnly):
    """A person looked at a flagged image: it is shown (``is_safe``) or stays hidden. The newest one counts."""

    image = models.ForeignKey(GeneratedImage, on_delete=models.PROTECT, related_name="releases")
    is_safe = models.BooleanField()
    note = models.CharField(max_length=400, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
