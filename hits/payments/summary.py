"""Sums of ledger entries: of one batch, and of each batch of a project."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q, Sum

from hits.domain.states import CallState
from hits.models import Extension, OutgoingCall
from hits.payments.ledger import sum_entries
from hits.payments.models import PAYMENT_TYPES, EntryType, LedgerEntry


@dataclass(frozen=True, slots=True)
class BatchMoney:
    """Cents and counts. ``spent`` + ``held`` + ``remaining`` is ``budget``: the most that the batch can cost."""

    budget: int
    reward: int
    reward_count: int
    bonus: int
    bonus_count: int
    fee: int
    spent: int
    held: int
    released: int
    top_up: int = 0
    top_up_count: int = 0

    @property
    def earned_bonus_cents(self) -> int:
        """Bonuses without top-ups."""
        return self.bonus - self.top_up

    @property
    def earned_bonus_count(self) -> int:
        """The number of bonuses without top-ups."""
        return self.bonus_count - self.top_up_count

    @property
    def remaining(self) -> int:
        """What the batch may still cost beyond the held money; this includes released money."""
        return self.budget - self.spent - self.held


@dataclass(frozen=True, slots=True)
class BatchSums:
    """A batch's row in its project's table, in cents."""

    batch: Any
    budget: int
    spent: int
    held: int


def sum_batch_money(batch: Any) -> BatchMoney:
    """Return the sums of a batch's ledger entries and the most that it can cost, with extensions and top-ups."""
    sums = sum_entries(batch=batch)
    counts = dict(
        LedgerEntry.objects.filter(batch=batch).order_by().values_list("entry").annotate(Count("id"))
    )
    top_ups = LedgerEntry.objects.filter(batch=batch, entry=EntryType.BONUS, key__contains=":top-up:")
    top_up_sums = top_ups.aggregate(cents=Sum("amount_cents", default=0), count=Count("id"))
    return BatchMoney(
        budget=batch.estimate_cents + _extension_and_top_up_cents([batch]).get(batch.pk, 0),
        reward=sums.reward,
        reward_count=counts.get(EntryType.REWARD, 0),
        bonus=sums.bonus,
        bonus_count=counts.get(EntryType.BONUS, 0),
        fee=sums.fee,
        spent=sums.spent,
        held=sums.held,
        released=sums.release,
        top_up=top_up_sums["cents"],
        top_up_count=top_up_sums["count"],
    )


def sum_project_batches(batches: list[Any]) -> list[BatchSums]:
    """Return the sums of each batch, in the given order; three queries for any number of batches."""
    rows = (
        LedgerEntry.objects.filter(batch__in=batches)
        .order_by()
        .values("batch")
        .annotate(
            spent=Sum("amount_cents", filter=Q(entry__in=PAYMENT_TYPES), default=0),
            hold=Sum("amount_cents", filter=Q(entry=EntryType.HOLD), default=0),
            from_hold=Sum("amount_cents", filter=_hold_reducing_condition(), default=0),
        )
    )
    found = {row["batch"]: row for row in rows}
    added = _extension_and_top_up_cents(batches)
    nothing = {"spent": 0, "hold": 0, "from_hold": 0}
    return [
        BatchSums(
            batch=batch,
            budget=batch.estimate_cents + added.get(batch.pk, 0),
            spent=row["spent"],
            held=row["hold"] - row["from_hold"],
        )
        for batch in batches
        for row in [found.get(batch.pk, nothing)]
    ]


def _hold_reducing_condition() -> Q:
    """Match entries that reduce the hold; a bonus and its fee are paid from the free balance."""
    return Q(entry__in=[EntryType.RELEASE, EntryType.REWARD]) | Q(
        entry=EntryType.FEE, key__startswith="fee:reward:"
    )


def _extension_and_top_up_cents(batches: list[Any]) -> dict[int, int]:
    """Return by batch what extensions and top-ups added to the possible cost; two queries."""
    sums: dict[int, int] = defaultdict(int)
    extensions = Extension.objects.filter(batch__in=batches).order_by().values_list("batch")
    for pk, cents in extensions.annotate(Sum("estimate_cents")):
        sums[pk] += cents
    # A refused top-up is not retried and costs nothing.
    top_up_calls = OutgoingCall.objects.filter(batch__in=batches, top_up__isnull=False).exclude(
        state=CallState.REFUSED
    )
    summed = (
        top_up_calls.order_by().values_list("batch").annotate(more=Sum(F("amount_cents") + F("fee_cents")))
    )
    for pk, cents in summed:
        sums[pk] += cents
    return sums
