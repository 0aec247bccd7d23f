"""Statements: the ledger entries of a period with the balance after each.

Rows are in chronological order. The running balance is computed while rows are read, so a statement of any length
can be streamed; the opening balance is one query.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, Q, QuerySet, Sum, Value, Window
from django.db.models.functions import TruncMonth

from hits.marketplace.models import EntryKind, LedgerEntry, Payout, Requester, Worker

CHUNK_SIZE = 2_000


@dataclass(frozen=True)
class WorkerStatementRow:
    """A ledger entry of a worker and the amount owed after it, in cents."""

    entry: LedgerEntry
    owed: int


@dataclass(frozen=True)
class RequesterStatementRow:
    """A ledger entry of a requester and both balances after it, in cents."""

    entry: LedgerEntry
    available: int
    held: int


@dataclass(frozen=True)
class MonthSummary:
    """The sums of one month of a worker's ledger entries, in cents."""

    first_day: date
    earned: int
    corrected: int
    paid_out: int
    entry_count: int


@dataclass(frozen=True)
class DateRange:
    """From the start of ``first`` to the end of ``last``, both UTC days; ``None`` is no limit."""

    first: date | None = None
    last: date | None = None

    @property
    def starts_at(self) -> datetime | None:
        """The first moment of the range, or None without a limit."""
        return _midnight(self.first) if self.first else None

    @property
    def ends_at(self) -> datetime | None:
        """The first moment after the range, or None without a limit."""
        return _midnight(self.last + timedelta(days=1)) if self.last else None

    @property
    def condition(self) -> Q:
        """The condition for entries in the range."""
        condition = Q()
        if self.starts_at:
            condition &= Q(created_at__gte=self.starts_at)
        return condition & Q(created_at__lt=self.ends_at) if self.ends_at else condition

    @classmethod
    def for_month(cls, first: date) -> "DateRange":
        """Return the range of the month that begins on ``first``."""
        next_month = (first.replace(day=28) + timedelta(days=4)).replace(day=1)
        return cls(first, next_month - timedelta(days=1))


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


_EARNING_KINDS = (EntryKind.REWARD, EntryKind.BONUS)


def _sum_entry_kinds(*kinds: EntryKind, prefix: str = "") -> Sum:
    condition = Q(**{f"{prefix}kind__in": kinds})
    return Sum(f"{prefix}worker_cents", filter=condition, default=0)


def list_months(worker: Worker) -> list[MonthSummary]:
    """Return the months with entries, latest first; one query."""
    rows = (
        _worker_entries(worker)
        .order_by()
        .annotate(month=TruncMonth("created_at", tzinfo=UTC))
        .values("month")
        .annotate(
            entry_count=Count("pk"),
            earned=_sum_entry_kinds(*_EARNING_KINDS),
            corrected=_sum_entry_kinds(EntryKind.ADJUSTMENT),
            paid=_sum_entry_kinds(EntryKind.PAYOUT),
        )
        .order_by("-month")
    )
    return [
        MonthSummary(row["month"].date(), row["earned"], row["corrected"], -row["paid"], row["entry_count"])
        for row in rows
    ]


def worker_owed_and_rows(worker: Worker, date_range: DateRange) -> tuple[int, Iterator[WorkerStatementRow]]:
    """Return the amount owed before the range, and the rows in it, oldest first."""
    rows = _worker_entries(worker)
    earlier = rows.filter(created_at__lt=date_range.starts_at) if date_range.starts_at else rows.none()
    opening = int(earlier.aggregate(sum=Sum("worker_cents", default=0))["sum"])
    inside = rows.filter(date_range.condition).order_by("created_at", "pk")
    related = inside.select_related("hit__hit_type", "assignment", "bonus", "payout")
    return opening, _worker_balance_rows(related, opening)


def _worker_balance_rows(rows: QuerySet[LedgerEntry], owed: int) -> Iterator[WorkerStatementRow]:
    for entry in rows.iterator(chunk_size=CHUNK_SIZE):
        owed += entry.worker_cents
        yield WorkerStatementRow(entry, owed)


def list_payouts(worker: Worker) -> QuerySet[Payout]:
    """Return the payouts of a worker, newest first, each with its corrections in ``corrected``."""
    corrections = Sum("ledger__worker_cents", filter=Q(ledger__kind=EntryKind.ADJUSTMENT), default=0)
    return Payout.objects.filter(worker=worker).annotate(corrected=corrections).order_by("-paid_on", "-pk")


def list_payees(*, include_all: bool = False) -> QuerySet[Any]:
    """Return workers with ledger entries, highest amount owed first, with their sums in cents.

    The sums are ``earned``, ``corrected``, ``paid`` (negative) and ``owed``. ``include_all`` adds workers without
    entries.
    """
    rows = Worker.objects.select_related("user").annotate(
        owed=Sum("ledger__worker_cents", default=0),
        entry_count=Count("ledger"),
        earned=_sum_entry_kinds(*_EARNING_KINDS, prefix="ledger__"),
        corrected=_sum_entry_kinds(EntryKind.ADJUSTMENT, prefix="ledger__"),
        paid=_sum_entry_kinds(EntryKind.PAYOUT, prefix="ledger__"),
    )
    return (rows if include_all else rows.filter(entry_count__gt=0)).order_by("-owed", "pk")


def total_owed_cents() -> int:
    """Return the total amount owed to all workers, in cents."""
    return int(LedgerEntry.objects.aggregate(sum=Sum("worker_cents", default=0))["sum"])


def requester_balances_and_rows(
    requester: Requester, date_range: DateRange
) -> tuple[tuple[int, int], Iterator[RequesterStatementRow]]:
    """Return the available and held balances before the range, and the rows in it, oldest first."""
    rows = LedgerEntry.objects.filter(requester=requester)
    earlier = rows.filter(created_at__lt=date_range.starts_at) if date_range.starts_at else rows.none()
    sums = earlier.aggregate(available=Sum("available_cents", default=0), held=Sum("held_cents", default=0))
    opening = (int(sums["available"]), int(sums["held"]))
    inside = rows.filter(date_range.condition).order_by("created_at", "pk")
    return opening, _requester_balance_rows(inside.select_related("hit", "assignment", "worker"), *opening)


def _requester_balance_rows(
    rows: QuerySet[LedgerEntry], available: int, held: int
) -> Iterator[RequesterStatementRow]:
    for entry in rows.iterator(chunk_size=CHUNK_SIZE):
        available += entry.available_cents
        held += entry.held_cents
        yield RequesterStatementRow(entry, available, held)


def list_requester_entries(requester: Requester, date_range: DateRange) -> QuerySet[LedgerEntry]:
    """Return a requester's entries in the range, newest first, with ``available_after`` and ``held_after``."""
    (available, held), _ = requester_balances_and_rows(requester, date_range)
    return (
        LedgerEntry.objects.filter(date_range.condition, requester=requester)
        .select_related("hit__hit_type", "assignment", "worker")
        .annotate(
            available_after=_running_balance_expression("available_cents", available),
            held_after=_running_balance_expression("held_cents", held),
        )
        .order_by("-created_at", "-pk")
    )


def _running_balance_expression(column: str, opening: int) -> ExpressionWrapper:
    running = Window(Sum(column), order_by=[F("created_at").asc(), F("pk").asc()])
    return ExpressionWrapper(running + Value(opening), output_field=BigIntegerField())


def _worker_entries(worker: Worker) -> QuerySet[LedgerEntry]:
    return LedgerEntry.objects.filter(worker=worker).exclude(worker_cents=0)
