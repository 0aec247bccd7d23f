"""Pay per hour of a project by batch, kind and worker, and the pay card of a batch's page."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from hits.charts.pay import pay_ranges
from hits.domain.files.csv_download import csv_lines, escape_formula
from hits.domain.money.pay import RateSpread
from hits.domain.money.usd import format_bare_usd
from hits.models import Batch, Project
from hits.selectors.money import pay
from hits.selectors.money.pay_card import pay_card
from hits.views.access import project_page
from hits.views.pages import section_context

MAX_ROWS = 50  # rows of a table; ``?all`` shows all
_COLUMNS = (
    "group", "name", "submissions", "median_usd_per_hour", "median_low_95", "median_high_95", "lower_quartile",
    "upper_quartile", "mean", "under_target", "target_usd_per_hour", "active_hours", "earned_usd",
)  # fmt: skip


@require_safe
@project_page()
def project_pay(request: HttpRequest, project: Project) -> HttpResponse:
    """Show a project's pay per hour, lowest first."""
    kind = request.GET.get("kind", "")
    found = pay.project_pay(project, kind)
    show_all = "all" in request.GET
    context = section_context(project, "pay") | {
        "pay": found,
        "kind": kind,
        "target": project.target_cents_per_hour,
        "tables": [
            _pay_table_context("batch", "By batch", "Batch", found.by_batch, show_all, project),
            _pay_table_context("kind", "By kind of task", "Kind", found.by_kind, show_all, project),
            _pay_table_context("worker", "By worker", "Worker", found.by_worker, show_all, project),
        ],
    }
    return render(request, "hits/money/pay.html", context)


def _pay_table_context(
    key: str, title: str, heading: str, lines: Sequence[pay.PayRow], show_all: bool, project: Project
) -> dict[str, Any]:
    shown = lines if show_all else lines[:MAX_ROWS]
    ranges = pay_ranges([line.spread for line in shown], target=project.target_cents_per_hour)
    return {
        "key": key,
        "title": title,
        "heading": heading,
        "rows": list(zip(shown, ranges.rows, strict=True)),
        "axis": ranges.axis,
        "hidden": len(lines) - len(shown),
        "under": sum(line.spread.shortfall_cents > 0 for line in lines),
        "of": len(lines),
    }


@require_safe
@project_page()
def project_pay_csv(request: HttpRequest, project: Project) -> HttpResponse:
    """Return the tables as one CSV; amounts in US dollars per hour."""
    found = pay.project_pay(project, request.GET.get("kind", ""))
    groups = (("batch", found.by_batch), ("kind", found.by_kind), ("worker", found.by_worker))
    rows = (
        [group, escape_formula(line.label), *_cells(line.spread)] for group, lines in groups for line in lines
    )
    reply = HttpResponse(csv_lines(_COLUMNS, rows), content_type="text/csv; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="pay-{project.slug}.csv"'
    return reply


def _cells(row: RateSpread) -> list[str | int]:
    low, high = (format_bare_usd(cents) for cents in row.interval) if row.interval else ("", "")
    return [
        row.n,
        format_bare_usd(row.median),
        low,
        high,
        format_bare_usd(row.lower_quartile),
        format_bare_usd(row.upper_quartile),
        format_bare_usd(row.mean),
        row.under_count,
        format_bare_usd(row.target),
        f"{row.seconds / 3600:.2f}",
        format_bare_usd(row.cents),
    ]


def pay_context(batch: Batch) -> dict[str, Any]:
    """Return the pay context of a batch's page."""
    card = pay_card(batch)
    spread = card.spread
    return {
        "pay": spread,
        "median": spread.median if spread else None,
        "under": spread.shortfall_cents if spread else 0,
        "target": batch.project.target_cents_per_hour,
        "measured": spread.n if spread else 0,
        "chart": card.chart,
        "by_day": card.by_day,
        "top_up": card.top_up,
        "top_up_url": reverse("batch-top-up", args=[batch.pk]),
        "topped_up": card.topped_up_cents,
        "workers": card.workers,
        "most_active_percent": card.most_active_percent,
    }
