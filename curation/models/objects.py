"""Objects that a detector or a published file found in images."""

from django.db import models

from hits.models import Image, Project
from hits.models.base import AppendOnly, CreatedByModel


class DetectionRun(CreatedByModel):
    """One run of a detector with labels over a project's images, or one imported file of detections.

    ``options`` are the requested options. ``figures`` has the numbers of objects by class, and of cut polygons.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="detection_runs")
    detector = models.CharField(max_length=120)
    revision = models.CharField(max_length=120, blank=True)
    options = models.JSONField(default=dict)
    figures = models.JSONField(default=dict)
    images = models.PositiveIntegerField(default=0)
    objects_found = models.PositiveIntegerField(default=0)
    is_complete = models.BooleanField(default=False)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.detector} ({self.pk})"


class ObjectSet(AppendOnly):
    """The object list of an image; it never changes, because tags of texts are indices into it.

    ``detections`` are ``hits.domain.images.detections.DetectedObject`` as JSON, with their raw polygons, and
    ``sha256`` is their hash. A later detection makes a new list: new units use the newest, and older units and
    triplets keep theirs. ``people`` and ``others`` count objects with a score of at least the run's limit.
    """

    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="object_sets")
    run = models.ForeignKey(DetectionRun, on_delete=models.PROTECT, related_name="object_sets")
    detections = models.JSONField(default=list)
    sha256 = models.CharField(max_length=64)
    people = models.PositiveIntegerField(default=0)
    others = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["run", "image"], name="object_set_once_per_image")]
        indexes = [
            models.Index(fields=["sha256"], name="object_set_by_hash"),
            # Pages list and count a run's photos by their objects; the lists themselves are long.
            models.Index(fields=["run", "people", "others", "image"], name="object_set_by_counts"),
        ]

    def __str__(self) -> str:
        return f"{len(self.detections)} objects of image {self.image_id}"
