"""What readings of one pair amount to: whose count, what they said blind, what is agreed.

A pair is complete when ``readers`` people have read it, and only then is anybody shown what others said of it. So
agreement is measured on what stood at that moment, and a later correction changes the agreed value alone. Somebody
who read a complete pair all the same, having opened it before, has a surplus reading: kept, and not counted.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from curation.audits.answers import SETTLEMENT_KEY, Answers
from curation.audits.codebook import Codebook

GOLDEN_RATIO = 0.6180339887498949
Reader = TypeVar("Reader", bound=Hashable)


class ItemState(StrEnum):
    """How far one pair is."""

    INCOMPLETE = "reading"
    AGREED = "agreed"
    DIFFERS = "differs"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class ReaderLabel:
    """One reading as it was written; ``reader`` is any key. Settling ones do not count among the readers."""

    reader: Hashable
    answers: Mapping[str, Any]
    note: str = ""

    @property
    def is_settlement(self) -> bool:
        """Whether it was written to settle a difference."""
        return bool(self.answers.get(SETTLEMENT_KEY))

    @property
    def codes(self) -> Answers:
        """The answers by the code's id, without marks."""
        return {code: value for code, value in self.answers.items() if code != SETTLEMENT_KEY}


@dataclass(slots=True)
class ItemLabels:
    """The readings of one pair, by reader: what stands, what stood when it became complete, what came too late."""

    readers: int
    current: dict[Hashable, ReaderLabel] = field(default_factory=dict)
    blind: dict[Hashable, ReaderLabel] = field(default_factory=dict)
    surplus: dict[Hashable, ReaderLabel] = field(default_factory=dict)
    settlement: ReaderLabel | None = None

    @classmethod
    def from_labels(cls, rows: Iterable[ReaderLabel], readers: int) -> "ItemLabels":
        """Return what readings, oldest first, amount to."""
        found = cls(readers)
        for row in rows:
            found._add(row)
        return found

    def _add(self, row: ReaderLabel) -> None:
        if row.is_settlement:
            self.settlement = row
        elif row.reader in self.current or not self.is_complete:
            if row.reader not in self.blind or not self.is_complete:
                self.blind[row.reader] = row
            self.current[row.reader] = row
        else:
            self.surplus[row.reader] = row

    @property
    def is_complete(self) -> bool:
        """Whether as many people as were wanted have read it."""
        return len(self.current) >= self.readers

    def reader_label(self, reader: Hashable) -> ReaderLabel | None:
        """Return what stands of one reader, counted or not."""
        return self.current.get(reader) or self.surplus.get(reader)

    def state(self, codebook: Codebook) -> ItemState:
        """Return how far the pair is."""
        if not self.is_complete:
            return ItemState.INCOMPLETE
        if self.settlement is not None:
            return ItemState.SETTLED
        return ItemState.DIFFERS if self.differing(codebook) else ItemState.AGREED

    def agreed(self, codebook: Codebook) -> Answers:
        """Return the agreed value of each code that has one: settled, or said by all who count."""
        if not self.is_complete:
            return {}
        if self.settlement is not None:
            return self.settlement.codes
        labels = list(self.current.values())
        return {
            code.id: labels[0].codes[code.id]
            for code in codebook.codes
            if code.id in labels[0].codes and _is_unanimous(labels, code.id)
        }

    def differing(self, codebook: Codebook) -> list[str]:
        """Return the ids of the codes which readers answered differently, or some were not asked; none if settled."""
        if self.settlement is not None:
            return []
        labels = list(self.current.values())
        return [code.id for code in codebook.codes if not _is_unanimous(labels, code.id)]


def _is_unanimous(labels: Sequence[ReaderLabel], code: str) -> bool:
    return all(label.codes.get(code) == labels[0].codes.get(code) for label in labels[1:])


def assign_letters(readers: Iterable[Reader]) -> dict[Reader, str]:
    """Return A, B … Z, AA … for readers in the order in which they first occur."""
    return {reader: _letter_of_rank(rank) for rank, reader in enumerate(dict.fromkeys(readers))}


def _letter_of_rank(rank: int) -> str:
    rest, last = divmod(rank, 26)
    return (_letter_of_rank(rest - 1) if rest else "") + chr(ord("A") + last)


def first_position(rank: int, readers: int, items: int) -> int:
    """Return at which place, from 0, the reader who came as number ``rank`` (from 0) begins.

    The first ``readers`` people begin at the beginning. Who comes later begins elsewhere, far from all others (steps
    of the golden section), so that more people than a pair needs are seldom at the same pair.
    """
    return int((rank // readers) * GOLDEN_RATIO % 1 * items)


def order_queue(open_positions: Sequence[int], start: int) -> list[int]:
    """Return the places that wait for a reader in the order in which they are offered: from ``start``, then round."""
    ordered = sorted(open_positions)
    return [position for position in ordered if position >= start] + [
        position for position in ordered if position < start
    ]
