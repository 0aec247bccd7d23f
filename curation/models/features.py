"""Feature sets: vectors of images, regions and texts."""

from enum import StrEnum

from django.db import models
from django.db.models import Q

from hits.models import Project


class Subject(StrEnum):
    """What the vectors of a feature set represent."""

    IMAGES = "images"
    TEXTS = "texts"
    REGIONS = "regions"


class FeatureSet(models.Model):
    """Vectors of some items, made by an encoder and stored as shards in one folder.

    ``path`` is the folder, relative to the media folder and never served. ``sha256`` is the hash of the folder's
    manifest, which lists every shard with its hash. ``items_sha256`` is a hash over the items in order.
    ``preprocessing`` states how pictures were prepared for encoding. Until ``is_complete``, some shards are missing
    and ``sha256`` is empty.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="feature_sets")
    encoder = models.CharField(max_length=80)
    revision = models.CharField(max_length=120, blank=True)
    subject = models.CharField(max_length=10)
    region_mode = models.CharField(max_length=20, blank=True)
    preprocessing = models.JSONField(default=dict)
    count = models.PositiveIntegerField()
    dim = models.PositiveIntegerField(default=0)
    shards = models.PositiveIntegerField(default=1)
    path = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64, blank=True)
    items_sha256 = models.CharField(max_length=64)
    is_complete = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "encoder", "revision", "subject", "region_mode", "items_sha256"],
                name="features_made_once",
            ),
            models.CheckConstraint(
                condition=Q(subject__in=[s.value for s in Subject]), name="feature_subject_known"
            ),
            models.CheckConstraint(
                condition=Q(is_complete=False) | ~Q(sha256=""), name="complete_features_have_their_hash"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.encoder} of {self.count} {self.subject}"
