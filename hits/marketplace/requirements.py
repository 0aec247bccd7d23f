"""Convert qualification requirements between the API's JSON, which rows store, and ``Requirement``."""

from typing import Any

from hits.domain.workers.requirements import Comparator, GuardedActions, Requirement
from hits.domain.workers.subdivisions import join_place, split_place


def parse_requirement(row: dict[str, Any]) -> Requirement:
    """Return the requirement of a JSON object. Raises RequirementError for an invalid one.

    ``RequiredToPreview`` is the older form of PreviewAndAccept; ActionsGuarded wins when both are given.
    """
    legacy = GuardedActions.PREVIEW if row.get("RequiredToPreview") else GuardedActions.ACCEPT
    return Requirement(
        type_id=row["QualificationTypeId"],
        comparator=Comparator(row["Comparator"]),
        integer_values=tuple(row.get("IntegerValues", ())),
        locales=tuple(
            join_place(place["Country"], place.get("Subdivision", ""))
            for place in row.get("LocaleValues", ())
        ),
        guards=GuardedActions(row.get("ActionsGuarded", legacy)),
    )


def render_requirement(requirement: Requirement) -> dict[str, Any]:
    """Return a requirement as API JSON. Equal requirements give equal JSON."""
    row: dict[str, Any] = {
        "QualificationTypeId": requirement.type_id,
        "Comparator": requirement.comparator.value,
    }
    if requirement.integer_values:
        row["IntegerValues"] = list(requirement.integer_values)
    if requirement.locales:
        row["LocaleValues"] = [_render_locale(place) for place in requirement.locales]
    row["RequiredToPreview"] = requirement.guards is not GuardedActions.ACCEPT
    row["ActionsGuarded"] = requirement.guards.value
    return row


def _render_locale(place: str) -> dict[str, str]:
    country, subdivision = split_place(place)
    return {"Country": country} | ({"Subdivision": subdivision} if subdivision else {})
