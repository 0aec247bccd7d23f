"""Statements: a worker's by the month, a requester's between two days; both as a page and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from hits.domain.files.csv_download import words
from hits.domain.money.usd import format_usd
from hits.marketplace.models import Clock, LedgerEntry, Requester, Worker
from hits.marketplace.selectors import statements
from hits.marketplace.selectors.statements import Span
from hits.marketplace.services import lifecycle
from hits.marketplace.wording import without_reference

from .access import platform_admin_required, worker_required
from .csv_download import csv_response

PER_PAGE = 100
WORKER_COLUMNS = ("date", "entry", "for", "amount", "owed")
REQUESTER_COLUMNS = (
    "date",
    "entry",
    "hit_id",
    "assignment_id",
    "worker_id",
    "available",
    "on_hold",
    "available_balance",
    "on_hold_balance",
    "note",
)


@never_cache
@require_GET
@worker_required
def month(request: HttpRequest, year: int, month: int, worker: Worker) -> HttpResponse:
    """Show one month of a worker's money, line by line, with what was owed after each."""
    lifecycle.sweep_worker(worker_pk=worker.pk, now=Clock.now())
    first = _first_day(year, month)
    opening, found = statements.worker_lines(worker, Span.month(first))
    lines = list(found)
    context = {
        "worker": worker,
        "first": first,
        "opening": opening,
        "lines": lines,
        "closing": lines[-1].owed if lines else opening,
    }
    return render(request, "marketplace/earnings/statement.html", context)


@require_GET
@worker_required
def month_csv(request: HttpRequest, year: int, month: int, worker: Worker) -> StreamingHttpResponse:
    """Download the same."""
    _, lines = statements.worker_lines(worker, Span.month(_first_day(year, month)))
    name = f"statement-{year}-{month:02d}.csv"
    return csv_response(name=name, columns=WORKER_COLUMNS, rows=_worker_rows(lines))


def _worker_rows(lines: Iterator[statements.WorkerLine]) -> Iterator[tuple[str, ...]]:
    for line in lines:
        entry = line.entry
        yield (
            entry.created_at.isoformat(timespec="seconds"),
            entry.kind,
            words(what_for(entry)),
            format_usd(entry.worker_cents),
            format_usd(line.owed),
        )


def what_for(entry: LedgerEntry) -> str:
    """Return what a line is for: the bonus's reason, the task's title, or the note."""
    if entry.bonus is not None:
        return without_reference(entry.bonus.reason)
    return entry.hit.hit_type.title if entry.hit is not None else entry.note


@never_cache
@require_GET
@platform_admin_required
def requester(request: HttpRequest, requester_pk: int) -> HttpResponse:
    """Show one requester's entries between two days, with the balances after each."""
    owner = get_object_or_404(Requester, pk=requester_pk)
    span, problem = _span(request)
    rows = statements.requester_entries(owner, span)
    context = {
        "owner": owner,
        "problem": problem,
        "page": Paginator(rows, PER_PAGE).get_page(request.GET.get("page")),
        "kept": request.GET,
        "query": urlencode({name: request.GET.get(name, "") for name in ("from", "to")}),
    }
    return render(request, "marketplace/requesters/requester_statement.html", context, status=400 if problem else 200)


@require_GET
@platform_admin_required
def requester_csv(request: HttpRequest, requester_pk: int) -> HttpResponseBase:
    """Download the same, for accounting."""
    owner = get_object_or_404(Requester, pk=requester_pk)
    span, problem = _span(request)
    if problem:
        return requester(request, requester_pk)  # the page says what to mend
    _, lines = statements.requester_lines(owner, span)
    days = "".join(f"-{day:%Y%m%d}" for day in (span.first, span.last) if day)
    return csv_response(
        name=f"ledger-{owner.pk}{days}.csv", columns=REQUESTER_COLUMNS, rows=_requester_rows(lines)
    )


def _requester_rows(lines: Iterator[statements.RequesterLine]) -> Iterator[tuple[str, ...]]:
    for line in lines:
        entry = line.entry
        yield (
            entry.created_at.isoformat(timespec="seconds"),
            entry.kind,
            entry.hit.hit_id if entry.hit else "",
            entry.assignment.assignment_id if entry.assignment else "",
            entry.worker.worker_id if entry.worker else "",
            format_usd(entry.available_cents),
            format_usd(entry.held_cents),
            format_usd(line.available),
            format_usd(line.held),
            words(entry.note),
        )


def _first_day(year: int, month: int) -> date:
    try:
        first = date(year, month, 1)
    except ValueError:
        raise Http404("There is no such month.") from None
    if first > Clock.now().date():
        raise Http404("That month has not begun.")
    return first


def _span(request: HttpRequest) -> tuple[Span, str]:
    """Return the days of the address's query, and what is wrong with them."""
    days: list[date | None] = []
    for name in ("from", "to"):
        typed = request.GET.get(name, "").strip()
        try:
            days.append(date.fromisoformat(typed) if typed else None)
        except ValueError:
            return Span(), f"{name}: {typed} is no day; write it as 2026-11-30."
    first, last = days
    if first and last and last < first:
        return Span(), "to: the last day is before the first one."
    return Span(first, last), ""
