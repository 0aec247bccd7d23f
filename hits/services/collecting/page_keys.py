"""The key of a HIT page: who works on what, signed, so that no other HIT or worker can be claimed."""

import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.core import signing

from hits.models import Hit
from hits.selectors.eligibility.limits import GRACE
from hits.services.errors import Refused

# Its number changes with what a token proves: since 2, on our own marketplace, that the attempt's secret was shown.
TOKEN_SALT = "hits.page/2"  # noqa: S105 - a salt names the purpose, it is no secret


class BadToken(Refused):
    """The page's token is forged, expired, or for another HIT."""


@dataclass(frozen=True, slots=True)
class PageKey:
    """Who works on what, as the page's token says: marketplace or our own public ids.

    ``arm`` is the order that the page shows, of kinds that have several; ``None`` where nothing depends on it.
    """

    unit: str
    hit_id: str
    assignment_id: str
    worker_id: str
    arm: int | None = None


def issue_token(key: PageKey) -> str:
    """Return the bearer token of one page: signed, so that no other HIT or worker can be claimed."""
    return signing.dumps(
        [key.unit, key.hit_id, key.assignment_id, key.worker_id, key.arm], salt=TOKEN_SALT, compress=True
    )


def read_token(token: str) -> PageKey:
    """Return what the token says.

    Raises:
        BadToken: it is forged or its task's time and grace have passed.
    """
    try:
        parts = signing.loads(token, salt=TOKEN_SALT)
        key = PageKey(*parts)
    except (signing.BadSignature, TypeError, ValueError) as error:
        raise BadToken("This page's key is not valid. Reload the task.") from error
    hit = find_hit(key)
    # Grace: a worker whose time ran out while saving still keeps the work; pay is the marketplace's matter.
    limit = timedelta(seconds=hit.unit.batch.duration_seconds) + GRACE
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
