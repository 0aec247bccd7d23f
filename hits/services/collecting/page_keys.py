"""The key of a HIT page: its worker and task, signed, so that nobody can claim another HIT or worker."""

import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.core import signing

from hits.models import Hit
from hits.selectors.eligibility.limits import GRACE_PERIOD
from hits.services.errors import Refused

# Increment the number when a token's meaning changes. Since 2, a token proves the attempt on our own marketplace.
TOKEN_SALT = "hits.page/2"  # noqa: S105 - a salt names the purpose, it is no secret


class BadToken(Refused):
    """The page's token is forged, expired, or for another HIT."""


@dataclass(frozen=True, slots=True)
class PageKey:
    """The worker and task of a page's token, as ids of the marketplace or our own public ids.

    ``arm`` is the shown order of kinds with several; ``None`` for other kinds.
    """

    unit: str
    hit_id: str
    assignment_id: str
    worker_id: str
    arm: int | None = None


def issue_token(key: PageKey) -> str:
    """Return the signed bearer token of one page."""
    return signing.dumps(
        [key.unit, key.hit_id, key.assignment_id, key.worker_id, key.arm], salt=TOKEN_SALT, compress=True
    )


def read_token(token: str) -> PageKey:
    """Return the key in a token.

    Raises:
        BadToken: it is forged, or the task's time and grace period are over.
    """
    try:
        parts = signing.loads(token, salt=TOKEN_SALT)
        key = PageKey(*parts)
    except (signing.BadSignature, TypeError, ValueError) as error:
        raise BadToken("This page's key is not valid. Reload the task.") from error
    hit = find_hit(key)
    # The grace period keeps work that is saved just after the time is over; the marketplace decides about pay.
    limit = timedelta(seconds=hit.unit.batch.duration_seconds) + GRACE_PERIOD
    try:
        signing.loads(token, salt=TOKEN_SALT, max_age=limit)
    except signing.SignatureExpired as error:
        raise BadToken("This page is too old. Reload the task.") from error
    return key


def find_hit(key: PageKey) -> Hit:
    """Return the HIT that the key names.

    Raises:
        BadToken: there is none, or it belongs to another unit.
    """
    try:
        public_id = uuid.UUID(key.unit)
    except ValueError as error:
        raise BadToken("This page's key is not valid. Reload the task.") from error
    hit = (
        Hit.objects.select_related("unit__batch__project")
        .filter(hit_id=key.hit_id, unit__public_id=public_id)
        .first()
    )
    if hit is None:
        raise BadToken("This task is not known here. Return it and take another one.")
    return hit
