"""Unique request tokens: a token names one act for 24 hours, however often the call is repeated."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from hits.marketplace.models import Requester, RequestToken

LIFETIME = timedelta(hours=24)


class AlreadyProcessed(Exception):
    """The token was used within 24 hours; ``reference`` is the public id of what it made then."""

    def __init__(self, token: str, reference: str) -> None:
        super().__init__(token)
        self.token = token
        self.reference = reference


@transaction.atomic
def claim(*, requester: Requester, operation: str, token: str | None, now: datetime) -> RequestToken | None:
    """Take a token for the present call, or return None when the caller sent none.

    Raises AlreadyProcessed. The database's unique constraint decides between two calls at the same time.
    """
    if token is None:
        return None
    mine = RequestToken.objects.filter(requester=requester, operation=operation, token=token)
    mine.filter(created_at__lte=now - LIFETIME).delete()
    try:
        with transaction.atomic():
            return RequestToken.objects.create(
                requester=requester, operation=operation, token=token, created_at=now
            )
    except IntegrityError:
        used = mine.get()
        raise AlreadyProcessed(token, used.reference) from None


@transaction.atomic
def settle(claimed: RequestToken | None, reference: str) -> None:
    """Write down what the claimed token made."""
    if claimed is not None:
        RequestToken.objects.filter(pk=claimed.pk).update(reference=reference)
