"""What controls are, as plain data: roles, rates, units of a round, gold items, and how answers compare."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Labels = Mapping[str, str | int]
Expected = Mapping[str, Sequence[str | int]]

MOST_PERCENT = 50
_WORD = re.compile(r"\w{4,}")


class ControlRole(StrEnum):
    """Why a unit is in a round although nothing is to be learned about its item."""

    GOLD = "gold"  # people of the project agreed on its answer
    ATTENTION = "attention"  # whoever looks cannot get it wrong
    REPEAT = "repeat"  # the same item once more: do a worker's two answers agree?


class ControlError(ValueError):
    """Controls that cannot be made as asked; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Rates:
    """How many controls are mixed in, in percent of the round's own units, 0 to 50 each."""

    gold: int = 0
    attention: int = 0
    repeat: int = 0

    def __post_init__(self) -> None:
        """Refuse what no round may have."""
        for name, percent in (("gold", self.gold), ("attention", self.attention), ("repeat", self.repeat)):
            if not 0 <= percent <= MOST_PERCENT:
                raise ControlError(f"{name}: use 0 to {MOST_PERCENT} percent of the round")

    def counts(self, units: int) -> dict[ControlRole, int]:
        """Return how many controls of each role join ``units`` own units, rounded up: a rate above 0 has one."""
        rates = {
            ControlRole.GOLD: self.gold,
            ControlRole.ATTENTION: self.attention,
            ControlRole.REPEAT: self.repeat,
        }
        return {role: -(-units * percent // 100) for role, percent in rates.items()}

    def on_top(self, units: int) -> int:
        """Return how many controls join ``units`` own units in all."""
        return sum(self.counts(units).values())


@dataclass(frozen=True, slots=True)
class Checked:
    """So many of so many labels are as expected, or as the first time."""

    right: int
    of: int

    @property
    def passed(self) -> bool:
        """Whether all of them are."""
        return self.right == self.of


@dataclass(frozen=True, slots=True)
class Own:
    """A unit of the round itself. ``authors`` are row keys of workers who may not get it."""

    key: str
    payload: Mapping[str, Any]
    authors: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold item that may be mixed in; ``pk`` is its row key."""

    pk: int
    payload: Mapping[str, Any]
    expected: Expected
    authors: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Control:
    """A unit that is mixed in. ``of`` is the key of the own unit that it repeats or borrows from."""

    key: str
    role: ControlRole
    payload: Mapping[str, Any]
    expected: Expected = field(default_factory=dict)
    of: str | None = None
    gold: int | None = None
    authors: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Attention:
    """An attention check as its kind makes it. ``of`` is the own unit that it borrows from."""

    payload: dict[str, Any]
    expected: Expected
    of: Own
    authors: frozenset[int] = frozenset()


def content_words(*texts: str | None) -> set[str]:
    """Return the words of four letters and more, in lower case: what two texts have in common beyond grammar."""
    return set(_WORD.findall(" ".join(text for text in texts if text).lower()))
