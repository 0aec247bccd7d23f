"""Combine the labels of one pair: which of them count, which were given blind, and what the readers agree on.

A pair is complete when ``readers`` people have labelled it. Only then do they see each other's labels, so the labels
at that moment are blind, and agreement is measured on them. Later corrections change only the agreed value. If a
reader opened the pair before it was complete and labels it afterwards, the label is surplus: stored, not counted.
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
    """The state of a pair."""

    INCOMPLETE = "reading"
    AGREED = "agreed"
    DIFFERS = "differs"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class ReaderLabel:
    """A stored label; ``reader`` is any key. A label that settles a difference does not count as a reader's label."""

    reader: Hashable
    answers: Mapping[str, Any]
    note: str = ""

    @property
    def is_settlement(self) -> bool:
        """Whether the label settles a difference."""
        return bool(self.answers.get(SETTLEMENT_KEY))

    @property
    def code_answers(self) -> Answers:
        """The answers by code id, without ``SETTLEMENT_KEY``."""
        return {code: value for code, value in self.answers.items() if code != SETTLEMENT_KEY}


@dataclass(slots=True)
class ItemLabels:
    """The labels of one pair by reader; ``required_readers`` is the number of readers that it needs.

    counted: the latest label of each reader who counts. blind: these readers' labels when the pair became complete.
    surplus: the labels of readers who came later. settlement: the newest label that settles a difference.
    """

    required_readers: int
    counted: dict[Hashable, ReaderLabel] = field(default_factory=dict)
    blind: dict[Hashable, ReaderLabel] = field(default_factory=dict)
    surplus: dict[Hashable, ReaderLabel] = field(default_factory=dict)
    settlement: ReaderLabel | None = None

    @classmethod
    def from_labels(cls, rows: Iterable[ReaderLabel], required_readers: int) -> "ItemLabels":
        """Combine labels, given oldest first."""
        found = cls(required_readers)
        for row in rows:
            found._add(row)
        return found

    def _add(self, row: ReaderLabel) -> None:
        if row.is_settlement:
            self.settlement = row
        elif row.reader in self.counted or not self.is_complete:
            if row.reader not in self.blind or not self.is_complete:
                self.blind[row.reader] = row
            self.counted[row.reader] = row
        else:
            self.surplus[row.reader] = row

    @property
    def is_complete(self) -> bool:
        """Whether the required number of readers have labelled the pair."""
        return len(self.counted) >= self.required_readers

    def state(self, codebook: Codebook) -> ItemState:
        """Return the state of the pair."""
        if not self.is_complete:
            return ItemState.INCOMPLETE
        if self.settlement is not None:
            return ItemState.SETTLED
        return ItemState.DIFFERS if self.differing_codes(codebook) else ItemState.AGREED

    def agreed_answers(self, codebook: Codebook) -> Answers:
        """Return the agreed value of each code that has one: settled, or given by all counted readers."""
        if not self.is_complete:
            return {}
        if self.settlement is not None:
            return self.settlement.code_answers
        labels = list(self.counted.values())
        return {
            code.id: labels[0].code_answers[code.id]
            for code in codebook.codes
            if code.id in labels[0].code_answers and _is_unanimous(labels, code.id)
        }

    def differing_codes(self, codebook: Codebook) -> list[str]:
        """Return the ids of the codes that the counted readers answered differently; empty if settled."""
        if self.settlement is not None:
            return []
        labels = list(self.counted.values())
        return [code.id for code in codebook.codes if not _is_unanimous(labels, code.id)]


def _is_unanimous(labels: Sequence[ReaderLabel], code: str) -> bool:
    return all(label.code_answers.get(code) == labels[0].code_answers.get(code) for label in labels[1:])


def assign_letters(readers: Iterable[Reader]) -> dict[Reader, str]:
    """Return the letters A, B … Z, AA … for readers, in order of first occurrence."""
    return {reader: _letter_of_rank(rank) for rank, reader in enumerate(dict.fromkeys(readers))}


def _letter_of_rank(rank: int) -> str:
    rest, last = divmod(rank, 26)
    return (_letter_of_rank(rest - 1) if rest else "") + chr(ord("A") + last)


def reader_start_position(rank: int, reader_count: int, item_count: int) -> int:
    """Return the position, from 0, at which the reader with number ``rank`` (from 0) starts.

    The first ``reader_count`` people start at the beginning. Later ones start far from all others (at steps of the
    golden section), so that surplus readers are rarely at the same pair.
    """
    return int((rank // reader_count) * GOLDEN_RATIO % 1 * item_count)


def order_queue(open_positions: Sequence[int], start: int) -> list[int]:
    """Return the waiting positions in the order in which a reader gets them: from ``start`` on, wrapping around."""
    ordered = sorted(open_positions)
    return [position for position in ordered if position >= start] + [
        position for position in ordered if position < start
    ]
