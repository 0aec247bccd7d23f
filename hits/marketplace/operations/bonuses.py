"""SendBonus, ListBonusPayments."""

from typing import Any

from hits.marketplace.errors import ApiError, validation_error
from hits.marketplace.models import BonusPayment
from hits.marketplace.services import decisions, tokens

from .limits import check_length, parse_cents
from .lookup import claim_token, find_hit, find_submission
from .paging import list_page_by_pk
from .registry import Call, operation
from .render import render_bonus

MAX_BONUS_CENTS = 1_000_000


@operation("SendBonus")
def send_bonus(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Pay a bonus to the worker of an assignment. A request token makes repeated calls harmless for 24 hours."""
    token = claim_token(call, params, "DuplicateRequest")
    cents = parse_cents("BonusAmount", params["BonusAmount"], 1, MAX_BONUS_CENTS)
    check_length("Reason", params["Reason"], 0, 4096)  # psiTurk sends an empty one by default
    slot = find_submission(call, params["AssignmentId"])
    if slot.worker is None or slot.worker.worker_id != params["WorkerId"]:
        raise ApiError(
            "InvalidWorkerForAssignment",
            f"The worker named did not submit assignment {slot.assignment_id}.",
        )
    decisions.send_bonus(slot=slot, cents=cents, reason=params["Reason"], now=call.now)
    tokens.record_token_reference(token, slot.assignment_id)
    return {}


@operation("ListBonusPayments")
def list_bonus_payments(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the bonuses of one assignment or one HIT, oldest first. The call names exactly one of them."""
    bonuses = BonusPayment.objects.filter(requester=call.requester).select_related("worker", "assignment")
    if ("HITId" in params) == ("AssignmentId" in params):
        raise validation_error("Give either a HITId or an AssignmentId.", "InvalidParameterValue")
    if "HITId" in params:
        bonuses = bonuses.filter(assignment__hit=find_hit(call, params["HITId"]))
    else:
        bonuses = bonuses.filter(assignment=find_submission(call, params["AssignmentId"]))
    return list_page_by_pk(
        call, params, bonuses, name="BonusPayments", render=lambda rows: [render_bonus(row) for row in rows]
    )
