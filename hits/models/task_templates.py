"""MTurk HTML templates of a project."""

from django.conf import settings
from django.db import models

from hits.models.base import AppendOnly
from hits.models.projects import Project


class TaskTemplate(AppendOnly):
    """One version of an uploaded page with ``${variables}``, stored byte for byte."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="task_templates")
    name = models.CharField(max_length=120)
    version = models.PositiveIntegerField()
    html = models.TextField()
    sha256 = models.CharField(max_length=64)
    variables = models.JSONField(default=list)  # names in the order of their first use
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    uploaded_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name", "version"], name="template_version_once"),
        ]
