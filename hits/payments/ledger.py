"""Write and add up ledger entries. Amounts are integer cents; a key is written once."""

from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Sum

from hits.payments.models import Entry, LedgerEntry


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over ledger entries, in cents. ``held`` is what is promised and not yet paid or released."""

    hold: int
    release: int
    reward: int
    bonus: int
    fee: int
    held: int

    @property
    def spent(self) -> int:
        """What has left for good."""
        return self.reward + self.bonus + self.fee


def write(*, entry: Entry, amount_cents: int, key: str, batch: Any, assignment: Any = None) -> bool:
    """Append one entry unless its key stands already; return whether it was written.

    ``batch`` and ``assignment`` are rows; the project is the batch's. Zero amounts are not written.
    """
    if amount_cents == 0:
        return False
    if LedgerEntry.objects.filter(key=key).exists():
        return False
    try:
        with transaction.atomic():
            LedgerEntry.objects.create(
                project_id=batch.project_id,
                batch=batch,
                assignment=assignment,
                entry=entry,
                amount_cents=amount_cents,
                key=key,
            )
    except IntegrityError:
        return False  # another process wrote the same key between the look and the insert
    return True


def totals(**filters: Any) -> Totals:
    """Return the sums over the entries that match, for instance ``batch=…`` or ``project=…``."""
    rows = LedgerEntry.objects.filter(**filters).values_list("entry").annotate(sum=Sum("amount_cents"))
    sums = dict.fromkeys(Entry.values, 0) | {entry: int(total) for entry, total in rows}
    # A bonus and its fee are paid from the free balance; a reward and its fee from what was held.
    held_fees = LedgerEntry.objects.filter(entry=Entry.FEE, key__startswith="fee:reward:", **filters)
    from_hold = sums[Entry.REWARD] + (held_fees.aggregate(sum=Sum("amount_cents"))["sum"] or 0)
    return Totals(
        hold=sums[Entry.HOLD],
        release=sums[Entry.RELEASE],
        reward=sums[Entry.REWARD],
        bonus=sums[Entry.BONUS],
        fee=sums[Entry.FEE],
        held=sums[Entry.HOLD] - sums[Entry.RELEASE] - from_hold,
    )
