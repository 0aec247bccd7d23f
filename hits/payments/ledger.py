"""Write and sum ledger entries. Amounts are integer cents; each key is written at most once."""

from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Sum

from hits.payments.models import EntryType, LedgerEntry


@dataclass(frozen=True, slots=True)
class LedgerTotals:
    """Sums of ledger entries in cents. ``held`` is neither paid nor released yet."""

    hold: int
    release: int
    reward: int
    bonus: int
    fee: int
    held: int

    @property
    def spent(self) -> int:
        """The sum of payments: rewards, bonuses and fees."""
        return self.reward + self.bonus + self.fee


def post_if_new(*, entry: EntryType, amount_cents: int, key: str, batch: Any, assignment: Any = None) -> bool:
    """Append one entry unless its key exists; return whether it was written.

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
        return False  # another process wrote the same key between the query and the insert
    return True


def sum_entries(**filters: Any) -> LedgerTotals:
    """Return the sums of the matching entries, for example ``batch=…`` or ``project=…``."""
    rows = LedgerEntry.objects.filter(**filters).values_list("entry").annotate(sum=Sum("amount_cents"))
    sums = dict.fromkeys(EntryType.values, 0) | {entry: int(total) for entry, total in rows}
    # A bonus and its fee are paid from the free balance, a reward and its fee from the hold.
    held_fees = LedgerEntry.objects.filter(entry=EntryType.FEE, key__startswith="fee:reward:", **filters)
    from_hold = sums[EntryType.REWARD] + (held_fees.aggregate(sum=Sum("amount_cents"))["sum"] or 0)
    return LedgerTotals(
        hold=sums[EntryType.HOLD],
        release=sums[EntryType.RELEASE],
        reward=sums[EntryType.REWARD],
        bonus=sums[EntryType.BONUS],
        fee=sums[EntryType.FEE],
        held=sums[EntryType.HOLD] - sums[EntryType.RELEASE] - from_hold,
    )
