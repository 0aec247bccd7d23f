"""UpdateHITReviewStatus, ListReviewPolicyResultsForHIT."""

from typing import Any

from hits.marketplace.errors import ApiError
from hits.marketplace.selectors.lifecycle import HITStatus
from hits.marketplace.services import hits as hit_services

from .lookup import find_hit, get_status_and_counts
from .registry import Call, operation


@operation("UpdateHITReviewStatus")
def update_review_status(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Move a HIT from Reviewable to Reviewing, or back with Revert."""
    revert = params.get("Revert", False)
    hit = find_hit(call, params["HITId"])
    status, _ = get_status_and_counts(call, hit)
    required = HITStatus.REVIEWING if revert else HITStatus.REVIEWABLE
    if status != required:
        raise ApiError(
            "InvalidHITState",
            f"This HIT is currently in the state '{status.value}'. "
            f"This operation can be called with a status of: {required.value}",
        )
    hit_services.set_reviewing(hit=hit, reviewing=not revert)
    return {}


@operation("ListReviewPolicyResultsForHIT")
def list_review_policy_results(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return no results: HITs with review policies are refused, so no HIT has any."""
    return {"HITId": find_hit(call, params["HITId"]).hit_id}
