"""Qualification requirements between the API's JSON, which rows keep, and plain conditions."""

from __future__ import annotations

from typing import Any

from hits.domain.workers.requirements import Comparator, Guards, Requirement
from hits.domain.workers.subdivisions import join_place, split_place


def requirement_of(row: dict[str, Any]) -> Requirement:
    """Return the condition that a JSON object states. Raises RequirementError when it states none.

    ``RequiredToPreview`` is the older way to say PreviewAndAccept; ActionsGuarded wins when both are given.
    """
    legacy = Guards.PREVIEW if row.get("RequiredToPreview") else Guards.ACCEPT
    return Requirement(
        type_id=row["QualificationTypeId"],
        comparator=Comparator(row["Comparator"]),
        integer_values=tuple(row.get("IntegerValues", ())),
        locales=tuple(
            join_place(place["Country"], place.get("Subdivision", ""))
            for place in row.get("LocaleValues", ())
        ),
        guards=Guards(row.get("ActionsGuarded", legacy)),
    )


def json_of(requirement: Requirement) -> dict[str, Any]:
    """Return a condition in the API's shape; the same condition always in the same words."""
    row: dict[str, Any] = {
        "QualificationTypeId": requirement.type_id,
        "Comparator": requirement.comparator.value,
    }
    if requirement.integer_values:
        row["IntegerValues"] = list(requirement.integer_values)
    if requirement.locales:
        row["LocaleValues"] = [_locale(place) for place in requirement.locales]
    row["RequiredToPreview"] = requirement.guards is not Guards.ACCEPT
    row["ActionsGuarded"] = requirement.guards.value
    return row


def _locale(place: str) -> dict[str, str]:
    country, subdivision = split_place(place)
    return {"Country": country} | ({"Subdivision": subdivision} if subdivision else {})
