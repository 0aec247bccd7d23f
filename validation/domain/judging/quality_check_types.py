"""Quality checks as plain data: roles, rates, units of a round, gold items, and how answers compare."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

ExpectedLabels = Mapping[str, Sequence[str | int]]  # the accepted labels of each question

MAX_PERCENT = 50
_CONTENT_WORD_PATTERN = re.compile(r"\w{4,}")


class CheckRole(StrEnum):
    """What a quality check compares an answer with."""

    GOLD = "gold"  # an answer that people of the project agreed on
    ATTENTION = "attention"  # an answer that is obvious to anybody who looks
    REPEAT = "repeat"  # the same worker's earlier answer to the same item


class QualityCheckError(ValueError):
    """The requested quality checks cannot be made; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class CheckRates:
    """How many quality checks a round has, in percent of its own units, 0 to 50 for each role."""

    gold: int = 0
    attention: int = 0
    repeat: int = 0

    def __post_init__(self) -> None:
        """Refuse rates outside 0 to ``MAX_PERCENT``."""
        for name, percent in asdict(self).items():
            if not 0 <= percent <= MAX_PERCENT:
                raise QualityCheckError(f"{name}: use 0 to {MAX_PERCENT} percent of the round")

    def counts(self, units: int) -> dict[CheckRole, int]:
        """Return the number of checks of each role for ``units`` own units, rounded up: a rate above 0 gives one."""
        return {role: -(-units * getattr(self, role.value) // 100) for role in CheckRole}

    def total(self, units: int) -> int:
        """Return the number of checks of all roles for ``units`` own units."""
        return sum(self.counts(units).values())


@dataclass(frozen=True, slots=True)
class LabelMatch:
    """``correct`` of ``total`` labels match the expected ones, or those of the earlier answer."""

    correct: int
    total: int

    @property
    def passed(self) -> bool:
        """Whether all labels match."""
        return self.correct == self.total


@dataclass(frozen=True, slots=True)
class RoundUnit:
    """A unit that is no quality check. ``authors`` are primary keys of workers who may not get it.

    ``topic`` is what it is about in general, such as the domain of a scene; empty if that is not known. An attention
    check borrows from another topic where there is one.
    """

    key: str
    payload: Mapping[str, Any]
    authors: frozenset[int] = frozenset()
    topic: str = ""


@dataclass(frozen=True, slots=True)
class GoldUnit:
    """A gold item that a round may use; ``pk`` is its primary key."""

    pk: int
    payload: Mapping[str, Any]
    expected: ExpectedLabels
    authors: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class CheckUnit:
    """A unit that is a quality check. ``original_key`` is the key of the unit that it repeats or borrows from."""

    key: str
    role: CheckRole
    payload: Mapping[str, Any]
    expected: ExpectedLabels = field(default_factory=dict)
    original_key: str | None = None
    gold_pk: int | None = None
    authors: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class AttentionCheck:
    """An attention check as its kind makes it. ``donor`` is the unit that it borrows from."""

    payload: dict[str, Any]
    expected: ExpectedLabels
    donor: RoundUnit
    authors: frozenset[int] = frozenset()


def content_words(*texts: str | None) -> set[str]:
    """Return the texts' words of at least four letters, in lower case: short words carry little content."""
    return set(_CONTENT_WORD_PATTERN.findall(" ".join(text for text in texts if text).lower()))
