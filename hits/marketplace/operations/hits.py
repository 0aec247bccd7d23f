"""CreateHITType, CreateHIT, CreateHITWithHITType, CreateAdditionalAssignmentsForHIT, UpdateHITTypeOfHIT."""

from __future__ import annotations

from typing import Any

from hits.domain.money.usd import parse_usd
from hits.marketplace.errors import ApiError, invalid
from hits.marketplace.models import HIT, HITType
from hits.marketplace.services import hits as hit_services
from hits.marketplace.services import ledger, tokens
from hits.marketplace.services.hits import HITParams, TypeParams

from .lookup import find_hit_type, lock_hit
from .questions import find_question
from .registry import Call, operation
from .render import render_hits
from .requirements import check_still_active, read_requirements
from .rules import check_length, check_range

YEAR = 31_536_000
MONTH = 2_592_000
MAX_SLOTS = 10_000
MAX_ANNOTATION = 255
_POLICIES = ("AssignmentReviewPolicy", "HITReviewPolicy")


@operation("CreateHITType")
def create_hit_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the id of the HIT type with these values; equal values give the same id."""
    return {"HITTypeId": _hit_type(call, params).hit_type_id}


@operation("CreateHIT")
def create_hit(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Make a HIT and, at need, its type. A token used within 24 hours makes nothing a second time."""
    claimed = _claim(call, params)
    return _create(call, params, _hit_type(call, params), claimed)


@operation("CreateHITWithHITType")
def create_hit_with_hit_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Make a HIT of an existing type."""
    claimed = _claim(call, params)
    hit_type = find_hit_type(call, params["HITTypeId"])
    check_still_active(call, hit_type.qualification_requirements)
    return _create(call, params, hit_type, claimed)


@operation("CreateAdditionalAssignmentsForHIT")
def create_additional_assignments(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Add slots to a HIT. Nine cannot become ten, since the fee would change."""
    claimed = _claim(call, params)
    hit = lock_hit(call, params["HITId"])
    count = params["NumberOfAdditionalAssignments"]
    check_range("NumberOfAdditionalAssignments", count, 1, MAX_SLOTS)
    _refuse_disposed(hit)
    try:
        hit_services.add_assignments(hit=hit, count=count, now=call.now)
    except hit_services.CrossesTenAssignments:
        raise ApiError(
            "InvalidMaximumAssignmentsIncrease",
            "A HIT created with fewer than 10 assignments cannot be extended to 10 or more.",
        ) from None
    except ledger.InsufficientFunds:
        raise insufficient_funds() from None
    tokens.settle(claimed, hit.hit_id)
    return {}


@operation("UpdateHITTypeOfHIT")
def update_hit_type_of_hit(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Give a HIT another type: title, pay, times and requirements change, and what is held follows.

    Another pay or fee is refused once somebody took one of its tasks: they are paid what they accepted.
    """
    hit = lock_hit(call, params["HITId"])
    hit_type = find_hit_type(call, params["HITTypeId"])
    check_still_active(call, hit_type.qualification_requirements)
    _refuse_disposed(hit)
    try:
        hit_services.change_type(hit=hit, hit_type=hit_type, now=call.now)
    except hit_services.WorkAtTheOldPrice:
        raise ApiError(
            "InvalidHITState",
            "Workers took tasks of this HIT for its present reward, so it can only get a type with the same "
            "reward and fee. Expire it and create another HIT.",
        ) from None
    except ledger.InsufficientFunds:
        raise insufficient_funds() from None
    return {}


def insufficient_funds() -> ApiError:
    """The requester's available balance does not cover what the call needs."""
    return ApiError(
        "InsufficientFunds",
        "This Requester has insufficient funds in their account to complete this transaction.",
    )


def _claim(call: Call, params: dict[str, Any]) -> Any:
    token = params.get("UniqueRequestToken")
    try:
        return tokens.claim(requester=call.requester, operation=call.operation, token=token, now=call.now)
    except tokens.AlreadyProcessed as used:
        raise ApiError(
            "HITAlreadyExists",
            f'The idempotency token "{used.token}" has already been processed. HITId: {used.reference}',
        ) from None


def _hit_type(call: Call, params: dict[str, Any]) -> HITType:
    check_length("Title", params["Title"], 1, 128)
    check_length("Description", params["Description"], 1, 2000)
    check_length("Keywords", params.get("Keywords", ""), 0, 1000)
    check_range("AssignmentDurationInSeconds", params["AssignmentDurationInSeconds"], 30, YEAR)
    approval = params.get("AutoApprovalDelayInSeconds", MONTH)
    check_range("AutoApprovalDelayInSeconds", approval, 0, MONTH)
    requirements = read_requirements(call, params.get("QualificationRequirements", []))
    check_still_active(call, requirements)
    return hit_services.register_hit_type(
        requester=call.requester,
        params=TypeParams(
            title=params["Title"],
            description=params["Description"],
            keywords=params.get("Keywords", ""),
            reward_cents=_reward(params["Reward"]),
            assignment_seconds=params["AssignmentDurationInSeconds"],
            auto_approval_seconds=approval,
            qualification_requirements=requirements,
        ),
        now=call.now,
    )


def _reward(text: str) -> int:
    try:
        cents = parse_usd(text)
    except ValueError as error:
        raise invalid(str(error)) from None
    check_range("Reward (in cents)", cents, 0, 1_000_000)
    return cents


def _create(call: Call, params: dict[str, Any], hit_type: HITType, claimed: Any) -> dict[str, Any]:
    for name in _POLICIES:
        if params.get(name):
            raise ApiError(
                "NotImplemented",
                f"This marketplace runs no review policies, so {name} is refused and nothing was done. "
                "Create the HIT without it, and approve or reject from your own script.",
            )
    check_range("LifetimeInSeconds", params["LifetimeInSeconds"], 30, YEAR)
    check_range("MaxAssignments", params.get("MaxAssignments", 1), 1, MAX_SLOTS)
    annotation = params.get("RequesterAnnotation")
    _check_annotation(annotation or "")
    hit = _save(call, hit_type, params, annotation)
    tokens.settle(claimed, hit.hit_id)
    return {"HIT": render_hits([hit], call.now)[0]}


def _check_annotation(text: str) -> None:
    check_length("RequesterAnnotation", text, 0, MAX_ANNOTATION)
    if not text.isascii():
        raise invalid("RequesterAnnotation may hold ASCII characters only.")


def _save(call: Call, hit_type: HITType, params: dict[str, Any], annotation: str | None) -> HIT:
    xml, question = find_question(call, params)
    wanted = HITParams(
        question_xml=xml,
        question=question,
        lifetime_seconds=params["LifetimeInSeconds"],
        max_assignments=params.get("MaxAssignments", 1),
        annotation=annotation,
    )
    try:
        return hit_services.create_hit(hit_type=hit_type, params=wanted, now=call.now)
    except ledger.InsufficientFunds:
        raise insufficient_funds() from None


def _refuse_disposed(hit: HIT) -> None:
    if hit.disposed_at is not None:
        raise ApiError("InvalidHITState", "This HIT is currently in the state 'Disposed'.")
