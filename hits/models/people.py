"""Marketplace workers as the requester sees them, and what they agreed to."""

from django.db import models

from hits.models.base import AppendOnly
from hits.models.projects import Project


class Worker(models.Model):
    """One worker of one marketplace: nothing but the environment and the marketplace's id."""

    environment = models.CharField(max_length=40)
    worker_id = models.CharField(max_length=64)
    first_seen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["environment", "worker_id"], name="worker_once_per_environment")
        ]

    def __str__(self) -> str:
        # Short, so that a page or a log line never carries the marketplace's full id.
        return f"W-{self.pk}"


class ConsentText(AppendOnly):
    """What a worker agrees to before the first HIT of a project; a change is a new version."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="consent_texts")
    version = models.PositiveIntegerField()
    body = models.TextField(help_text="Markdown")
    published_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["-version"]
        constraints = [
            models.UniqueConstraint(fields=["project", "version"], name="consent_version_once"),
        ]


class Participation(AppendOnly):
    """A worker agreed to one version of a project's consent text: the annotator's membership."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="participations")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="participations")
    consent = models.ForeignKey(ConsentText, on_delete=models.PROTECT, related_name="+")
    agreed_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        constraints = [
            models.UniqueConstraint(fields=["worker", "consent"], name="worker_agrees_once"),
        ]


class Declaration(AppendOnly):
    """The country that a worker says they work from, asked with the consent; the latest one counts."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="declarations")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="declarations")
    country = models.CharField(max_length=2)
    declared_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(country__regex=r"^[A-Z]{2}$"), name="country_is_a_code")
        ]


class Demographics(models.Model):
    """What a worker chose to say about themselves. Optional, said once, and deleted when they ask."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="demographics")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="demographics")
    answers = models.JSONField(default=dict)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "worker"], name="demographics_once_per_project")
        ]
