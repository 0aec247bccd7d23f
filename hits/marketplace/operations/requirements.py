"""QualificationRequirements of a HIT type: which conditions this marketplace can ask, and of what."""

from __future__ import annotations

from typing import Any

from hits.domain.countries import is_country
from hits.domain.qualifications import (
    ABOUT_HOLDING,
    LOCALE,
    MAX_REQUIREMENTS,
    NUMBER_APPROVED,
    PERCENT_APPROVED,
    Requirement,
    RequirementError,
)
from hits.marketplace.errors import ApiError, invalid, not_served
from hits.marketplace.models import QualificationType, TypeStatus
from hits.marketplace.requirements import json_of, requirement_of

from .lookup import find_qualification_type
from .registry import Call
from .rules import check_int32

COMPUTED = {
    NUMBER_APPROVED: "Worker_NumberHITsApproved",
    PERCENT_APPROVED: "Worker_PercentAssignmentsApproved",
}
UNSERVED = {
    "00000000000000000060": "Worker_Adult",
    "00000000000000000000": "Worker_PercentAssignmentsSubmitted",
    "00000000000000000070": "Worker_PercentAssignmentsAbandoned",
    "000000000000000000E0": "Worker_PercentAssignmentsReturned",
    "000000000000000000S0": "Worker_PercentAssignmentsRejected",
    "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH": "Masters",
    "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6": "Masters",
}


def read_requirements(call: Call, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the conditions in one canonical form, so that equal ones in any order make one HIT type.

    Raises ApiError for what the API forbids, this marketplace does not serve, or the caller does not own.
    """
    if len(rows) > MAX_REQUIREMENTS:
        raise invalid(f"A HIT type has at most {MAX_REQUIREMENTS} QualificationRequirements.")
    return sorted((json_of(_read(call, row)) for row in rows), key=str)


def check_still_active(call: Call, rows: list[dict[str, Any]]) -> None:
    """Refuse a HIT that requires a qualification type which was made inactive meanwhile."""
    inactive = QualificationType.objects.filter(
        requester=call.requester,
        type_id__in=[row["QualificationTypeId"] for row in rows],
        status=TypeStatus.INACTIVE,
    )
    for kind in inactive:
        raise ApiError(
            "InvalidQualificationTypeState",
            f"QualificationType {kind.type_id} is Inactive. No HIT can be created that requires it.",
        )


def _read(call: Call, row: dict[str, Any]) -> Requirement:
    type_id = row["QualificationTypeId"]
    if type_id in UNSERVED:
        raise not_served(f"the system qualification {UNSERVED[type_id]}")
    for value in row.get("IntegerValues", ()):
        check_int32("IntegerValues", value)
    for place in row.get("LocaleValues", ()):
        _check_place(place)
    try:
        requirement = requirement_of(row)
    except RequirementError as error:
        raise invalid(f"QualificationRequirement {type_id}: {error}") from None
    if type_id in COMPUTED and requirement.comparator in ABOUT_HOLDING:
        raise invalid(f"{COMPUTED[type_id]} is computed for everybody: compare it with a number.")
    if type_id not in COMPUTED and type_id != LOCALE:
        find_qualification_type(call, type_id)
    return requirement


def _check_place(place: dict[str, Any]) -> None:
    if place.get("Subdivision"):
        raise not_served("LocaleValues with a Subdivision")
    if not is_country(place["Country"]):
        raise invalid(f"{place['Country']!a} is no country code of ISO 3166-1 alpha-2 in capitals.")
