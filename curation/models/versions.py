"""Dataset versions: sealed is for good."""

from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from hits.models import Project
from hits.models.base import AppendOnly


class VersionState(StrEnum):
    """Life of a dataset version: sealed is for good."""

    DRAFT = "draft"
    SEALED = "sealed"


class DatasetVersion(models.Model):
    """A named release. A draft is a promise; a sealed one never changes (also held by triggers).

    ``manifest_sha256`` is the hash of the seal's text: one line per image and row with its own hash.
    ``exclusions`` counts what was left out, by reason.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="versions")
    name = models.CharField(max_length=40)
    note = models.CharField(max_length=400, blank=True)
    state = models.CharField(max_length=8, default=VersionState.DRAFT)
    rehearsal = models.BooleanField(default=False)
    manifest_sha256 = models.CharField(max_length=64, blank=True)
    statistics = models.JSONField(default=dict)
    exclusions = models.JSONField(default=dict)
    # What it holds (curation.versions.selection); none of versions sealed before there was a choice.
    selection = models.JSONField(null=True)
    provenance = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    sealed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    sealed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="version_name_once_per_project"),
            models.CheckConstraint(
                condition=Q(state__in=[s.value for s in VersionState]), name="version_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state=VersionState.DRAFT) | (Q(sealed_at__isnull=False) & ~Q(manifest_sha256="")),
                name="sealed_version_has_its_hash",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_sealed(self) -> bool:
        """Tell whether the version is sealed."""
        return self.state == VersionState.SEALED


class VersionImage(AppendOnly):
    """An image as a sealed version knows it. ``url`` is what its rows call it."""

    version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="images")
    url = models.CharField(max_length=500)
    sha256 = models.CharField(max_length=64)
    facts = models.JSONField()

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["version", "url"], name="version_image_once")]


class VersionRow(AppendOnly):
    """One row of a sealed version, exactly as it is exported.

    ``workers`` are keyed hashes (never marketplace ids) of those who wrote or judged it; they are exported
    apart from the rows.
    """

    version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="rows")
    part = models.CharField(max_length=40)
    instance_id = models.CharField(max_length=64)
    split = models.CharField(max_length=12, blank=True)
    row = models.JSONField()
    sha256 = models.CharField(max_length=64)
    workers = models.JSONField(default=list)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["version", "part", "instance_id"], name="version_row_once")
        ]
