"""UpdateExpirationForHIT, DeleteHIT."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hits.marketplace.errors import ApiError, invalid
from hits.marketplace.models import HIT
from hits.marketplace.selectors.lifecycle import HITStatus
from hits.marketplace.services import events
from hits.marketplace.services import hits as hit_services

from .lookup import lock_hit, standing
from .registry import Call, operation
from .rules import check_range

MIN_INCREMENT = 60
MAX_INCREMENT = 31_536_000
_DISPOSABLE = (HITStatus.REVIEWABLE, HITStatus.REVIEWING)


@operation("UpdateExpirationForHIT")
def update_expiration(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Expire a HIT (a time in the past) or prolong its offer.

    Prolonging is an increment over the present end, of 60 seconds to a year, as on Amazon's service; the same
    prolongation sent twice is answered as an already processed token, also as there.
    """
    hit = lock_hit(call, params["HITId"])
    if hit.disposed_at is not None:
        raise ApiError("InvalidHITState", "This HIT is currently in the state 'Disposed'.")
    expire_at = _moment(params["ExpireAt"])
    if expire_at <= call.now:
        hit_services.expire(hit=hit, now=call.now)
        return {}
    _check_increment(hit, expire_at)
    hit_services.prolong(hit=hit, expires_at=expire_at)
    events.tell_extended(hit=hit, at=call.now)
    return {}


@operation("DeleteHIT")
def delete_hit(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Dispose of a HIT that is Reviewable or Reviewing and has no undecided submission.

    With undecided submissions the refusal contradicts itself ("in the state 'Reviewable' … can be called with
    a status of: Reviewing, Reviewable"): that is Amazon's own wording, which requesters' scripts know.
    """
    hit = lock_hit(call, params["HITId"])
    status, counts = standing(call, hit)
    if status not in _DISPOSABLE or counts.submitted:
        raise ApiError(
            "InvalidHITState",
            f"This HIT is currently in the state '{status.value}'.  "
            "This operation can be called with a status of: Reviewing, Reviewable",
        )
    hit_services.dispose(hit=hit, now=call.now)
    return {}


def _moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        raise invalid(f"ExpireAt {seconds} is not a time.") from None


def _check_increment(hit: HIT, expire_at: datetime) -> None:
    increment = round((expire_at - hit.expires_at).total_seconds())
    if increment == 0:
        raise ApiError(
            "DuplicateRequest",
            f'The idempotency token "{hit.hit_id}{expire_at:%Y-%m-%dT%H:%M:%SZ}" has already been processed.',
        )
    check_range("ExpirationIncrementInSeconds", increment, MIN_INCREMENT, MAX_INCREMENT)
