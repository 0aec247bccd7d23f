"""Who may take a piece of work: the comparison itself, as plain data.

The marketplace asks it before it hands out a task, and the platform may ask it again when a page is
opened. Both get the same answer from the same facts.
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
# Amazon's sandbox knows Masters by an id of its own. Here either says the same of a worker.
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
MASTERS_IDS = (MASTERS, MASTERS_SANDBOX)
# Counted from a worker's own work: everybody has a value, and nobody is given one.
COMPUTED = {
    NUMBER_APPROVED: "Worker_NumberHITsApproved",
    PERCENT_SUBMITTED: "Worker_PercentAssignmentsSubmitted",
    PERCENT_ABANDONED: "Worker_PercentAssignmentsAbandoned",
    PERCENT_RETURNED: "Worker_PercentAssignmentsReturned",
    PERCENT_APPROVED: "Worker_PercentAssignmentsApproved",
    PERCENT_REJECTED: "Worker_PercentAssignmentsRejected",
}
# Held like any other, with the same ids for all requesters: workers declare the one, the platform gives the other.
SYSTEM_HELD = (ADULT, *MASTERS_IDS)

MAX_REQUIREMENTS = 10
MAX_INTEGERS = 15
MAX_LOCALES = 30


class Comparator(StrEnum):
    """How a held value is compared. The values are the requester API's own words."""

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


ABOUT_HOLDING = frozenset({Comparator.EXISTS, Comparator.DOES_NOT_EXIST})
FOR_COUNTRIES = frozenset({Comparator.EQUAL_TO, Comparator.NOT_EQUAL_TO, Comparator.IN, Comparator.NOT_IN})
TAKES_SEVERAL = frozenset({Comparator.IN, Comparator.NOT_IN})


class Guards(StrEnum):
    """What an unmet requirement keeps a worker from. Each one includes the one before it."""

    ACCEPT = "Accept"
    PREVIEW = "PreviewAndAccept"
    DISCOVER = "DiscoverPreviewAndAccept"


_ORDER: Mapping[Comparator, Callable[[Any, Any], bool]] = {
    Comparator.LESS_THAN: operator.lt,
    Comparator.LESS_THAN_OR_EQUAL_TO: operator.le,
    Comparator.GREATER_THAN: operator.gt,
    Comparator.GREATER_THAN_OR_EQUAL_TO: operator.ge,
    Comparator.EQUAL_TO: operator.eq,
    Comparator.NOT_EQUAL_TO: operator.ne,
}


class RequirementError(ValueError):
    """A condition that cannot be asked; the message names the rule that it breaks."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition. ``locales`` belong to ``LOCALE`` alone: countries such as ``US``, parts such as ``US-CA``.

    Raises ``RequirementError`` for a comparator without the values that it needs, or with others.
    """

    type_id: str
    comparator: Comparator
    integer_values: tuple[int, ...] = ()
    locales: tuple[str, ...] = ()
    guards: Guards = Guards.ACCEPT

    def __post_init__(self) -> None:
        """Check the comparator against its values."""
        if self.type_id == LOCALE:
            if self.comparator not in FOR_COUNTRIES:
                raise RequirementError(f"{self.comparator} cannot be asked of a country.")
            self._check("LocaleValues", len(self.locales), MAX_LOCALES)
        else:
            self._check("IntegerValues", len(self.integer_values), MAX_INTEGERS)
        if bool(self.integer_values if self.type_id == LOCALE else self.locales):
            raise RequirementError("LocaleValues belong to the country alone, IntegerValues to all else.")

    def _check(self, name: str, count: int, most: int) -> None:
        if self.comparator in ABOUT_HOLDING:
            fits, allowed = count == 0, "none"
        elif self.comparator in TAKES_SEVERAL:
            fits, allowed = 1 <= count <= most, f"1 to {most}"
        else:
            fits, allowed = count == 1, "exactly one"
        if not fits:
            raise RequirementError(f"{self.comparator} takes {allowed} of {name}, and there are {count}.")


@dataclass(frozen=True, slots=True)
class Holdings:
    """What one worker holds: values by type id (the computed system values among them) and where they work.

    ``subdivision`` is the part of ``country`` by ISO 3166-2 without the country, such as ``CA``; "" is undeclared.
    """

    values: Mapping[str, int] = field(default_factory=dict)
    country: str = ""
    subdivision: str = ""


def unmet(requirements: Iterable[Requirement], holdings: Holdings) -> list[Requirement]:
    """Return the requirements that these holdings do not meet, in their order."""
    return [requirement for requirement in requirements if not is_met(requirement, holdings)]


def is_met(requirement: Requirement, holdings: Holdings) -> bool:
    """Return whether one requirement is met. Who holds nothing meets only DoesNotExist.

    An undeclared country meets no requirement about countries, not even NotEqualTo: nobody has said
    that it is another one. The same holds for the part of a country, where one is named.
    """
    if requirement.type_id == LOCALE:
        return bool(holdings.country) and _is_placed(requirement, holdings)
    value = holdings.values.get(requirement.type_id)
    if requirement.comparator in ABOUT_HOLDING:
        return (value is not None) == (requirement.comparator is Comparator.EXISTS)
    return value is not None and _compares(requirement.comparator, value, requirement.integer_values)


def _is_placed(requirement: Requirement, holdings: Holdings) -> bool:
    inside = requirement.comparator in {Comparator.EQUAL_TO, Comparator.IN}
    here = {holdings.country, f"{holdings.country}-{holdings.subdivision}"}
    if here & set(requirement.locales):
        return inside
    part_asked = any(place.startswith(f"{holdings.country}-") for place in requirement.locales)
    return not inside and not (part_asked and not holdings.subdivision)


def _compares(comparator: Comparator, value: int, wanted: tuple[int, ...]) -> bool:
    if comparator in TAKES_SEVERAL:
        return (value in wanted) == (comparator is Comparator.IN)
    return _ORDER[comparator](value, wanted[0])
