"""The only code that moves money: each function changes a balance and writes the entries that explain it.

Callers hold a transaction. A balance is changed by one conditional UPDATE whose row count is checked, so
that two calls at once can never spend the same cent. All amounts are integer cents.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F, Sum

from hits.marketplace.models import (
    HIT,
    Assignment,
    BonusPayment,
    EntryKind,
    LedgerEntry,
    Payout,
    Requester,
    Worker,
)


class InsufficientFunds(Exception):
    """The requester's available balance does not cover the sum."""


@transaction.atomic
def deposit(*, requester: Requester, cents: int, at: datetime, note: str = "") -> LedgerEntry:
    """Add money to a requester's account. Raises ValueError unless ``cents`` is positive."""
    if cents <= 0:
        raise ValueError(f"A deposit is at least one cent, got {cents}.")
    _move(requester, available=cents)
    return LedgerEntry.objects.create(
        kind=EntryKind.DEPOSIT, requester=requester, available_cents=cents, note=note, created_at=at
    )


@transaction.atomic
def hold(*, hit: HIT, cents: int, at: datetime) -> None:
    """Set money aside for a HIT's slots. Raises InsufficientFunds, and then nothing has changed."""
    if not cents:
        return
    _move(hit.requester, available=-cents, held=cents)
    LedgerEntry.objects.create(
        kind=EntryKind.HOLD,
        requester=hit.requester,
        hit=hit,
        available_cents=-cents,
        held_cents=cents,
        created_at=at,
    )


@transaction.atomic
def release(*, hit: HIT, cents: int, at: datetime, assignment: Assignment | None = None) -> None:
    """Give held money back: a slot was rejected, or a HIT disposed of with slots left."""
    if not cents:
        return
    _move(hit.requester, available=cents, held=-cents)
    LedgerEntry.objects.create(
        kind=EntryKind.RELEASE,
        requester=hit.requester,
        hit=hit,
        assignment=assignment,
        available_cents=cents,
        held_cents=-cents,
        created_at=at,
    )


@transaction.atomic
def pay_reward(*, assignment: Assignment, at: datetime) -> None:
    """Pay a slot's reward and fee out of what was held for it. The database allows one reward per slot."""
    hit = assignment.hit
    _move(hit.requester, held=-hit.slot_cents)
    if hit.reward_cents:
        LedgerEntry.objects.create(
            kind=EntryKind.REWARD,
            requester=hit.requester,
            worker=assignment.worker,
            hit=hit,
            assignment=assignment,
            held_cents=-hit.reward_cents,
            worker_cents=hit.reward_cents,
            created_at=at,
        )
    if hit.fee_cents:
        LedgerEntry.objects.create(
            kind=EntryKind.FEE,
            requester=hit.requester,
            hit=hit,
            assignment=assignment,
            held_cents=-hit.fee_cents,
            created_at=at,
        )


@transaction.atomic
def pay_bonus(*, bonus: BonusPayment, at: datetime) -> None:
    """Pay a bonus and its fee from the available balance. Raises InsufficientFunds."""
    common = {
        "requester": bonus.requester,
        "hit": bonus.assignment.hit,
        "assignment": bonus.assignment,
        "bonus": bonus,
        "created_at": at,
    }
    _move(bonus.requester, available=-(bonus.amount_cents + bonus.fee_cents))
    LedgerEntry.objects.create(
        kind=EntryKind.BONUS,
        worker=bonus.worker,
        available_cents=-bonus.amount_cents,
        worker_cents=bonus.amount_cents,
        **common,
    )
    if bonus.fee_cents:
        LedgerEntry.objects.create(kind=EntryKind.FEE, available_cents=-bonus.fee_cents, **common)


def owed_cents(worker: Worker) -> int:
    """Return what a worker is owed in cents: the sum of their entries."""
    return int(worker.ledger.aggregate(sum=Sum("worker_cents", default=0))["sum"])


@transaction.atomic
def record_payout(*, payout: Payout, at: datetime) -> LedgerEntry:
    """Save a payout and book it, under a lock of the worker's row. Raises ValueError for more than is owed."""
    _lock(payout.worker)
    owed = owed_cents(payout.worker)
    if not 0 < payout.amount_cents <= owed:
        raise ValueError(
            f"A payout is between 1 cent and what is owed ({owed} cents), got {payout.amount_cents}."
        )
    payout.save(force_insert=True)
    return LedgerEntry.objects.create(
        kind=EntryKind.PAYOUT,
        worker=payout.worker,
        payout=payout,
        worker_cents=-payout.amount_cents,
        note=f"{payout.means}, {payout.reference}",
        created_at=at,
    )


@transaction.atomic
def adjust_worker(
    *, worker: Worker, cents: int, at: datetime, note: str, payout: Payout | None = None
) -> LedgerEntry:
    """Correct what a worker is owed by ``cents`` (either sign), with the reason in ``note``.

    ``payout`` is the one that was recorded wrongly. Raises ValueError when the worker would owe money.
    """
    _lock(worker)
    owed = owed_cents(worker)
    if not cents or owed + cents < 0:
        raise ValueError(f"A correction leaves at least 0 cents owed of {owed}, and is not 0, got {cents}.")
    return LedgerEntry.objects.create(
        kind=EntryKind.ADJUSTMENT, worker=worker, payout=payout, worker_cents=cents, note=note, created_at=at
    )


@transaction.atomic
def adjust(*, requester: Requester, cents: int, at: datetime, note: str) -> LedgerEntry:
    """Correct a requester's available balance by ``cents`` (either sign), with the reason in ``note``."""
    _move(requester, available=cents)
    return LedgerEntry.objects.create(
        kind=EntryKind.ADJUSTMENT, requester=requester, available_cents=cents, note=note, created_at=at
    )


def _lock(worker: Worker) -> None:
    """Make others who would pay this worker wait. (SQLite: they wait for the transaction anyhow.)"""
    Worker.objects.select_for_update().get(pk=worker.pk)


def _move(requester: Requester, *, available: int = 0, held: int = 0) -> None:
    changed = Requester.objects.filter(
        pk=requester.pk, available_cents__gte=-available, held_cents__gte=-held
    ).update(available_cents=F("available_cents") + available, held_cents=F("held_cents") + held)
    if changed != 1:
        raise InsufficientFunds(f"{requester.name} lacks {-available} available or {-held} held cents.")
