"""Messages for a worker about why work is closed to them, and how it can be opened."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hits.domain.workers.requirements import (
    LIST_COMPARATORS,
    LOCALE,
    NUMBER_APPROVED,
    PERCENT_ABANDONED,
    PERCENT_APPROVED,
    PERCENT_REJECTED,
    PERCENT_RETURNED,
    PERCENT_SUBMITTED,
    Comparator,
    Requirement,
)
from hits.domain.workers.subdivisions import join_place, place_name_or_code, split_place

# The platform appends this to the reason of a bonus, so that it can find the payment later.
_REFERENCE_SUFFIX_PATTERN = re.compile(r"(?<=\S)\s+Reference [0-9a-f]{16}\s*\Z")


def remove_bonus_reference(reason: str) -> str:
    """Return a bonus's reason without the requester's reference at its end."""
    return _REFERENCE_SUFFIX_PATTERN.sub("", reason)


@dataclass(frozen=True)
class ClosureReason:
    """Why work is closed to a worker, with the requester's ``instructions`` for opening it.

    ``requestable_type_id`` is the public id of a qualification that would open it and can be requested.
    """

    text: str
    instructions: str = ""
    needs_country: bool = False
    requestable_type_id: str = ""

    @property
    def message(self) -> str:
        """Text and instructions as one message."""
        return f"{self.text} {self.instructions}".rstrip()


@dataclass(frozen=True)
class CustomQualification:
    """The description of a requester's own qualification for one worker.

    ``revoked_at`` and ``revoke_reason`` are set if the worker's qualification was revoked.
    """

    name: str
    instructions: str
    revoked_at: datetime | None = None
    revoke_reason: str = ""
    can_be_requested: bool = False


@dataclass(frozen=True)
class WorkerFacts:
    """A worker's qualification values and custom qualifications by type id, country, and counts of submissions."""

    values: Mapping[str, int]
    country: str
    approved_count: int
    decided_count: int
    custom_qualifications: Mapping[str, CustomQualification]
    subdivision: str = ""


def format_day(moment: datetime) -> str:
    """``"3 Nov 2026"``, in UTC."""
    return f"{moment.day} {moment:%b %Y}"


def explain_unmet_requirement(requirement: Requirement, facts: WorkerFacts) -> ClosureReason:
    """Return why an unmet requirement closes work to this worker."""
    explain = _EXPLAINERS.get(requirement.type_id, _explain_custom_qualification)
    return explain(requirement, facts)


def explain_block(requester_name: str, since: datetime, reason: str) -> ClosureReason:
    """Return the reason that a blocked worker reads at each group of the requester's HITs."""
    return ClosureReason(
        f"{requester_name} has given you no new work since {format_day(since)}. Their reason: {_quote(reason)}",
        "You can still submit tasks that you started.",
    )


def _explain_number_approved(requirement: Requirement, facts: WorkerFacts) -> ClosureReason:
    current = f"You have {facts.approved_count}."
    minimum = requirement.integer_values[0]
    if requirement.comparator is Comparator.GREATER_THAN:
        minimum += 1
    if requirement.comparator in {Comparator.GREATER_THAN, Comparator.GREATER_THAN_OR_EQUAL_TO}:
        noun = "submission" if minimum == 1 else "submissions"
        return ClosureReason(f"Open after {minimum} approved {noun}. {current}")
    return ClosureReason(
        f"Only for workers with {_describe_range(requirement)} approved submissions. {current}"
    )


def _explain_percent_approved(requirement: Requirement, facts: WorkerFacts) -> ClosureReason:
    current = facts.values[PERCENT_APPROVED]
    return ClosureReason(
        f"Only for workers with {_describe_range(requirement, '%')} of their decided submissions approved. "
        f"You have {current}%, {facts.approved_count} of {facts.decided_count}."
    )


