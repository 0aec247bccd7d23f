"""CreateHITType, CreateHIT, CreateHITWithHITType, CreateAdditionalAssignmentsForHIT."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from hits.domain import external_question as xq
from hits.domain.money import parse_usd
from hits.marketplace.errors import ApiError, invalid, not_served
from hits.marketplace.models import HIT, HITType
from hits.marketplace.services import hits as hit_services
from hits.marketplace.services import ledger, tokens
from hits.marketplace.services.hits import HITParams, TypeParams

from .lookup import find_hit, find_hit_type
from .registry import Call, operation
from .render import render_hits
from .requirements import check_still_active, read_requirements
from .rules import check_length, check_range

YEAR = 31_536_000
MONTH = 2_592_000
MAX_SLOTS = 10_000
_UNSERVED = ("AssignmentReviewPolicy", "HITReviewPolicy", "HITLayoutId", "HITLayoutParameters")
_LOCAL_NAMES = {"HTMLQuestion", "QuestionForm"}


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
    hit = find_hit(call, params["HITId"])
    count = params["NumberOfAdditionalAssignments"]
    check_range("NumberOfAdditionalAssignments", count, 1, MAX_SLOTS)
    if hit.disposed_at is not None:
        raise ApiError("InvalidHITState", "This HIT is currently in the state 'Disposed'.")
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
    for name in _UNSERVED:
        if params.get(name):
            raise not_served(name)
    check_range("LifetimeInSeconds", params["LifetimeInSeconds"], 30, YEAR)
    check_range("MaxAssignments", params.get("MaxAssignments", 1), 1, MAX_SLOTS)
    annotation = params.get("RequesterAnnotation")
    check_length("RequesterAnnotation", annotation or "", 0, 255)
    hit = _save(call, hit_type, params, annotation)
    tokens.settle(claimed, hit.hit_id)
    return {"HIT": render_hits([hit], call.now)[0]}


def _save(call: Call, hit_type: HITType, params: dict[str, Any], annotation: str | None) -> HIT:
    wanted = HITParams(
        question_xml=params.get("Question", ""),
        question=_question(params.get("Question", "")),
        lifetime_seconds=params["LifetimeInSeconds"],
        max_assignments=params.get("MaxAssignments", 1),
        annotation=annotation,
    )
    try:
        return hit_services.create_hit(hit_type=hit_type, params=wanted, now=call.now)
    except ledger.InsufficientFunds:
        raise insufficient_funds() from None


def _question(xml: str) -> xq.ExternalQuestion:
    if not xml:
        raise ApiError("MissingParameter", "Either a Question or a HITLayoutId must be provided.")
    try:
        question = xq.parse_external_question(xml)
        xq.check_url(question.url, http_origin=settings.HIT_ORIGIN)
    except xq.QuestionTooLong as error:
        raise invalid(str(error), "InvalidParameterValue") from None
    except xq.QuestionNotXml as error:
        raise invalid(str(error), "XMLParseError") from None
    except xq.QuestionInvalid as error:
        for name in _LOCAL_NAMES:
            if f"<{name}" in xml:
                raise not_served(name) from None
        raise invalid(str(error), "XMLValidationError") from None
    return question
