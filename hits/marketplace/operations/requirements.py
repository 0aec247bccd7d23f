"""Check the QualificationRequirements of a HIT type."""

from typing import Any

from hits.domain.workers.countries import is_country
from hits.domain.workers.requirements import (
    COMPUTED,
    HOLDING_COMPARATORS,
    LOCALE,
    MAX_REQUIREMENTS,
    SYSTEM_HELD,
    Requirement,
    RequirementError,
)
from hits.domain.workers.subdivisions import SUBDIVISIONS, is_place, join_place
from hits.marketplace.errors import ApiError, validation_error
from hits.marketplace.models import QualificationType, TypeStatus
from hits.marketplace.requirements import parse_requirement, render_requirement

from .limits import check_int32
from .lookup import find_qualification_type
from .registry import Call

_BUILT_IN = {LOCALE, *COMPUTED, *SYSTEM_HELD}


def read_canonical_requirements(call: Call, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the requirements in canonical form, so that equal ones in any order make one HIT type.

    Raises ApiError for a requirement that the API forbids, or for a type that the caller does not own.
    """
    if len(rows) > MAX_REQUIREMENTS:
        raise validation_error(f"A HIT type has at most {MAX_REQUIREMENTS} QualificationRequirements.")
    return sorted((render_requirement(_read_requirement(call, row)) for row in rows), key=str)


def check_qualification_types_active(call: Call, rows: list[dict[str, Any]]) -> None:
    """Raise ApiError for a HIT that requires an inactive qualification type."""
    inactive = QualificationType.objects.filter(
        requester=call.requester,
        type_id__in=[row["QualificationTypeId"] for row in rows],
        status=TypeStatus.INACTIVE,
    )
    for qualification_type in inactive:
        raise ApiError(
            "InvalidQualificationTypeState",
            f"QualificationType {qualification_type.type_id} is Inactive. No HIT can be created that requires it.",
        )


def _read_requirement(call: Call, row: dict[str, Any]) -> Requirement:
    type_id = row["QualificationTypeId"]
    for value in row.get("IntegerValues", ()):
        check_int32("IntegerValues", value)
    for place in row.get("LocaleValues", ()):
        _check_place(place)
    try:
        requirement = parse_requirement(row)
    except RequirementError as error:
        raise validation_error(f"QualificationRequirement {type_id}: {error}") from None
    if type_id in COMPUTED and requirement.comparator in HOLDING_COMPARATORS:
        raise validation_error(f"{COMPUTED[type_id]} is computed for every worker. Compare it with a number.")
    if type_id not in _BUILT_IN:
        find_qualification_type(call, type_id)
    return requirement


def _check_place(place: dict[str, Any]) -> None:
    country, subdivision = place["Country"], place.get("Subdivision", "")
    if not is_country(country):
        raise validation_error(f"{country!a} is not an ISO 3166-1 alpha-2 country code in capitals.")
    if not is_place(join_place(country, subdivision)):
        raise validation_error(
            f"{subdivision!a} is not a known Subdivision of {country}. Only those of {', '.join(SUBDIVISIONS)} are "
            "known, as ISO 3166-2 codes in capitals, such as CA."
        )
