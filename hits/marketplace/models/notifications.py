"""Notifications to requesters: their settings and the outbox."""

from django.db import models
from django.db.models import Q

from .work import HITType


class Transport(models.TextChoices):
    """How a notification is sent. The values are the API's; e-mail is not served."""

    SQS = "SQS", "SQS"
    SNS = "SNS", "SNS"


class NotificationSetting(models.Model):
    """The destination for events of one HIT type. ``events`` holds the API's event types."""

    hit_type = models.OneToOneField(HITType, on_delete=models.PROTECT, related_name="notification_setting")
    destination = models.CharField(max_length=500)
    transport = models.CharField(max_length=3, choices=Transport)
    events = models.JSONField(default=list)
    is_active = models.BooleanField(default=True)


class NotificationState(models.TextChoices):
    """State of a notification."""

    QUEUED = "queued", "Waiting"
    SENT = "sent", "Sent"
    FAILED = "failed", "Given up"


class Notification(models.Model):
    """One document for a requester: written together with its event and sent afterwards, at least once."""

    doc_id = models.UUIDField(unique=True)
    hit_type = models.ForeignKey(HITType, on_delete=models.PROTECT, null=True, related_name="notifications")
    destination = models.CharField(max_length=500)
    transport = models.CharField(max_length=3, choices=Transport)
    document = models.JSONField()  # {EventDocVersion, EventDocId, CustomerId, Events}
    state = models.CharField(max_length=6, choices=NotificationState, default=NotificationState.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    error = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["next_attempt_at"], name="mkt_notification_due", condition=Q(state="queued"))
        ]
