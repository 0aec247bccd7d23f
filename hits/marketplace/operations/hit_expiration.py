"""UpdateExpirationForHIT, DeleteHIT."""

from datetime import UTC, datetime
from typing import Any

from hits.marketplace.errors import ApiError, validation_error
from hits.marketplace.models import HIT
from hits.marketplace.selectors.lifecycle import HITStatus
from hits.marketplace.services import events
from hits.marketplace.services import hits as hit_services

from .limits import check_range
from .lookup import check_not_disposed, get_status_and_counts, lock_hit
from .registry import Call, operation

MIN_INCREMENT = 60
MAX_INCREMENT = 31_536_000
_DISPOSABLE_STATUSES = (HITStatus.REVIEWABLE, HITStatus.REVIEWING)


@operation("UpdateExpirationForHIT")
def update_expiration(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Expire a HIT (a time in the past) or extend its offer.

    As on Amazon's service, an extension adds 60 seconds to a year to the current end. The same extension sent twice
    gets the error for a processed token.
    """
    hit = lock_hit(call, params["HITId"])
    check_not_disposed(hit)
    expire_at = _parse_time(params["ExpireAt"])
    if expire_at <= call.now:
        hit_services.expire_hit(hit=hit, now=call.now)
        return {}
    _check_expiration_increment(hit, expire_at)
    hit_services.extend_hit(hit=hit, expires_at=expire_at)
    events.record_extension(hit=hit, at=call.now)
    return {}


@operation("DeleteHIT")
def delete_hit(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Dispose of a HIT that is Reviewable or Reviewing and has no undecided submission.

    With undecided submissions the message contradicts itself ("in the state 'Reviewable' … can be called with a
    status of: Reviewing, Reviewable"). It is Amazon's own wording, which requesters' scripts expect.
    """
    hit = lock_hit(call, params["HITId"])
    status, counts = get_status_and_counts(call, hit)
    if status not in _DISPOSABLE_STATUSES or counts.submitted:
        raise ApiError(
            "InvalidHITState",
            f"This HIT is currently in the state '{status.value}'.  "
            "This operation can be called with a status of: Reviewing, Reviewable",
        )
    hit_services.dispose_hit(hit=hit, now=call.now)
    return {}


def _parse_time(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        raise validation_error(f"ExpireAt {seconds} is not a time.") from None


def _check_expiration_increment(hit: HIT, expire_at: datetime) -> None:
    increment = round((expire_at - hit.expires_at).total_seconds())
    if increment == 0:
        raise ApiError(
            "DuplicateRequest",
            f'The idempotency token "{hit.hit_id}{expire_at:%Y-%m-%dT%H:%M:%SZ}" has already been processed.',
        )
    check_range("ExpirationIncrementInSeconds", increment, MIN_INCREMENT, MAX_INCREMENT)
