"""Sources of images, and near-duplicate images in different splits."""

from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from hits.models import Image, Project
from hits.models.base import AppendOnly, CreatedByModel


class Source(StrEnum):
    """A published image collection."""

    VISUAL_GENOME = "visual_genome"
    VCR = "vcr"


class LeakVerdict(StrEnum):
    """A person's verdict on two similar images of different splits."""

    SAME = "same"
    DIFFERENT = "different"


class SourceRecord(models.Model):
    """An image's record in its source collection.

    ``source_id`` is the collection's id of the image. ``regions`` are ``{"id", "box": [left, top, width, height],
    "text"}`` in pixels of the stored image: region descriptions (Visual Genome) or detected objects (VCR). ``facts``
    has the collection's other data about the image, such as ``coco_id``.
    """

    image = models.OneToOneField(Image, on_delete=models.CASCADE, related_name="source_record")
    source = models.CharField(max_length=20)
    source_id = models.CharField(max_length=200)
    regions = models.JSONField(default=list)
    facts = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(source__in=[s.value for s in Source]), name="source_known"),
        ]
        indexes = [models.Index(fields=["source", "source_id"], name="source_record_name")]

    def __str__(self) -> str:
        return f"{self.source} {self.source_id}"


class LeakageRun(CreatedByModel):
    """A search for near-duplicate images in different splits. ``checked`` counts images, ``found`` counts pairs."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="leakage_runs")
    encoder = models.CharField(max_length=80)
    revision = models.CharField(max_length=120, blank=True)
    threshold = models.FloatField()
    checked = models.PositiveIntegerField()
    found = models.PositiveIntegerField()
    provenance = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"Leakage check {self.pk}"


class LeakedPair(models.Model):
    """Two images of different splits with the cosine of their vectors."""

    run = models.ForeignKey(LeakageRun, on_delete=models.CASCADE, related_name="pairs")
    first = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="+")
    cosine = models.FloatField()

    class Meta:
        ordering = ["-cosine", "id"]
        constraints = [models.UniqueConstraint(fields=["run", "first", "second"], name="leak_once_per_run")]


class LeakReview(AppendOnly):
    """A person's review of two images, independent of the run that found them; the newest review counts.

    ``first`` is the image with the lower primary key.
    """

    first = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    second = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    verdict = models.CharField(max_length=10)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        db_table = "curation_leakreading"
        ordering = ["id"]
        indexes = [models.Index(fields=["first", "second"], name="leak_reading_pair")]
        constraints = [
            models.CheckConstraint(
                condition=Q(verdict__in=[v.value for v in LeakVerdict]), name="leak_verdict_known"
            ),
        ]
