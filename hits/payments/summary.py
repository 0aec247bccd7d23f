"""A batch's money as one table that adds up."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from hits.payments.ledger import totals
from hits.payments.models import Entry, LedgerEntry


@dataclass(frozen=True, slots=True)
class BatchMoney:
    """Cents and counts. ``spent`` + ``held`` + ``left`` is ``budget``: the most that the batch can cost."""

    budget: int
    reward: int
    rewards: int
    bonus: int
    bonuses: int
    fee: int
    spent: int
    held: int
    released: int
    entries: int

    @property
    def left(self) -> int:
        """What the batch may still cost beyond what is held, released rewards included."""
        return self.budget - self.spent - self.held


def batch_money(batch: Any) -> BatchMoney:
    """Return the sums of a batch's ledger entries beside its estimate."""
    sums = totals(batch=batch)
    counts = dict(
        LedgerEntry.objects.filter(batch=batch).order_by().values_list("entry").annotate(Count("id"))
    )
    return BatchMoney(
        budget=batch.estimate_cents,
        reward=sums.reward,
        rewards=counts.get(Entry.REWARD, 0),
        bonus=sums.bonus,
        bonuses=counts.get(Entry.BONUS, 0),
        fee=sums.fee,
        spent=sums.spent,
        held=sums.held,
        released=sums.release,
        entries=sum(counts.values()),
    )
