"""Unique request tokens, which make a repeated call harmless for 24 hours."""

from django.db import models

from .accounts import Requester


class RequestToken(models.Model):
    """A token that a requester used in an operation; ``reference`` is the public id of the created row."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="+")
    operation = models.CharField(max_length=64)
    token = models.CharField(max_length=64)
    reference = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["requester", "operation", "token"], name="marketplace_request_token_once"
            ),
        ]