def _explain_percent_rejected(requirement: Requirement, facts: WorkerFacts) -> ClosureReason:
    rejected_count = facts.decided_count - facts.approved_count
    return ClosureReason(
        f"Only for workers with {_describe_range(requirement, '%')} of their decided submissions rejected. "
        f"You have {facts.values[PERCENT_REJECTED]}%, {rejected_count} of {facts.decided_count}."
    )


def _explain_outcome_percent(requirement: Requirement, facts: WorkerFacts) -> ClosureReason:
    return ClosureReason(
        f"Only for workers who {_OUTCOME_VERBS[requirement.type_id]} {_describe_range(requirement, '%')} of their "
        "accepted tasks. "
        f"You have {facts.values[requirement.type_id]}%."
    )


def _explain_country(requirement: Requirement, facts: WorkerFacts) -> ClosureReason:
    has_states = any(split_place(place)[1] for place in requirement.locales)
    places = ("; " if has_states else ", ").join(sorted(map(place_name_or_code, requirement.locales)))
    is_inclusive = requirement.comparator in {Comparator.EQUAL_TO, Comparator.IN}
    rule = f"Only for workers in: {places}." if is_inclusive else f"Not for workers in: {places}."
    if not facts.country:
        return ClosureReason(f"{rule} Enter your country first.", needs_country=True)
    if not facts.subdivision and any(place.startswith(f"{facts.country}-") for place in requirement.locales):
        return ClosureReason(f"{rule} Enter your state first.", needs_country=True)
    return ClosureReason(
        f"{rule} Your country is {place_name_or_code(join_place(facts.country, facts.subdivision))}."
    )


def _explain_custom_qualification(requirement: Requirement, facts: WorkerFacts) -> ClosureReason:
    qualification = facts.custom_qualifications[requirement.type_id]
    if requirement.comparator is Comparator.DOES_NOT_EXIST:
        text = f"Not for workers who hold the qualification “{qualification.name}”."
        return ClosureReason(text, qualification.instructions)
    requestable_type_id = requirement.type_id if qualification.can_be_requested else ""
    if qualification.revoked_at:
        reason = f" The reason: {_quote(qualification.revoke_reason)}" if qualification.revoke_reason else ""
        text = f"“{qualification.name}” was taken away from you on {format_day(qualification.revoked_at)}.{reason}"
        return ClosureReason(text, qualification.instructions, requestable_type_id=requestable_type_id)
    required_value = (
        "" if requirement.comparator is Comparator.EXISTS else f" at {_describe_range(requirement)}"
    )
    value = facts.values.get(requirement.type_id)
    current = "You do not hold it yet." if value is None else f"You hold it at {value}."
    return ClosureReason(
        f"Only for workers who hold the qualification “{qualification.name}”{required_value}. {current}",
        qualification.instructions,
        requestable_type_id=requestable_type_id,
    )


def _describe_range(requirement: Requirement, unit: str = "") -> str:
    templates = {
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
    value_text = _join_with_or(values) if requirement.comparator in LIST_COMPARATORS else values[0]
    return templates[requirement.comparator].format(value_text)


def _join_with_or(values: Iterable[str]) -> str:
    *others, last = values
    return f"{', '.join(others)} or {last}" if others else last


def _quote(text: str) -> str:
    stripped = text.strip()
    return f"“{stripped}”" if stripped.endswith((".", "?", "!")) else f"“{stripped}”."


_OUTCOME_VERBS = {
    PERCENT_SUBMITTED: "submitted",
    PERCENT_RETURNED: "returned",
    PERCENT_ABANDONED: "ran out of time on",
}
_EXPLAINERS: Mapping[str, Callable[[Requirement, WorkerFacts], ClosureReason]] = {
    NUMBER_APPROVED: _explain_number_approved,
    PERCENT_APPROVED: _explain_percent_approved,
    PERCENT_REJECTED: _explain_percent_rejected,
    PERCENT_SUBMITTED: _explain_outcome_percent,
    PERCENT_RETURNED: _explain_outcome_percent,
    PERCENT_ABANDONED: _explain_outcome_percent,
    LOCALE: _explain_country,
}
