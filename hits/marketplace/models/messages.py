"""Messages from requesters to workers."""

from django.db import models
from django.db.models import Q

from hits.domain.workers.notices import FIXED_SUBJECTS

from .accounts import Requester, Worker


class Message(models.Model):
    """One message of a requester to a worker. ``read_at`` is empty until the worker opens its page."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="messages")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="messages")
    subject = models.CharField(max_length=200)
    text = models.CharField(max_length=4096)
    sent_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["worker", "-id"], name="mkt_message_of_worker"),  # the page, newest first
            # The unread count in every page's header.
            models.Index(fields=["worker"], name="mkt_message_unread", condition=Q(read_at__isnull=True)),
        ]

    @property
    def has_fixed_subject(self) -> bool:
        """Return whether the subject is a fixed, translated one; all others are the requester's own text."""
        return self.subject in FIXED_SUBJECTS
