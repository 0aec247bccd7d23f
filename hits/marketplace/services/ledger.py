"""The only code that moves money: each function changes a balance and writes the matching entries.

Callers hold a transaction. One conditional UPDATE with a checked row count changes a balance, so that concurrent
calls never spend the same cent. All amounts are integer cents.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import F, Sum

from hits.marketplace.errors import ApiError
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


class InsufficientFunds(ApiError):
    """The requester's available balance does not cover the sum."""

    def __init__(self) -> None:
        super().__init__(
            "InsufficientFunds",
            "This Requester has insufficient funds in their account to complete this transaction.",
        )


@transaction.atomic
def deposit(*, requester: Requester, cents: int, at: datetime, note: str = "") -> LedgerEntry:
    """Add money to a requester's account. Raises ValueError unless ``cents`` is positive."""
    if cents <= 0:
        raise ValueError(f"A deposit is at least one cent, got {cents}.")
    _change_balance(requester, available=cents)
    return LedgerEntry.objects.create(
        kind=EntryKind.DEPOSIT, requester=requester, available_cents=cents, note=note, created_at=at
    )


@transaction.atomic
def hold(*, hit: HIT, cents: int, at: datetime) -> None:
    """Hold money for a HIT's slots. Raises InsufficientFunds, and changes nothing, if the balance is too low."""
    _change_hold(EntryKind.HOLD, hit, cents, at)


@transaction.atomic
def release(*, hit: HIT, cents: int, at: datetime, assignment: Assignment | None = None) -> None:
    """Release held money: a slot was rejected, or a HIT with free slots was disposed of."""
    _change_hold(EntryKind.RELEASE, hit, -cents, at, assignment)


@transaction.atomic
def pay_reward(*, assignment: Assignment, at: datetime) -> None:
    """Pay a slot's reward and fee from the held money. The database allows one reward per slot."""
    hit = assignment.hit
    common = {"requester": hit.requester, "hit": hit, "assignment": assignment, "created_at": at}
    _change_balance(hit.requester, held=-hit.slot_cents)
    if hit.reward_cents:
        LedgerEntry.objects.create(
            kind=EntryKind.REWARD,
            worker=assignment.worker,
            held_cents=-hit.reward_cents,
            worker_cents=hit.reward_cents,
            **common,
        )
    if hit.fee_cents:
        LedgerEntry.objects.create(kind=EntryKind.FEE, held_cents=-hit.fee_cents, **common)


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
    _change_balance(bonus.requester, available=-(bonus.amount_cents + bonus.fee_cents))
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
    """Return the amount owed to a worker in cents: the sum of their entries."""
    return int(worker.ledger.aggregate(sum=Sum("worker_cents", default=0))["sum"])


@transaction.atomic
def post_payout(*, payout: Payout, at: datetime) -> LedgerEntry:
    """Save a payout and its ledger entry, with the worker's row locked. Raises ValueError above the amount owed."""
    _lock_worker(payout.worker)
    owed = owed_cents(payout.worker)
    if not 0 < payout.amount_cents <= owed:
        raise ValueError(
            f"A payout is between 1 cent and the amount owed ({owed} cents), got {payout.amount_cents}."
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
def adjust_worker_balance(
    *, worker: Worker, cents: int, at: datetime, note: str, payout: Payout | None = None
) -> LedgerEntry:
    """Change the amount owed to a worker by ``cents`` (either sign), with the reason in ``note``.

    ``payout`` is the payout that was recorded wrongly. Raises ValueError if the worker would owe money.
    """
    _lock_worker(worker)
    owed = owed_cents(worker)
    if not cents or owed + cents < 0:
        raise ValueError(f"A correction leaves at least 0 cents owed of {owed}, and is not 0, got {cents}.")
    return LedgerEntry.objects.create(
        kind=EntryKind.ADJUSTMENT, worker=worker, payout=payout, worker_cents=cents, note=note, created_at=at
    )


@transaction.atomic
def adjust_requester_balance(*, requester: Requester, cents: int, at: datetime, note: str) -> LedgerEntry:
    """Correct a requester's available balance by ``cents`` (either sign), with the reason in ``note``."""
    _change_balance(requester, available=cents)
    return LedgerEntry.objects.create(
        kind=EntryKind.ADJUSTMENT, requester=requester, available_cents=cents, note=note, created_at=at
    )


def _lock_worker(worker: Worker) -> None:
    """Make concurrent payouts to this worker wait. (SQLite: they wait for the transaction anyway.)"""
    Worker.objects.select_for_update().get(pk=worker.pk)


def _change_hold(
    kind: EntryKind, hit: HIT, cents: int, at: datetime, assignment: Assignment | None = None
) -> None:
    """Move ``cents`` from the available to the held balance, or back if negative."""
    if not cents:
        return
    _change_balance(hit.requester, available=-cents, held=cents)
    LedgerEntry.objects.create(
        kind=kind,
        requester=hit.requester,
        hit=hit,
        assignment=assignment,
        available_cents=-cents,
        held_cents=cents,
        created_at=at,
    )


def _change_balance(requester: Requester, *, available: int = 0, held: int = 0) -> None:
    changed = Requester.objects.filter(
        pk=requester.pk, available_cents__gte=-available, held_cents__gte=-held
    ).update(available_cents=F("available_cents") + available, held_cents=F("held_cents") + held)
    if changed != 1:
        if available < 0:
            raise InsufficientFunds
        # A bug in this code, not a requester's mistake.
        raise RuntimeError(f"{requester.name} lacks {-held} held cents.")
