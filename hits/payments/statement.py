"""A statement of a project's own ledger: each entry with the balances after it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hits.payments.models import PAYMENT_TYPES, EntryType, LedgerEntry

CHUNK_SIZE = 2_000
HELD_FEE_PREFIX = "fee:reward:"  # of the keys of fees that are paid from the hold


@dataclass(frozen=True, slots=True)
class StatementRow:
    """One entry; ``spent`` and ``held`` are the sums in cents after it."""

    entry: LedgerEntry
    spent: int
    held: int


def statement_rows(**filters: Any) -> Iterator[StatementRow]:
    """Yield the matching entries, for example ``project=…``, oldest first; rows are read in chunks."""
    rows = LedgerEntry.objects.filter(**filters).select_related("batch", "assignment__worker").order_by("id")
    spent = held = 0
    for row in rows.iterator(chunk_size=CHUNK_SIZE):
        spent += row.amount_cents if row.entry in PAYMENT_TYPES else 0
        held += _held_change_cents(row)
        yield StatementRow(row, spent, held)


def _held_change_cents(row: LedgerEntry) -> int:
    if row.entry == EntryType.HOLD:
        return int(row.amount_cents)
    if row.entry == EntryType.BONUS or (
        row.entry == EntryType.FEE and not row.key.startswith(HELD_FEE_PREFIX)
    ):
        return 0  # paid from the free balance
    return -int(row.amount_cents)
