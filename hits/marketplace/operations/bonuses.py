"""SendBonus, ListBonusPayments."""

from __future__ import annotations

from typing import Any

from hits.domain.money.usd import parse_usd
from hits.marketplace.errors import ApiError, invalid
from hits.marketplace.models import BonusPayment
from hits.marketplace.services import decisions, ledger, tokens

from .hits import insufficient_funds
from .lookup import find_hit, find_submission
from .paging import make_page, page_size, read_token
from .registry import Call, operation
from .render import render_bonus
from .rules import check_length, check_range

MAX_BONUS_CENTS = 1_000_000


@operation("SendBonus")
def send_bonus(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Pay a bonus to the worker of an assignment; a token makes repeating the call harmless for 24 hours."""
    claimed = _claim(call, params)
    cents = _amount(params["BonusAmount"])
    check_length("Reason", params["Reason"], 0, 4096)  # psiTurk sends an empty one unless told otherwise
    slot = find_submission(call, params["AssignmentId"])
    if slot.worker is None or slot.worker.worker_id != params["WorkerId"]:
        raise ApiError(
            "InvalidWorkerForAssignment",
            f"The worker named did not submit assignment {slot.assignment_id}.",
        )
    try:
        decisions.send_bonus(slot=slot, cents=cents, reason=params["Reason"], now=call.now)
    except ledger.InsufficientFunds:
        raise insufficient_funds() from None
    except decisions.TooLate:
        raise ApiError(
            "InvalidAssignmentState",
            f"Assignment {slot.assignment_id} was submitted more than six months ago. "
            "A bonus can be sent within six months of the submission.",
        ) from None
    tokens.settle(claimed, slot.assignment_id)
    return {}


@operation("ListBonusPayments")
def list_bonus_payments(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the bonuses of one assignment or one HIT, oldest first. Exactly one of the two is named."""
    bonuses = BonusPayment.objects.filter(requester=call.requester)
    if ("HITId" in params) == ("AssignmentId" in params):
        raise invalid("Name either a HITId or an AssignmentId.", "InvalidParameterValue")
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


def _amount(text: str) -> int:
    try:
        cents = parse_usd(text)
    except ValueError as error:
        raise invalid(str(error)) from None
    check_range("BonusAmount (in cents)", cents, 1, MAX_BONUS_CENTS)
    return cents


def _claim(call: Call, params: dict[str, Any]) -> Any:
    token = params.get("UniqueRequestToken")
    try:
        return tokens.claim(requester=call.requester, operation=call.operation, token=token, now=call.now)
    except tokens.AlreadyProcessed as used:
        raise ApiError(
            "DuplicateRequest", f'The idempotency token "{used.token}" has already been processed.'
        ) from None
