"""Scenes, people's decisions about them, and a project's settings for image triplets (Ventura et al. 2025 §3)."""

import secrets
import uuid
from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from curation.models.imports import ImportedRow
from hits.models import Job, Project, Record, Worker
from hits.models.base import AppendOnly, CreatedByModel, one_of_constraint

MAX_READERS = 2


class SceneVerdict(StrEnum):
    """A reader's verdict on a scene; ``undone`` takes the reader's earlier verdict back."""

    KEEP = "keep"
    DROP = "drop"
    REVISE = "revise"
    UNDONE = "undone"


class SceneReason(StrEnum):
    """Why a scene is dropped or revised (Ventura et al. 2025 §3 and table 16)."""

    PREMISE_NECESSITY = "premise_necessity"
    VISUAL_RELEVANCE = "visual_relevance"
    UNIQUENESS = "uniqueness"
    UNSAFE = "unsafe"
    UNCLEAR = "unclear"
    OTHER = "other"


def new_public_id() -> str:
    """Return a random id of 32 hexadecimal digits; it tells nothing about its row."""
    return uuid.uuid4().hex


def new_secret() -> str:
    """Return a random secret of 64 hexadecimal digits."""
    return secrets.token_hex(32)


class TripletSettings(models.Model):
    """A project's settings for image triplets.

    ``readers`` is the number of people who decide about a scene, each without seeing the other's verdict. ``domains``
    are offered to writers; empty for the built-in ones. ``targets`` maps a category to the number of scenes that is
    wanted in each temporal cell. ``prices`` is a price table in TOML, in dollars. ``licences`` maps the name of a
    generator to the licence of its images, typed by a person. Images of unknown licence enter a real version only if
    an admin allows it (``unknown_licence_allowed_by``). ``secret`` draws the order of hypotheses, so that nobody
    foresees it.
    """

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="triplet_settings")
    readers = models.PositiveSmallIntegerField(default=1)
    domains = models.JSONField(default=list)
    targets = models.JSONField(default=dict)
    prices = models.TextField(blank=True)
    licences = models.JSONField(default=dict)
    secret = models.CharField(max_length=64, default=new_secret)
    # Whether versions keep gold, texts and explanations back, for a leaderboard.
    holds_answers = models.BooleanField(default=False)
    unknown_licence_allowed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(readers__gte=1, readers__lte=MAX_READERS), name="scene_readers_one_or_two"
            )
        ]

    def __str__(self) -> str:
        return f"Triplet settings of {self.project}"


class Scene(AppendOnly):
    """Three texts: a premise and hypotheses a and b, of which ``plausible`` is more plausible.

    ``plausible`` is drawn when the scene is stored, so that a and b tell nothing. The origin is a record of an
    answer, a row of an import, or neither for a researcher's revision. Texts never change: a revision is a new scene
    that ``replaces`` the old one.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="scenes")
    public_id = models.CharField(max_length=32, unique=True, default=new_public_id)
    author = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, related_name="scenes")
    record = models.OneToOneField(Record, on_delete=models.PROTECT, null=True, related_name="scene")
    imported_row = models.OneToOneField(
        ImportedRow, on_delete=models.PROTECT, null=True, related_name="scene"
    )
    premise = models.CharField(max_length=2000)
    hypothesis_a = models.CharField(max_length=2000)
    hypothesis_b = models.CharField(max_length=2000)
    plausible = models.CharField(max_length=1)
    category = models.CharField(max_length=20)
    direction = models.CharField(max_length=10)
    duration = models.CharField(max_length=10, blank=True)
    domain = models.CharField(max_length=60)
    culture = models.CharField(max_length=80, blank=True)
    why = models.CharField(max_length=600, blank=True)
    language = models.CharField(max_length=10, default="en")
    licence = models.CharField(max_length=120, blank=True)
    simulated = models.BooleanField(default=False)
    replaces = models.OneToOneField("self", on_delete=models.PROTECT, null=True, related_name="replaced_by")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(plausible__in=["a", "b"]), name="scene_plausible_known"),
            models.CheckConstraint(
                condition=Q(record=None) | Q(imported_row=None), name="scene_has_one_origin"
            ),
        ]
        indexes = [models.Index(fields=["project", "category"], name="scene_project_category")]

    def __str__(self) -> str:
        return f"Scene {self.pk}"

    def text(self, role: str) -> str:
        """Return the text of a role: ``premise``, ``a`` or ``b``."""
        return str(self.premise if role == "premise" else getattr(self, f"hypothesis_{role}"))

    @property
    def plausible_text(self) -> str:
        """The more plausible hypothesis."""
        return self.text(self.plausible)

    @property
    def implausible_text(self) -> str:
        """The less plausible hypothesis."""
        return self.text("b" if self.plausible == "a" else "a")


class SceneDecision(AppendOnly):
    """A reader's verdict on a scene. The newest one of each reader counts. ``twin`` is the scene that it repeats."""

    scene = models.ForeignKey(Scene, on_delete=models.PROTECT, related_name="decisions")
    verdict = models.CharField(max_length=8)
    reasons = models.JSONField(default=list)
    twin = models.ForeignKey(Scene, on_delete=models.PROTECT, null=True, related_name="+")
    note = models.CharField(max_length=400, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [one_of_constraint("verdict", SceneVerdict, name="scene_verdict_known")]


class SceneTwins(CreatedByModel):
    """The most similar other scene of each of a project's scenes, by the vectors of their texts.

    ``twins`` maps a scene's public id to ``[public id of the other, cosine]``. The newest row counts.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="scene_twins")
    encoder = models.CharField(max_length=80)
    revision = models.CharField(max_length=120, blank=True)
    twins = models.JSONField(default=dict)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="scene_twins")

    class Meta:
        ordering = ["-id"]
