"""Unique request tokens: for 24 hours a token stands for one call, even if it is repeated."""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from hits.marketplace.models import Requester, RequestToken

LIFETIME = timedelta(hours=24)


class TokenAlreadyUsed(Exception):
    """The token was used within 24 hours; ``reference`` is the public id of the row it created."""

    def __init__(self, token: str, reference: str) -> None:
        super().__init__(token)
        self.token = token
        self.reference = reference


@transaction.atomic
def claim_token(
    *, requester: Requester, operation: str, token: str | None, now: datetime
) -> RequestToken | None:
    """Claim a token for the current call, or return None if the caller sent none.

    Raises TokenAlreadyUsed. The database's unique constraint decides between concurrent calls.
    """
    if token is None:
        return None
    same_token = RequestToken.objects.filter(requester=requester, operation=operation, token=token)
    same_token.filter(created_at__lte=now - LIFETIME).delete()
    try:
        with transaction.atomic():
            return RequestToken.objects.create(
                requester=requester, operation=operation, token=token, created_at=now
            )
    except IntegrityError:
        used = same_token.get()
        raise TokenAlreadyUsed(token, used.reference) from None


@transaction.atomic
def complete_token(token: RequestToken | None, reference: str) -> None:
    """Record the public id of the row that the claimed token created."""
    if token is not None:
        RequestToken.objects.filter(pk=token.pk).update(reference=reference)
