"""Decide who may work on a task: requirements and their comparison, as plain data.

The marketplace decides before it assigns a task, and the platform when a page is opened. From the same facts, both
reach the same decision.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_SUBMITTED = "00000000000000000000"
PERCENT_ABANDONED = "00000000000000000070"
PERCENT_RETURNED = "000000000000000000E0"
PERCENT_APPROVED = "000000000000000000L0"
PERCENT_REJECTED = "000000000000000000S0"
ADULT = "00000000000000000060"
# Amazon's sandbox has its own id for Masters. Here both ids mean the same.
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
MASTERS_IDS = (MASTERS, MASTERS_SANDBOX)
# Computed from a worker's own work: everybody has a value, and nobody can be given one.
COMPUTED = {
    NUMBER_APPROVED: "Worker_NumberHITsApproved",
    PERCENT_SUBMITTED: "Worker_PercentAssignmentsSubmitted",
    PERCENT_ABANDONED: "Worker_PercentAssignmentsAbandoned",
    PERCENT_RETURNED: "Worker_PercentAssignmentsReturned",
    PERCENT_APPROVED: "Worker_PercentAssignmentsApproved",
    PERCENT_REJECTED: "Worker_PercentAssignmentsRejected",
}
# Held like other qualifications, with the same ids for all requesters: workers declare ADULT, the platform grants
# Masters.
SYSTEM_HELD = (ADULT, *MASTERS_IDS)

MAX_REQUIREMENTS = 10
MAX_INTEGERS = 15
MAX_LOCALES = 30


class Comparator(StrEnum):
    """The comparison of a held value. The values are those of the requester API."""

    LESS_THAN = "LessThan"
    LESS_THAN_OR_EQUAL_TO = "LessThanOrEqualTo"
    GREATER_THAN = "GreaterThan"
    GREATER_THAN_OR_EQUAL_TO = "GreaterThanOrEqualTo"
    EQUAL_TO = "EqualTo"
    NOT_EQUAL_TO = "NotEqualTo"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    IN = "In"
    NOT_IN = "NotIn"


HOLDING_COMPARATORS = frozenset({Comparator.EXISTS, Comparator.DOES_NOT_EXIST})
COUNTRY_COMPARATORS = frozenset(
    {Comparator.EQUAL_TO, Comparator.NOT_EQUAL_TO, Comparator.IN, Comparator.NOT_IN}
)
LIST_COMPARATORS = frozenset({Comparator.IN, Comparator.NOT_IN})


class GuardedActions(StrEnum):
    """The actions that an unmet requirement prevents. Each value includes the one before it."""

    ACCEPT = "Accept"
    PREVIEW = "PreviewAndAccept"
    DISCOVER = "DiscoverPreviewAndAccept"


_OPERATORS: Mapping[Comparator, Callable[[Any, Any], bool]] = {
    Comparator.LESS_THAN: operator.lt,
    Comparator.LESS_THAN_OR_EQUAL_TO: operator.le,
    Comparator.GREATER_THAN: operator.gt,
    Comparator.GREATER_THAN_OR_EQUAL_TO: operator.ge,
    Comparator.EQUAL_TO: operator.eq,
    Comparator.NOT_EQUAL_TO: operator.ne,
}


class RequirementError(ValueError):
    """An invalid requirement; the message names the rule that it breaks."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement. Only ``LOCALE`` has ``locales``: countries such as ``US``, parts such as ``US-CA``.

    Raises ``RequirementError`` for a comparator with missing or wrong values.
    """

    type_id: str
    comparator: Comparator
    integer_values: tuple[int, ...] = ()
    locales: tuple[str, ...] = ()
    guards: GuardedActions = GuardedActions.ACCEPT

    def __post_init__(self) -> None:
        """Check the comparator against its values."""
        if self.type_id == LOCALE:
            if self.comparator not in COUNTRY_COMPARATORS:
                raise RequirementError(f"{self.comparator} cannot be used with a country.")
            self._check_value_count("LocaleValues", len(self.locales), MAX_LOCALES)
        else:
            self._check_value_count("IntegerValues", len(self.integer_values), MAX_INTEGERS)
        if bool(self.integer_values if self.type_id == LOCALE else self.locales):
            raise RequirementError("Only the country takes LocaleValues; all other types take IntegerValues.")

    def _check_value_count(self, name: str, count: int, maximum: int) -> None:
        if self.comparator in HOLDING_COMPARATORS:
            fits, allowed = count == 0, "none"
        elif self.comparator in LIST_COMPARATORS:
            fits, allowed = 1 <= count <= maximum, f"1 to {maximum}"
        else:
            fits, allowed = count == 1, "exactly one"
        if not fits:
            raise RequirementError(f"{self.comparator} takes {allowed} of {name}, got {count}.")


@dataclass(frozen=True, slots=True)
class WorkerAttributes:
    """A worker's qualification values by type id (with the computed system values), and location.

    ``subdivision`` is the part of ``country`` by ISO 3166-2 without the country, such as ``CA``; "" is undeclared.
    """

    values: Mapping[str, int] = field(default_factory=dict)
    country: str = ""
    subdivision: str = ""


def find_unmet_requirements(
    requirements: Iterable[Requirement], attributes: WorkerAttributes
) -> list[Requirement]:
    """Return the requirements that these attributes do not meet, in order."""
    return [requirement for requirement in requirements if not is_met(requirement, attributes)]


def is_met(requirement: Requirement, attributes: WorkerAttributes) -> bool:
    """Return whether one requirement is met. A worker without the qualification meets only DoesNotExist.

    An undeclared country meets no requirement about countries, not even NotEqualTo, since it may be that country. The
    same applies to the part of a country if a requirement names one.
    """
    if requirement.type_id == LOCALE:
        return bool(attributes.country) and _matches_location(requirement, attributes)
    value = attributes.values.get(requirement.type_id)
    if requirement.comparator in HOLDING_COMPARATORS:
        return (value is not None) == (requirement.comparator is Comparator.EXISTS)
    return value is not None and _satisfies(requirement.comparator, value, requirement.integer_values)


def _matches_location(requirement: Requirement, attributes: WorkerAttributes) -> bool:
    is_inclusive = requirement.comparator in {Comparator.EQUAL_TO, Comparator.IN}
    locations = {attributes.country, f"{attributes.country}-{attributes.subdivision}"}
    if locations & set(requirement.locales):
        return is_inclusive
    names_subdivision = any(locale.startswith(f"{attributes.country}-") for locale in requirement.locales)
    return not is_inclusive and not (names_subdivision and not attributes.subdivision)


def _satisfies(comparator: Comparator, value: int, integers: tuple[int, ...]) -> bool:
    if comparator in LIST_COMPARATORS:
        return (value in integers) == (comparator is Comparator.IN)
    return _OPERATORS[comparator](value, integers[0])
