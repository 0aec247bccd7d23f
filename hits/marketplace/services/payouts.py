"""Record payouts made outside the platform, one by one or from a file, and correct the amount owed.

A recorded payout is never edited: a correction is a separate ledger entry with a reason that the worker reads.
"""

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
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Clock, LedgerEntry, Payout, Worker

from . import ledger

logger = logging.getLogger(__name__)

MAX_MEANS_LENGTH = 40
MAX_REFERENCE_LENGTH = 120
MAX_REASON_LENGTH = 200
MAX_IDEMPOTENCY_KEY_LENGTH = 64
MAX_CENTS = 10_000_000  # a payout above 100,000 dollars is a typing error
EARLIEST_DAY = date(2000, 1, 1)


@dataclass(frozen=True)
class Transfer:
    """A payout to a worker: cents, day, payment method, and the reference of the payment."""

    worker: Worker
    cents: int
    paid_on: date
    means: str
    reference: str


class PayoutFieldError(ActionRefused):
    """An invalid field of a payout; ``field`` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def today() -> date:
    """Return the current day in the platform's time zone."""
    return Clock.now().astimezone(ZoneInfo(settings.TIME_ZONE)).date()


def clean_transfer(transfer: Transfer) -> Transfer:
    """Return the transfer with normalized white space, or raise PayoutFieldError for an invalid field."""
    return Transfer(
        worker=transfer.worker,
        cents=clean_cents(transfer.cents),
        paid_on=clean_day(transfer.paid_on),
        means=clean_payment_means(transfer.means),
        reference=clean_reference(transfer.reference),
    )


def clean_cents(cents: int) -> int:
    """Return the cents of a payout, or raise PayoutFieldError for an invalid amount."""
    if not 1 <= cents <= MAX_CENTS:
        raise PayoutFieldError("amount", f"Enter 0.01 to {format_dollars(MAX_CENTS).removeprefix('$')}.")
    return cents


def clean_day(paid_on: date) -> date:
    """Return the day of a payout, or raise PayoutFieldError for a future or very old one."""
    if paid_on > today():
        raise PayoutFieldError("date", f"{paid_on} is in the future; record a payout after it was made.")
    if paid_on < EARLIEST_DAY:
        raise PayoutFieldError("date", f"{paid_on} is too long ago; write it as 2026-11-30.")
    return paid_on


def clean_payment_means(typed: str) -> str:
    """Return the payment method with single spaces, or raise PayoutFieldError."""
    return _clean_text("means", typed, MAX_MEANS_LENGTH)


def clean_reference(typed: str) -> str:
    """Return the payment reference with single spaces, or raise PayoutFieldError."""
    return _clean_text("reference", typed, MAX_REFERENCE_LENGTH)


def is_payout_recorded(*, idempotency_key: str) -> bool:
    """Return whether a payout with this key is recorded already."""
    return Payout.objects.filter(idempotency_key=idempotency_key[:MAX_IDEMPOTENCY_KEY_LENGTH]).exists()


@transaction.atomic
def record_payout(*, transfer: Transfer, idempotency_key: str, by: AbstractBaseUser | None) -> Payout:
    """Record one payout; a repeated ``idempotency_key`` returns the first payout.

    Raises:
        PayoutFieldError: a field is invalid, the amount exceeds the amount owed, or the payout is recorded already.
    """
    validated = clean_transfer(transfer)
    # The worker's row is locked first: a second press waits here and then finds the first payout.
    Worker.objects.select_for_update().get(pk=validated.worker.pk)
    existing = Payout.objects.filter(idempotency_key=idempotency_key[:MAX_IDEMPOTENCY_KEY_LENGTH]).first()
    if existing is not None:
        return existing
    return _post_payout(validated, idempotency_key[:MAX_IDEMPOTENCY_KEY_LENGTH], Clock.now(), by)


