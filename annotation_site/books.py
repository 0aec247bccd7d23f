"""Whether the books agree: the marketplace's entries with its balances, and our ledger with the marketplace's.

Here, since no app below knows both ledgers.
"""

from collections import defaultdict
from dataclasses import asdict, dataclass

from django.db.models import F, Q, Sum

from hits.marketplace.models import EntryKind, Payout
from hits.marketplace.models import LedgerEntry as MarketEntry
from hits.marketplace.selectors.accounts import unbalanced_requesters
from hits.models import Batch, Hit
from hits.payments.models import LedgerEntry
from hits.payments.statement import HELD_FEE

LOCAL = "local"  # the environment whose marketplace is in this database


@dataclass
class Sums:
    """What a batch has on hold and has paid, in cents."""

    held: int = 0
    reward: int = 0
    bonus: int = 0
    fee: int = 0


@dataclass(frozen=True)
class Difference:
    """A batch on which the two ledgers do not agree."""

    batch: int
    ours: Sums
    marketplace: Sums


@dataclass(frozen=True)
class Report:
    """What was compared, and every difference."""

    requesters: list[str]
    payouts: list[int]
    batches: list[Difference]
    compared: int

    @property
    def agrees(self) -> bool:
        """True when there is no difference at all."""
        return not (self.requesters or self.payouts or self.batches)

    def as_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "agrees": self.agrees,
            "unbalanced_requesters": self.requesters,
            "payouts_without_their_entry": self.payouts,
            "batches_that_differ": [asdict(row) for row in self.batches],
            "batches_compared": self.compared,
        }


def check_books() -> Report:
    """Compare everything and return the report; writes nothing."""
    ids = list(Batch.objects.filter(environment=LOCAL).order_by("pk").values_list("pk", flat=True))
    ours, theirs = _ours(), _marketplaces()
    return Report(
        requesters=unbalanced_requesters(),
        payouts=_unbooked_payouts(),
        batches=[Difference(pk, ours[pk], theirs[pk]) for pk in ids if ours[pk] != theirs[pk]],
        compared=len(ids),
    )


def _unbooked_payouts() -> list[int]:
    """Return the keys of payouts whose entry is missing or says another sum."""
    booked = Sum("ledger__worker_cents", filter=Q(ledger__kind=EntryKind.PAYOUT), default=0)
    rows = Payout.objects.annotate(booked=booked).exclude(booked=-F("amount_cents"))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _ours() -> dict[int, Sums]:
    sums: dict[int, Sums] = defaultdict(Sums)
    rows = LedgerEntry.objects.filter(batch__environment=LOCAL).order_by().values_list("batch", "entry")
    fee_of_reward = Q(entry="fee", key__startswith=HELD_FEE)
    summed = rows.annotate(
        cents=Sum("amount_cents"), from_hold=Sum("amount_cents", filter=fee_of_reward, default=0)
    )
    for pk, entry, cents, from_hold in summed:
        batch = sums[pk]
        if entry == "hold":
            batch.held += cents
        elif entry == "release":
            batch.held -= cents
        else:
            setattr(batch, entry, cents)
            batch.held -= cents if entry == "reward" else from_hold
    return sums


def _marketplaces() -> dict[int, Sums]:
    """Return the same of the marketplace's entries, by the batch whose HIT they are about."""
    batches = dict(
        Hit.objects.filter(environment=LOCAL, hit_id__isnull=False).values_list("hit_id", "unit__batch")
    )
    rows = MarketEntry.objects.filter(hit__isnull=False).order_by().values_list("hit__hit_id", "kind")
    sums: dict[int, Sums] = defaultdict(Sums)
    for hit_id, kind, available, held, worker in rows.annotate(
        Sum("available_cents"), Sum("held_cents"), Sum("worker_cents")
    ).iterator():
        if hit_id not in batches:
            continue  # another requester's, or made by a script with this site's own key
        batch = sums[batches[hit_id]]
        batch.held += held
        if kind == EntryKind.REWARD:
            batch.reward += worker
        elif kind == EntryKind.BONUS:
            batch.bonus += worker
        elif kind == EntryKind.FEE:
            batch.fee -= available + held
    return sums
