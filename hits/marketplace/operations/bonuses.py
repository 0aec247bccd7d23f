"""SendBonus, ListBonusPayments."""

from __future__ import annotations

from typing import Any

from hits.domain.money.usd import parse_usd
from hits.marketplace.errors import ApiError, validation_error
from hits.marketplace.models import BonusPayment
from hits.marketplace.services import decisions, ledger, tokens

from .hits import insufficient_funds_error
from .limits import check_length, check_range
from .lookup import find_hit, find_submission
from .paging import make_page, page_size, read_token
from .registry import Call, operation
from .render import render_bonus

MAX_BONUS_CENTS = 1_000_000


@operation("SendBonus")
def send_bonus(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Pay a bonus to the worker of an assignment. A request token makes repeated calls harmless for 24 hours."""
    token = _claim_token(call, params)
    cents = _parse_amount(params["BonusAmount"])
    check_length("Reason", params["Reason"], 0, 4096)  # psiTurk sends an empty one by default
    slot = find_submission(call, params["AssignmentId"])
    if slot.worker is None or slot.worker.worker_id != params["WorkerId"]:
        raise ApiError(
            "InvalidWorkerForAssignment",
            f"The worker named did not submit assignment {slot.assignment_id}.",
        )
    try:
        decisions.send_bonus(slot=slot, cents=cents, reason=params["Reason"], now=call.now)
    except ledger.InsufficientFunds:
        raise insufficient_funds_error() from None
    except decisions.BonusTooLate:
        raise ApiError(
            "InvalidAssignmentState",
            f"Assignment {slot.assignment_id} was submitted more than six months ago. "
            "A bonus can be sent within six months of the submission.",
        ) from None
    tokens.complete_token(token, slot.assignment_id)
    return {}


@operation("ListBonusPayments")
def list_bonus_payments(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the bonuses of one assignment or one HIT, oldest first. The call names exactly one of them."""
    bonuses = BonusPayment.objects.filter(requester=call.requester)
    if ("HITId" in params) == ("AssignmentId" in params):
        raise validation_error("Give either a HITId or an AssignmentId.", "InvalidParameterValue")
    if "HITId" in params:
        bonuses = bonuses.filter(assignment__hit=find_hit(call, params["HITId"]))
    else:
        bonuses = bonuses.filter(assignment=find_submission(call, params["AssignmentId"]))
    after = read_token(call, params, length=1)
    if after is not None:
        bonuses = bonuses.filter(pk__gt=after[0])
    rows = list(bonuses.select_related("worker", "assignment").order_by("pk")[: page_size(params)])
    return make_page(
        call,
        params,
        rows,
        key_of=lambda bonus: [bonus.pk],
        name="BonusPayments",
        rendered=[render_bonus(bonus) for bonus in rows],
    )


def _parse_amount(text: str) -> int:
    try:
        cents = parse_usd(text)
    except ValueError as error:
        raise validation_error(str(error)) from None
    check_range("BonusAmount (in cents)", cents, 1, MAX_BONUS_CENTS)
    return cents


def _claim_token(call: Call, params: dict[str, Any]) -> Any:
    token = params.get("UniqueRequestToken")
    try:
        return tokens.claim_token(
            requester=call.requester, operation=call.operation, token=token, now=call.now
        )
    except tokens.TokenAlreadyUsed as error:
        raise ApiError(
            "DuplicateRequest", f'The idempotency token "{error.token}" has already been processed.'
        ) from None
