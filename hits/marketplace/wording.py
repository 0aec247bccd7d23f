"""Why a piece of work is closed to somebody and what would open it, in sentences fit for a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hits.domain.workers.requirements import (
    LOCALE,
    NUMBER_APPROVED,
    PERCENT_ABANDONED,
    PERCENT_APPROVED,
    PERCENT_REJECTED,
    PERCENT_RETURNED,
    PERCENT_SUBMITTED,
    TAKES_SEVERAL,
    Comparator,
    Requirement,
)
from hits.domain.workers.subdivisions import join_place, place_name, split_place

# What our own requester side ends a bonus's reason with, to find the payment again.
_REFERENCE = re.compile(r"(?<=\S)\s+Reference [0-9a-f]{16}\s*\Z")


def without_reference(reason: str) -> str:
    """Return a bonus's reason as its worker reads it: without the requester's key at its end."""
    return _REFERENCE.sub("", reason)


@dataclass(frozen=True)
class Reason:
    """One sentence of why, and ``how`` the requester says that it is opened.

    ``asks_for`` is the public id of a qualification that would open it and that can be asked for.
    """

    text: str
    how: str = ""
    needs_country: bool = False
    asks_for: str = ""

    @property
    def sentence(self) -> str:
        """Both parts as one text."""
        return f"{self.text} {self.how}".rstrip()


@dataclass(frozen=True)
class Named:
    """A requester's own qualification as a worker may read of it.

    ``taken_at`` is set for one that the worker held and lost, with the reason given. ``can_be_asked_for``: its page
    takes requests.
    """

    name: str
    how: str
    taken_at: datetime | None = None
    taken_because: str = ""
    can_be_asked_for: bool = False


@dataclass(frozen=True)
class Facts:
    """What the sentences speak of: the worker's values and country, work decided, and names of types."""

    values: Mapping[str, int]
    country: str
    approved: int
    decided: int
    named: Mapping[str, Named]
    subdivision: str = ""


def day(moment: datetime) -> str:
    """``"3 Nov 2026"``, in UTC."""
    return f"{moment.day} {moment:%b %Y}"


def reason_for(requirement: Requirement, facts: Facts) -> Reason:
    """Return why an unmet requirement closes work to this worker."""
    special = _SPECIAL.get(requirement.type_id, _own)
    return special(requirement, facts)


def blocked(requester: str, since: datetime, reason: str) -> Reason:
    """Return what a blocked worker reads at each of the requester's groups."""
    return Reason(
        f"{requester} gives you no new work since {day(since)}. Their reason: {_quoted(reason)}",
        "What you have started may still be submitted.",
    )


def _number_approved(requirement: Requirement, facts: Facts) -> Reason:
    have = f"You have {facts.approved}."
    first = requirement.integer_values[0]
    if requirement.comparator is Comparator.GREATER_THAN:
        first += 1
    if requirement.comparator in {Comparator.GREATER_THAN, Comparator.GREATER_THAN_OR_EQUAL_TO}:
        noun = "submission" if first == 1 else "submissions"
        return Reason(f"Open after {first} approved {noun}. {have}")
    return Reason(f"Only for people whose approved submissions number {_range(requirement)}. {have}")


def _percent_approved(requirement: Requirement, facts: Facts) -> Reason:
    have = facts.values[PERCENT_APPROVED]
    return Reason(
        f"Only for people with {_range(requirement, '%')} of their decided submissions approved. "
        f"You have {have}%, {facts.approved} of {facts.decided}."
    )


def _percent_rejected(requirement: Requirement, facts: Facts) -> Reason:
    return Reason(
        f"Only for people with {_range(requirement, '%')} of their decided submissions rejected. "
        f"You have {facts.values[PERCENT_REJECTED]}%, {facts.decided - facts.approved} of {facts.decided}."
    )


def _percent_ended(requirement: Requirement, facts: Facts) -> Reason:
    return Reason(
        f"Only for people who {_ENDINGS[requirement.type_id]} {_range(requirement, '%')} of the tasks they took. "
        f"You have {facts.values[requirement.type_id]}%."
    )


def _country(requirement: Requirement, facts: Facts) -> Reason:
    in_parts = any(split_place(place)[1] for place in requirement.locales)
    places = ("; " if in_parts else ", ").join(sorted(place_name(place) for place in requirement.locales))
    inside = requirement.comparator in {Comparator.EQUAL_TO, Comparator.IN}
    rule = (
        f"Only for people who work from: {places}." if inside else f"Not for people who work from: {places}."
    )
    if not facts.country:
        return Reason(f"{rule} Say which country you work from first.", needs_country=True)
    if not facts.subdivision and any(place.startswith(f"{facts.country}-") for place in requirement.locales):
        return Reason(f"{rule} Say which state you work from first.", needs_country=True)
    return Reason(f"{rule} Your country is {place_name(join_place(facts.country, facts.subdivision))}.")


def _own(requirement: Requirement, facts: Facts) -> Reason:
    named = facts.named[requirement.type_id]
    if requirement.comparator is Comparator.DOES_NOT_EXIST:
        return Reason(f"Not for people who hold “{named.name}”.", named.how)
    asks_for = requirement.type_id if named.can_be_asked_for else ""
    if named.taken_at:
        because = f" The reason: {_quoted(named.taken_because)}" if named.taken_because else ""
        text = f"“{named.name}” was taken away from you on {day(named.taken_at)}.{because}"
        return Reason(text, named.how, asks_for=asks_for)
    wanted = "" if requirement.comparator is Comparator.EXISTS else f" at {_range(requirement)}"
    value = facts.values.get(requirement.type_id)
    have = "You do not hold it yet." if value is None else f"You hold it at {value}."
    return Reason(f"Only for people who hold “{named.name}”{wanted}. {have}", named.how, asks_for=asks_for)


def _range(requirement: Requirement, unit: str = "") -> str:
    words = {
        Comparator.LESS_THAN: "less than {}",
        Comparator.LESS_THAN_OR_EQUAL_TO: "{} or less",
        Comparator.GREATER_THAN: "more than {}",
        Comparator.GREATER_THAN_OR_EQUAL_TO: "{} or more",
        Comparator.EQUAL_TO: "exactly {}",
        Comparator.NOT_EQUAL_TO: "any value but {}",
        Comparator.IN: "{}",
        Comparator.NOT_IN: "any value but {}",
    }
    values = [f"{value}{unit}" for value in requirement.integer_values]
    shown = _either(values) if requirement.comparator in TAKES_SEVERAL else values[0]
    return words[requirement.comparator].format(shown)


def _either(values: Iterable[str]) -> str:
    *others, last = values
    return f"{', '.join(others)} or {last}" if others else last


def _quoted(text: str) -> str:
    closed = text.strip()
    return f"“{closed}”" if closed.endswith((".", "?", "!")) else f"“{closed}”."


_ENDINGS = {
    PERCENT_SUBMITTED: "submitted",
    PERCENT_RETURNED: "returned",
    PERCENT_ABANDONED: "ran out of time on",
}
_SPECIAL: Mapping[str, Callable[[Requirement, Facts], Reason]] = {
    NUMBER_APPROVED: _number_approved,
    PERCENT_APPROVED: _percent_approved,
    PERCENT_REJECTED: _percent_rejected,
    PERCENT_SUBMITTED: _percent_ended,
    PERCENT_RETURNED: _percent_ended,
    PERCENT_ABANDONED: _percent_ended,
    LOCALE: _country,
}
