"""Projects, their members and their history."""

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from hits.domain.states import Role
from hits.models.base import AppendOnly, one_of_constraint


class Project(models.Model):
    """One dataset in preparation. Scripts may answer in a rehearsal, whose exports are marked as such."""

    name = models.CharField(max_length=120)
    slug = models.SlugField(max_length=60, unique=True)
    is_rehearsal = models.BooleanField(default=False)
    # The dataset family of its versions (a folder's name); fixed after the first version.
    family = models.CharField(max_length=40, default="sherlock")
    target_cents_per_hour = models.PositiveIntegerField(default=1500)
    # The maximum cost of all batches together; none means no cap.
    budget_cap_cents = models.PositiveBigIntegerField(null=True)
    # A person types the sum of a launch, an extension or a top-up that can cost more.
    confirm_above_cents = models.PositiveIntegerField(default=10_000)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A staff member's role in a project. Workers have a ``Participation`` instead."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=[(r.value, r.value) for r in Role])
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="one_role_per_person_and_project"),
            one_of_constraint("role", Role, name="membership_role_known"),
        ]


class AuditEvent(AppendOnly):
    """One action: actor, subject and time. ``data`` holds ids and counts, never worker ids or answers."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, related_name="events")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=80, blank=True)
    data = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["-id"]
