"""QualificationRequirements of a HIT type: which conditions this marketplace can ask, and of what."""

from __future__ import annotations

from typing import Any

from hits.domain.workers.countries import is_country
from hits.domain.workers.requirements import (
    ABOUT_HOLDING,
    COMPUTED,
    LOCALE,
    MAX_REQUIREMENTS,
    SYSTEM_HELD,
    Requirement,
    RequirementError,
)
from hits.domain.workers.subdivisions import SUBDIVISIONS, is_place, join_place
from hits.marketplace.errors import ApiError, invalid
from hits.marketplace.models import QualificationType, TypeStatus
from hits.marketplace.requirements import json_of, requirement_of

from .lookup import find_qualification_type
from .registry import Call
from .rules import check_int32

_BUILT_IN = {LOCALE, *COMPUTED, *SYSTEM_HELD}


def read_requirements(call: Call, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the conditions in one canonical form, so that equal ones in any order make one HIT type.

    Raises ApiError for what the API forbids, or for a type that the caller does not own.
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
    if type_id not in _BUILT_IN:
        find_qualification_type(call, type_id)
    return requirement


def _check_place(place: dict[str, Any]) -> None:
    country, subdivision = place["Country"], place.get("Subdivision", "")
    if not is_country(country):
        raise invalid(f"{country!a} is no country code of ISO 3166-1 alpha-2 in capitals.")
    if not is_place(join_place(country, subdivision)):
        raise invalid(
            f"{subdivision!a} is no Subdivision of {country} that is told apart here. "
            f"There are those of {', '.join(SUBDIVISIONS)}, by ISO 3166-2 in capitals, such as CA."
        )
