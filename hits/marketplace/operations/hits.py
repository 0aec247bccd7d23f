"""CreateHITType, CreateHIT, CreateHITWithHITType, CreateAdditionalAssignmentsForHIT, UpdateHITTypeOfHIT."""

from typing import Any

from hits.marketplace.errors import ApiError, validation_error
from hits.marketplace.models import HIT, HITType
from hits.marketplace.services import hits as hit_services
from hits.marketplace.services import tokens
from hits.marketplace.services.hits import HITParams, HITTypeParams

from .limits import check_length, check_range, parse_cents
from .lookup import check_not_disposed, claim_token, find_hit_type, lock_hit
from .questions import resolve_question
from .registry import Call, operation
from .render import render_hits
from .requirements import check_qualification_types_active, read_canonical_requirements

YEAR_SECONDS = 31_536_000
MONTH_SECONDS = 2_592_000
MAX_SLOTS = 10_000
MAX_ANNOTATION_LENGTH = 255
_REVIEW_POLICIES = ("AssignmentReviewPolicy", "HITReviewPolicy")


@operation("CreateHITType")
def create_hit_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the id of the HIT type with these values; equal values give the same id."""
    return {"HITTypeId": _register_hit_type(call, params).hit_type_id}


@operation("CreateHIT")
def create_hit(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Create a HIT and, if needed, its type. A token repeated within 24 hours creates nothing."""
    token = _claim_token(call, params)
    return _create_hit(call, params, _register_hit_type(call, params), token)


@operation("CreateHITWithHITType")
def create_hit_with_hit_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Create a HIT of an existing type."""
    token = _claim_token(call, params)
    hit_type = find_hit_type(call, params["HITTypeId"])
    check_qualification_types_active(call, hit_type.qualification_requirements)
    return _create_hit(call, params, hit_type, token)


@operation("CreateAdditionalAssignmentsForHIT")
def create_additional_assignments(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Add slots to a HIT. Nine cannot become ten because the fee would change."""
    token = _claim_token(call, params)
    hit = lock_hit(call, params["HITId"])
    count = params["NumberOfAdditionalAssignments"]
    check_range("NumberOfAdditionalAssignments", count, 1, MAX_SLOTS)
    check_not_disposed(hit)
    hit_services.add_assignments(hit=hit, count=count, now=call.now)
    tokens.record_token_reference(token, hit.hit_id)
    return {}


@operation("UpdateHITTypeOfHIT")
def update_hit_type_of_hit(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Give a HIT another type: title, pay, times, requirements and the held sum change.

    Another reward or fee is refused after a worker took one of its tasks: workers get the reward they accepted.
    """
    hit = lock_hit(call, params["HITId"])
    hit_type = find_hit_type(call, params["HITTypeId"])
    check_qualification_types_active(call, hit_type.qualification_requirements)
    check_not_disposed(hit)
    hit_services.change_hit_type(hit=hit, hit_type=hit_type, now=call.now)
    return {}


def _claim_token(call: Call, params: dict[str, Any]) -> Any:
    return claim_token(call, params, "HITAlreadyExists", " HITId: {}")


def _register_hit_type(call: Call, params: dict[str, Any]) -> HITType:
    check_length("Title", params["Title"], 1, 128)
    check_length("Description", params["Description"], 1, 2000)
    check_length("Keywords", params.get("Keywords", ""), 0, 1000)
    check_range("AssignmentDurationInSeconds", params["AssignmentDurationInSeconds"], 30, YEAR_SECONDS)
    approval_delay = params.get("AutoApprovalDelayInSeconds", MONTH_SECONDS)
    check_range("AutoApprovalDelayInSeconds", approval_delay, 0, MONTH_SECONDS)
    requirements = read_canonical_requirements(call, params.get("QualificationRequirements", []))
    check_qualification_types_active(call, requirements)
    return hit_services.register_hit_type(
        requester=call.requester,
        params=HITTypeParams(
            title=params["Title"],
            description=params["Description"],
            keywords=params.get("Keywords", ""),
            reward_cents=parse_cents("Reward", params["Reward"], 0, 1_000_000),
            assignment_seconds=params["AssignmentDurationInSeconds"],
            auto_approval_seconds=approval_delay,
            qualification_requirements=requirements,
        ),
        now=call.now,
    )


def _create_hit(call: Call, params: dict[str, Any], hit_type: HITType, token: Any) -> dict[str, Any]:
    for name in _REVIEW_POLICIES:
        if params.get(name):
            raise ApiError(
                "NotImplemented",
                f"This marketplace has no review policies, so {name} is refused. Nothing was done. "
                "Create the HIT without it, and approve or reject from your own script.",
            )
    check_range("LifetimeInSeconds", params["LifetimeInSeconds"], 30, YEAR_SECONDS)
    check_range("MaxAssignments", params.get("MaxAssignments", 1), 1, MAX_SLOTS)
    annotation = params.get("RequesterAnnotation")
    _check_annotation(annotation or "")
    hit = _save_hit(call, hit_type, params, annotation)
    tokens.record_token_reference(token, hit.hit_id)
    return {"HIT": render_hits([hit], call.now)[0]}


def _check_annotation(text: str) -> None:
    check_length("RequesterAnnotation", text, 0, MAX_ANNOTATION_LENGTH)
    if not text.isascii():
        raise validation_error("RequesterAnnotation may hold ASCII characters only.")


def _save_hit(call: Call, hit_type: HITType, params: dict[str, Any], annotation: str | None) -> HIT:
    xml, question = resolve_question(call, params)
    hit_params = HITParams(
        question_xml=xml,
        question=question,
        lifetime_seconds=params["LifetimeInSeconds"],
        max_assignments=params.get("MaxAssignments", 1),
        annotation=annotation,
    )
    return hit_services.create_hit(hit_type=hit_type, params=hit_params, now=call.now)
