"""Marketplace workers as a requester sees them, and their consent."""

from django.db import models

from hits.models.base import AppendOnly
from hits.models.projects import Project


class Worker(models.Model):
    """One worker of one marketplace. Only the environment and the marketplace's id are stored."""

    environment = models.CharField(max_length=40)
    worker_id = models.CharField(max_length=64)
    first_seen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["environment", "worker_id"], name="worker_once_per_environment")
        ]

    def __str__(self) -> str:
        # Pages and log lines never show the marketplace's full id.
        return f"W-{self.pk}"


class ConsentText(AppendOnly):
    """One version of the text that a worker accepts before the first HIT of a project."""

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
    """A worker accepted one version of a project's consent text."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="participations")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="participations")
    consent = models.ForeignKey(ConsentText, on_delete=models.PROTECT, related_name="+")
    agreed_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        constraints = [
            models.UniqueConstraint(fields=["worker", "consent"], name="worker_agrees_once"),
        ]


class Declaration(AppendOnly):
    """The country that a worker declares with the consent; the latest row counts."""

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
    """A worker's optional answers about themselves: written once, deleted on request."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="demographics")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="demographics")
    answers = models.JSONField(default=dict)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "worker"], name="demographics_once_per_project")
        ]
