"""A project's own ledger as accounting reads it: line by line, with the balances after each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hits.payments.models import Entry, LedgerEntry

CHUNK = 2_000
_SPENDING = frozenset({Entry.REWARD, Entry.BONUS, Entry.FEE})
HELD_FEE = "fee:reward:"  # how the key of a fee begins that is paid from what was held


@dataclass(frozen=True, slots=True)
class Line:
    """One movement in cents, signed as it changes ``held``; ``spent`` and ``held`` are the sums after it."""

    entry: LedgerEntry
    spent: int
    held: int


def lines(**filters: Any) -> Iterator[Line]:
    """Yield the entries that match, for instance ``project=…``, oldest first; rows are read as they are needed."""
    rows = LedgerEntry.objects.filter(**filters).select_related("batch", "assignment__worker").order_by("id")
    spent = held = 0
    for row in rows.iterator(chunk_size=CHUNK):
        spent += row.amount_cents if row.entry in _SPENDING else 0
        held += _held_change(row)
        yield Line(row, spent, held)


def _held_change(row: LedgerEntry) -> int:
    if row.entry == Entry.HOLD:
        return int(row.amount_cents)
    if row.entry == Entry.BONUS or (row.entry == Entry.FEE and not row.key.startswith(HELD_FEE)):
        return 0  # paid from the free balance
    return -int(row.amount_cents)
