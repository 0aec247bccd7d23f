"""Statements: what moved between two moments, with the balance after each line.

Lines stand in the order of their time. A running balance is computed while the rows are read, so a statement of any
length is streamed; what came before it is one sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, Q, QuerySet, Sum, Value, Window
from django.db.models.functions import TruncMonth

from hits.marketplace.models import EntryKind, LedgerEntry, Payout, Requester, Worker

CHUNK = 2_000


@dataclass(frozen=True)
class WorkerLine:
    """A change of what a worker is owed, and what is owed after it, in cents."""

    entry: LedgerEntry
    owed: int


@dataclass(frozen=True)
class RequesterLine:
    """A change of a requester's balances, and both after it, in cents."""

    entry: LedgerEntry
    available: int
    held: int


@dataclass(frozen=True)
class Month:
    """One month of a worker's money in cents; ``first`` is its first day."""

    first: date
    earned: int
    corrected: int
    paid_out: int
    lines: int


@dataclass(frozen=True)
class Span:
    """From the beginning of ``first`` to the end of ``last``, both days of UTC; ``None`` is open."""

    first: date | None = None
    last: date | None = None

    @property
    def begins(self) -> datetime | None:
        """The first moment."""
        return _midnight(self.first) if self.first else None

    @property
    def ends(self) -> datetime | None:
        """The moment after the last one."""
        return _midnight(self.last + timedelta(days=1)) if self.last else None

    @property
    def within(self) -> Q:
        """The condition for entries inside."""
        found = Q()
        if self.begins:
            found &= Q(created_at__gte=self.begins)
        return found & Q(created_at__lt=self.ends) if self.ends else found

    @classmethod
    def month(cls, first: date) -> Span:
        """Return the month which begins on that day."""
        following = (first.replace(day=28) + timedelta(days=4)).replace(day=1)
        return cls(first, following - timedelta(days=1))


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


_EARNING = (EntryKind.REWARD, EntryKind.BONUS)


def _sum_of(*kinds: EntryKind, prefix: str = "") -> Sum:
    wanted = Q(**{f"{prefix}kind__in": kinds})
    return Sum(f"{prefix}worker_cents", filter=wanted, default=0)


def months(worker: Worker) -> list[Month]:
    """Return the months in which something moved, the latest first; one query."""
    rows = (
        _of_worker(worker)
        .order_by()
        .annotate(month=TruncMonth("created_at", tzinfo=UTC))
        .values("month")
        .annotate(
            lines=Count("pk"),
            earned=_sum_of(*_EARNING),
            corrected=_sum_of(EntryKind.ADJUSTMENT),
            paid=_sum_of(EntryKind.PAYOUT),
        )
        .order_by("-month")
    )
    return [
        Month(row["month"].date(), row["earned"], row["corrected"], -row["paid"], row["lines"])
        for row in rows
    ]


def worker_lines(worker: Worker, span: Span) -> tuple[int, Iterator[WorkerLine]]:
    """Return what was owed before the span, and its lines, oldest first."""
    rows = _of_worker(worker)
    before = rows.filter(created_at__lt=span.begins) if span.begins else rows.none()
    opening = int(before.aggregate(sum=Sum("worker_cents", default=0))["sum"])
    inside = rows.filter(span.within).select_related("hit__hit_type", "assignment", "bonus", "payout")
    return opening, _running(inside.order_by("created_at", "pk"), opening)


def _running(rows: QuerySet[LedgerEntry], owed: int) -> Iterator[WorkerLine]:
    for entry in rows.iterator(chunk_size=CHUNK):
        owed += entry.worker_cents
        yield WorkerLine(entry, owed)


def payouts(worker: Worker) -> QuerySet[Payout]:
    """Return what was recorded as paid to a worker, newest first, each with its corrections in ``corrected``."""
    corrections = Sum("ledger__worker_cents", filter=Q(ledger__kind=EntryKind.ADJUSTMENT), default=0)
    return Payout.objects.filter(worker=worker).annotate(corrected=corrections).order_by("-paid_on", "-pk")


def owed_workers(*, everybody: bool = False) -> QuerySet[Any]:
    """Return workers with money to their name, those to whom most is owed first, each with its sums in cents.

    The sums are ``earned``, ``corrected``, ``paid`` (negative) and ``owed``. ``everybody``: also without an entry.
    """
    rows = Worker.objects.select_related("user").annotate(
        owed=Sum("ledger__worker_cents", default=0),
        lines=Count("ledger"),
        earned=_sum_of(*_EARNING, prefix="ledger__"),
        corrected=_sum_of(EntryKind.ADJUSTMENT, prefix="ledger__"),
        paid=_sum_of(EntryKind.PAYOUT, prefix="ledger__"),
    )
    return rows.order_by("-owed", "pk") if everybody else rows.filter(lines__gt=0).order_by("-owed", "pk")


def owed_in_all() -> int:
    """Return what is owed to all workers together, in cents."""
    return int(LedgerEntry.objects.aggregate(sum=Sum("worker_cents", default=0))["sum"])


def requester_lines(requester: Requester, span: Span) -> tuple[tuple[int, int], Iterator[RequesterLine]]:
    """Return what was available and on hold before the span, and its lines, oldest first."""
    rows = LedgerEntry.objects.filter(requester=requester)
    before = rows.filter(created_at__lt=span.begins) if span.begins else rows.none()
    sums = before.aggregate(available=Sum("available_cents", default=0), held=Sum("held_cents", default=0))
    opening = (int(sums["available"]), int(sums["held"]))
    inside = (
        rows.filter(span.within).select_related("hit", "assignment", "worker").order_by("created_at", "pk")
    )
    return opening, _balances(inside, *opening)


def _balances(rows: QuerySet[LedgerEntry], available: int, held: int) -> Iterator[RequesterLine]:
    for entry in rows.iterator(chunk_size=CHUNK):
        available += entry.available_cents
        held += entry.held_cents
        yield RequesterLine(entry, available, held)


def requester_entries(requester: Requester, span: Span) -> QuerySet[LedgerEntry]:
    """Return the same lines newest first, for a page: ``available_after`` and ``held_after`` are the balances."""
    (available, held), _ = requester_lines(requester, span)
    return (
        LedgerEntry.objects.filter(span.within, requester=requester)
        .select_related("hit__hit_type", "assignment", "worker")
        .annotate(available_after=_after("available_cents", available), held_after=_after("held_cents", held))
        .order_by("-created_at", "-pk")
    )


def _after(column: str, opening: int) -> ExpressionWrapper:
    running = Window(Sum(column), order_by=[F("created_at").asc(), F("pk").asc()])
    return ExpressionWrapper(running + Value(opening), output_field=BigIntegerField())


def _of_worker(worker: Worker) -> QuerySet[LedgerEntry]:
    return LedgerEntry.objects.filter(worker=worker).exclude(worker_cents=0)
