"""Record what reached workers outside of the platform, one by one or from a file, and correct what was wrong.

A recorded payout is never edited: a correction is a ledger entry of its own, with a reason that the worker reads.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.db import transaction

from hits.domain.money.usd import format_dollars
from hits.marketplace.errors import Refused
from hits.marketplace.models import Clock, LedgerEntry, Payout, Worker

from . import ledger

logger = logging.getLogger(__name__)

MAX_MEANS = 40
MAX_REFERENCE = 120
MAX_REASON = 200
MAX_ONCE = 64
MAX_CENTS = 10_000_000  # a hundred thousand dollars to one worker at once is a slip of the finger
EARLIEST = date(2000, 1, 1)


@dataclass(frozen=True)
class Transfer:
    """Money that reached a worker: cents, the day, how, and what the other side calls it."""

    worker: Worker
    cents: int
    paid_on: date
    means: str
    reference: str


class FieldRefused(Refused):
    """A field of a payout that cannot be used; ``field`` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def today() -> date:
    """Return the present day where the platform is run."""
    return Clock.now().astimezone(ZoneInfo(settings.TIME_ZONE)).date()


def check(transfer: Transfer) -> Transfer:
    """Return the transfer with its words tidied, or raise FieldRefused for what cannot be right by itself."""
    return Transfer(
        worker=transfer.worker,
        cents=checked_cents(transfer.cents),
        paid_on=checked_day(transfer.paid_on),
        means=tidy_means(transfer.means),
        reference=tidy_reference(transfer.reference),
    )


def checked_cents(cents: int) -> int:
    """Return the cents of a payout, or raise FieldRefused for what cannot be one."""
    if not 1 <= cents <= MAX_CENTS:
        raise FieldRefused("amount", f"Use 0.01 to {format_dollars(MAX_CENTS).removeprefix('$')}.")
    return cents


def checked_day(paid_on: date) -> date:
    """Return the day of a payout, or raise FieldRefused for one to come or long ago."""
    if paid_on > today():
        raise FieldRefused("date", f"{paid_on} is in the future; record a payout once it was made.")
    if paid_on < EARLIEST:
        raise FieldRefused("date", f"{paid_on} is too long ago; write it as 2026-11-30.")
    return paid_on


def tidy_means(typed: str) -> str:
    """Return how it was paid with single spaces, or raise FieldRefused."""
    return _words("means", typed, MAX_MEANS)


def tidy_reference(typed: str) -> str:
    """Return what the payment is called with single spaces, or raise FieldRefused."""
    return _words("reference", typed, MAX_REFERENCE)


def recorded(*, once: str) -> bool:
    """Tell whether this very wish was recorded already."""
    return Payout.objects.filter(once=once[:MAX_ONCE]).exists()


@transaction.atomic
def record(*, transfer: Transfer, once: str, by: AbstractBaseUser | None) -> Payout:
    """Record one payout; the same ``once`` again returns the first one's.

    Raises:
        FieldRefused: a field is bad, more is paid than is owed, or the same payout was recorded already.
    """
    tidy = check(transfer)
    # The worker's row is locked first: a second press waits here, and then finds what the first one wrote.
    Worker.objects.select_for_update().get(pk=tidy.worker.pk)
    known = Payout.objects.filter(once=once[:MAX_ONCE]).first()
    if known is not None:
        return known
    return _book(tidy, once[:MAX_ONCE], Clock.now(), by)


@transaction.atomic
def record_all(*, transfers: list[Transfer], once: str, by: AbstractBaseUser | None) -> list[Payout]:
    """Record all payouts of a file or none; the same ``once`` again returns the first ones.

    Raises:
        RowRefused: a row cannot be recorded; it is named, and nothing has changed.
    """
    workers = sorted({transfer.worker.pk for transfer in transfers})
    # In one order, so that two files at once wait for one another instead of both waiting for ever.
    list(Worker.objects.select_for_update().filter(pk__in=workers).order_by("pk"))
    known = list(Payout.objects.filter(once__startswith=f"{once}:").order_by("pk"))
    if known:
        return known
    now = Clock.now()
    made = []
    for number, transfer in enumerate(transfers, start=1):
        try:
            made.append(_book(check(transfer), f"{once}:{number}", now, by))
        except FieldRefused as problem:
            raise RowRefused(number, problem) from None
    return made


class RowRefused(Refused):
    """A row of a file that cannot be recorded; ``number`` counts the transfers from 1."""

    def __init__(self, number: int, problem: FieldRefused) -> None:
        super().__init__(str(problem))
        self.number = number
        self.field = problem.field


@transaction.atomic
def correct(
    *, worker: Worker, cents: int, reason: str, by: AbstractBaseUser, payout: Payout | None = None
) -> LedgerEntry:
    """Change what a worker is owed by ``cents`` (either sign) with a reason that the worker reads.

    ``payout`` is the one that was recorded wrongly: 20 dollars too much paid out on paper is +20 dollars here.

    Raises:
        FieldRefused: no reason, nothing to change, or the worker would owe money.
    """
    why = _words("reason", reason, MAX_REASON)
    if not cents or abs(cents) > MAX_CENTS:
        raise FieldRefused("amount", "Say by how much, in whole cents, such as 12.50 or -12.50.")
    try:
        entry = ledger.adjust_worker(worker=worker, cents=cents, at=Clock.now(), note=why, payout=payout)
    except ValueError:
        owed = ledger.owed_cents(worker)
        raise FieldRefused(
            "amount", f"{format_dollars(owed)} is owed; a correction takes away that much at most."
        ) from None
    LogEntry.objects.create(
        user_id=by.pk,
        content_type=ContentType.objects.get_for_model(LedgerEntry),
        object_id=str(entry.pk),
        object_repr=f"correction for {worker}",
        action_flag=ADDITION,
        change_message=f"{cents} cents: {why}",
    )
    logger.info("ledger entry %s corrects what %s is owed, by user %s", entry.pk, worker, by.pk)
    return entry


def _book(transfer: Transfer, once: str, now: datetime, by: AbstractBaseUser | None) -> Payout:
    same = {"paid_on": transfer.paid_on, "means": transfer.means, "reference": transfer.reference}
    if Payout.objects.filter(worker=transfer.worker, **same).exists():
        raise FieldRefused(
            "reference", f"A payout of {transfer.paid_on} with this means and reference is recorded already."
        )
    payout = Payout(
        worker=transfer.worker,
        amount_cents=transfer.cents,
        once=once,
        recorded_by_id=by.pk if by else None,
        recorded_at=now,
        **same,
    )
    try:
        ledger.record_payout(payout=payout, at=now)
    except ValueError:
        owed = ledger.owed_cents(transfer.worker)
        raise FieldRefused("amount", f"{format_dollars(owed)} is owed; pay that or less.") from None
    logger.info("payout %s to %s is recorded", payout.pk, transfer.worker)
    return payout


def _words(field: str, typed: str, most: int) -> str:
    words = " ".join(typed.split())
    if not words:
        raise FieldRefused(field, f"Say {_ASKED[field]}.")
    if len(words) > most or not words.isprintable():
        raise FieldRefused(field, f"Use at most {most} printable characters.")
    return words


_ASKED = {
    "means": "how it was paid, such as bank transfer",
    "reference": "what the payment is called where it was made, such as a transfer’s number",
    "reason": "why; the worker reads it",
}
