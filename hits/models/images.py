"""Images that units show."""

from django.db import models
from django.db.models import Q

from hits.models.projects import Project


class Image(models.Model):
    """An image as we serve it: decoded, upright, re-encoded, without metadata.

    ``width`` and ``height`` are natural pixels of the served file, and ``sha256`` is of its bytes.
    ``original_sha256`` is of the uploaded file, which identifies a second upload.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="images")
    name = models.CharField(max_length=200)
    file = models.FileField(upload_to="images", max_length=200)
    sha256 = models.CharField(max_length=64)
    original_sha256 = models.CharField(max_length=64)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    bytes = models.PositiveIntegerField()
    source_url = models.URLField(max_length=500, blank=True)
    credit = models.CharField(max_length=300, blank=True)
    licence = models.CharField(max_length=120, blank=True)
    alt = models.CharField(max_length=300, blank=True)
    split = models.CharField(max_length=12, blank=True)
    entity_count = models.PositiveIntegerField(null=True)
    imported_at = models.DateTimeField(auto_now_add=True)
    taken_down_at = models.DateTimeField(null=True, db_column="withdrawn_at")
    duplicate_of = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="duplicates")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "original_sha256"], name="image_once_per_project"),
            models.UniqueConstraint(
                fields=["project", "source_url"],
                condition=~Q(source_url=""),
                name="image_url_once_per_project",
            ),
            models.CheckConstraint(condition=models.Q(width__gt=0, height__gt=0), name="image_has_an_area"),
        ]
        # Every request for a file looks its row up by hash.
        indexes = [models.Index(fields=["sha256"], name="image_by_hash")]

    def __str__(self) -> str:
        return self.name
