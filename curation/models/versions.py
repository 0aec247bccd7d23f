"""Dataset versions; a sealed version never changes."""

from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from hits.models import Project
from hits.models.base import AppendOnly


class VersionState(StrEnum):
    """State of a dataset version; sealing is final."""

    DRAFT = "draft"
    SEALED = "sealed"


class DatasetVersion(models.Model):
    """A named release of a project's dataset. Database triggers ensure that a sealed version never changes.

    ``manifest_sha256`` is the hash of the checksum list: one line per image and row with its own hash.
    ``exclusions`` has the numbers of excluded rows, by reason.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="versions")
    name = models.CharField(max_length=40)
    note = models.CharField(max_length=400, blank=True)
    state = models.CharField(max_length=8, default=VersionState.DRAFT)
    rehearsal = models.BooleanField(default=False)
    manifest_sha256 = models.CharField(max_length=64, blank=True)
    statistics = models.JSONField(default=dict)
    exclusions = models.JSONField(default=dict)
    # Which records it contains (curation.versions.selection); null in versions sealed before selections existed.
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
        """Whether the version is sealed."""
        return self.state == VersionState.SEALED


class VersionImage(AppendOnly):
    """An image of a sealed version. ``url`` is its address in the version's rows; ``facts`` has its other data."""

    version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="images")
    url = models.CharField(max_length=500)
    sha256 = models.CharField(max_length=64)
    facts = models.JSONField()

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["version", "url"], name="version_image_once")]


class VersionRow(AppendOnly):
    """A row of a sealed version, exactly as exported.

    ``workers`` are keyed hashes of its authors or judges, never marketplace ids. They are exported in another file.
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