@transaction.atomic
def record_payouts(
    *, transfers: list[Transfer], idempotency_key: str, by: AbstractBaseUser | None
) -> list[Payout]:
    """Record all payouts of a file or none; a repeated ``idempotency_key`` returns the first ones.

    Raises:
        PayoutRowError: a row cannot be recorded. The error names it, and nothing has changed.
    """
    workers = sorted({transfer.worker.pk for transfer in transfers})
    # In a fixed order, so that two concurrent imports do not deadlock.
    list(Worker.objects.select_for_update().filter(pk__in=workers).order_by("pk"))
    existing = list(Payout.objects.filter(idempotency_key__startswith=f"{idempotency_key}:").order_by("pk"))
    if existing:
        return existing
    now = Clock.now()
    recorded = []
    for number, transfer in enumerate(transfers, start=1):
        try:
            recorded.append(_post_payout(clean_transfer(transfer), f"{idempotency_key}:{number}", now, by))
        except PayoutFieldError as problem:
            raise PayoutRowError(number, problem) from None
    return recorded


class PayoutRowError(ActionRefused):
    """A row of a file that cannot be recorded; ``number`` counts transfers from 1."""

    def __init__(self, number: int, problem: PayoutFieldError) -> None:
        super().__init__(str(problem))
        self.number = number
        self.field = problem.field


@transaction.atomic
def correct_balance(
    *, worker: Worker, cents: int, reason: str, by: AbstractBaseUser, payout: Payout | None = None
) -> LedgerEntry:
    """Change the amount owed to a worker by ``cents`` (either sign) with a reason that the worker reads.

    ``payout`` is the payout that was recorded wrongly: one recorded 20 dollars too high needs +20 dollars here.

    Raises:
        PayoutFieldError: no reason, no change, or the worker would owe money.
    """
    clean_reason = _clean_text("reason", reason, MAX_REASON_LENGTH)
    if not cents or abs(cents) > MAX_CENTS:
        raise PayoutFieldError("amount", "Enter the change in whole cents, such as 12.50 or -12.50.")
    try:
        entry = ledger.adjust_worker_balance(
            worker=worker, cents=cents, at=Clock.now(), note=clean_reason, payout=payout
        )
    except ValueError:
        owed = ledger.owed_cents(worker)
        raise PayoutFieldError(
            "amount", f"{format_dollars(owed)} is owed; a correction can deduct at most that."
        ) from None
    LogEntry.objects.create(
        user_id=by.pk,
        content_type=ContentType.objects.get_for_model(LedgerEntry),
        object_id=str(entry.pk),
        object_repr=f"correction for {worker}",
        action_flag=ADDITION,
        change_message=f"{cents} cents: {clean_reason}",
    )
    logger.info("ledger entry %s corrects what %s is owed, by user %s", entry.pk, worker, by.pk)
    return entry


def _post_payout(
    transfer: Transfer, idempotency_key: str, now: datetime, by: AbstractBaseUser | None
) -> Payout:
    identity = {"paid_on": transfer.paid_on, "means": transfer.means, "reference": transfer.reference}
    if Payout.objects.filter(worker=transfer.worker, **identity).exists():
        raise PayoutFieldError(
            "reference", f"A payout of {transfer.paid_on} with this method and reference is recorded already."
        )
    payout = Payout(
        worker=transfer.worker,
        amount_cents=transfer.cents,
        idempotency_key=idempotency_key,
        recorded_by_id=by.pk if by else None,
        recorded_at=now,
        **identity,
    )
    try:
        ledger.post_payout(payout=payout, at=now)
    except ValueError:
        owed = ledger.owed_cents(transfer.worker)
        raise PayoutFieldError("amount", f"{format_dollars(owed)} is owed; pay that or less.") from None
    logger.info("payout %s to %s is recorded", payout.pk, transfer.worker)
    return payout


def _clean_text(field: str, typed: str, max_length: int) -> str:
    text = " ".join(typed.split())
    if not text:
        raise PayoutFieldError(field, f"Enter {_FIELD_HINTS[field]}.")
    if len(text) > max_length or not text.isprintable():
        raise PayoutFieldError(field, f"Use at most {max_length} printable characters.")
    return text


_FIELD_HINTS = {
    "means": "the payment method, such as bank transfer",
    "reference": "the reference of the payment, such as a transfer number",
    "reason": "the reason; the worker reads it",
}
