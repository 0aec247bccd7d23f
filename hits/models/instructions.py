"""Versions of the instructions for workers. Submissions name their version, so a published text never changes."""

from django.conf import settings
from django.db import models

from hits.models.base import AppendOnly
from hits.models.projects import Project


class Instructions(AppendOnly):
    """One version of a project's instructions for a kind. A batch shows one, and a submission names it.

    ``examples`` are rows of ``{"image": id or null, "boxes": […], "weak": …, "good": …, "why": …}``.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="instructions")
    kind = models.CharField(max_length=60)
    version = models.PositiveIntegerField()
    summary = models.CharField(max_length=200, blank=True)
    body = models.TextField(help_text="Markdown")
    examples = models.JSONField(default=list)
    note = models.CharField(max_length=300, blank=True, help_text="What changed, for colleagues")
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    published_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["-version"]
        constraints = [
            models.UniqueConstraint(fields=["project", "kind", "version"], name="instructions_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.kind}, version {self.version}"
