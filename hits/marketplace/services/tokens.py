"""Unique request tokens: a call repeated with the same token within 24 hours is refused."""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from hits.marketplace.errors import ApiError
from hits.marketplace.models import Requester, RequestToken

LIFETIME = timedelta(hours=24)


@transaction.atomic
def claim_token(
    *, requester: Requester, operation: str, token: str | None, now: datetime, code: str, detail: str = ""
) -> RequestToken | None:
    """Claim a token for the current call, or return None if the caller sent none.

    Raises ApiError ``code`` for a used token; ``detail`` names the row that the first call created. The unique
    constraint decides between concurrent calls.
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
        message = f'The idempotency token "{token}" has already been processed.'
        raise ApiError(code, message + detail.format(used.reference)) from None


@transaction.atomic
def record_token_reference(token: RequestToken | None, reference: str) -> None:
    """Record the public id of the row that the claimed token created."""
    if token is not None:
        RequestToken.objects.filter(pk=token.pk).update(reference=reference)
