"""Statements as page and CSV: of a worker by month, and of a requester between two days."""

from collections.abc import Iterator
from datetime import date
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from hits.domain.files.csv_download import escape_formula
from hits.domain.money.usd import format_bare_usd
from hits.marketplace.closure_reasons import remove_bonus_reference
from hits.marketplace.models import Clock, LedgerEntry, Requester, Worker
from hits.marketplace.selectors import statements
from hits.marketplace.selectors.statements import DateRange
from hits.marketplace.services import lifecycle

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
def worker_statement(request: HttpRequest, year: int, month: int, worker: Worker) -> HttpResponse:
    """Show the ledger entries of a worker in one month, with the amount owed after each."""
    lifecycle.apply_due_changes_of_worker(worker_pk=worker.pk, now=Clock.now())
    first = _first_day_or_404(year, month)
    opening, rows_iterator = statements.worker_owed_and_rows(worker, DateRange.for_month(first))
    rows = list(rows_iterator)
    context = {
        "worker": worker,
        "first": first,
        "opening": opening,
        "rows": rows,
        "closing": rows[-1].owed if rows else opening,
    }
    return render(request, "marketplace/earnings/statement.html", context)


@require_GET
@worker_required
def worker_statement_csv(
    request: HttpRequest, year: int, month: int, worker: Worker
) -> StreamingHttpResponse:
    """Download the rows of ``worker_statement`` as CSV."""
    _, rows = statements.worker_owed_and_rows(worker, DateRange.for_month(_first_day_or_404(year, month)))
    name = f"statement-{year}-{month:02d}.csv"
    return csv_response(name=name, columns=WORKER_COLUMNS, rows=_worker_csv_rows(rows))


def _worker_csv_rows(rows: Iterator[statements.WorkerStatementRow]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        entry = row.entry
        yield (
            entry.created_at.isoformat(timespec="seconds"),
            entry.kind,
            escape_formula(describe_entry(entry)),
            format_bare_usd(entry.worker_cents),
            format_bare_usd(row.owed),
        )


def describe_entry(entry: LedgerEntry) -> str:
    """Return the purpose of an entry: the bonus's reason, the task's title, or the note."""
    if entry.bonus is not None:
        return remove_bonus_reference(entry.bonus.reason)
    return entry.hit.hit_type.title if entry.hit is not None else entry.note


@never_cache
@require_GET
@platform_admin_required
def requester_statement(request: HttpRequest, requester_pk: int) -> HttpResponse:
    """Show the ledger entries of a requester between two days, with the balances after each."""
    owner = get_object_or_404(Requester, pk=requester_pk)
    date_range, error = _parse_date_range(request)
    rows = statements.list_requester_entries(owner, date_range)
    context = {
        "owner": owner,
        "error": error,
        "page": Paginator(rows, PER_PAGE).get_page(request.GET.get("page")),
        "typed": request.GET,
        "query": urlencode({name: request.GET.get(name, "") for name in ("from", "to")}),
    }
    return render(
        request, "marketplace/requesters/requester_statement.html", context, status=400 if error else 200
    )


@require_GET
@platform_admin_required
def requester_statement_csv(request: HttpRequest, requester_pk: int) -> HttpResponseBase:
    """Download the rows of ``requester_statement`` as CSV, for accounting."""
    owner = get_object_or_404(Requester, pk=requester_pk)
    date_range, error = _parse_date_range(request)
    if error:
        return requester_statement(request, requester_pk)  # the page shows the error
    _, rows = statements.requester_balances_and_rows(owner, date_range)
    days = "".join(f"-{day:%Y%m%d}" for day in (date_range.first, date_range.last) if day)
    return csv_response(
        name=f"ledger-{owner.pk}{days}.csv", columns=REQUESTER_COLUMNS, rows=_requester_csv_rows(rows)
    )


def _requester_csv_rows(rows: Iterator[statements.RequesterStatementRow]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        entry = row.entry
        yield (
            entry.created_at.isoformat(timespec="seconds"),
            entry.kind,
            entry.hit.hit_id if entry.hit else "",
            entry.assignment.assignment_id if entry.assignment else "",
            entry.worker.worker_id if entry.worker else "",
            format_bare_usd(entry.available_cents),
            format_bare_usd(entry.held_cents),
            format_bare_usd(row.available),
            format_bare_usd(row.held),
            escape_formula(entry.note),
        )


def _first_day_or_404(year: int, month: int) -> date:
    try:
        first = date(year, month, 1)
    except ValueError:
        raise Http404("There is no such month.") from None
    if first > Clock.now().date():
        raise Http404("This month has not begun.")
    return first


def _parse_date_range(request: HttpRequest) -> tuple[DateRange, str]:
    """Return the date range of the query string, and an error message."""
    days: list[date | None] = []
    for name in ("from", "to"):
        typed = request.GET.get(name, "").strip()
        try:
            days.append(date.fromisoformat(typed) if typed else None)
        except ValueError:
            return DateRange(), f"{name}: {typed} is not a date; write it as 2026-11-30."
    first, last = days
    if first and last and last < first:
        return DateRange(), "to: the last day is before the first day."
    return DateRange(first, last), ""
