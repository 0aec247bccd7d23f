"""Files of units between their upload and the launch."""

from django.conf import settings
from django.db import models

from hits.models.projects import Project


class UnitFile(models.Model):
    """An uploaded file of units before its launch; all of its lines are valid."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="unit_files")
    kind = models.CharField(max_length=80)
    name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    units = models.PositiveIntegerField()
    content = models.TextField()
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+"
    )
    uploaded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
