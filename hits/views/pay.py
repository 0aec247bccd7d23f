"""What work pays per hour: of a project by batch, kind and worker, and the card on a batch's page."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from hits.domain.chart import range_plot
from hits.domain.files.csv_download import csv_lines, words
from hits.domain.money.pay import Spread
from hits.domain.money.usd import format_usd
from hits.models import Batch, Project
from hits.selectors.money import pay
from hits.selectors.money.pay_card import pay_card
from hits.views.access import project_page

SHOWN = 50  # lines of a table; all on request
_COLUMNS = (
    "group", "name", "submissions", "median_usd_per_hour", "median_low_95", "median_high_95", "lower_quartile",
    "upper_quartile", "mean", "under_target", "target_usd_per_hour", "active_hours", "earned_usd",
)  # fmt: skip


@require_safe
@project_page()
def project_pay(request: HttpRequest, project: Project) -> HttpResponse:
    """Show what a project's work pays per hour, lowest first."""
    kind = request.GET.get("kind", "")
    found = pay.project_pay(project, kind)
    everything = "all" in request.GET
    context = {
        "project": project,
        "section": "pay",
        "pay": found,
        "kind": kind,
        "target": project.target_cents_per_hour,
        "tables": [
            _table("batch", "By batch", "Batch", found.by_batch, everything, project),
            _table("kind", "By kind of task", "Kind", found.by_kind, everything, project),
            _table("worker", "By worker", "Worker", found.by_worker, everything, project),
        ],
    }
    return render(request, "hits/money/pay.html", context)


def _table(
    key: str, title: str, heading: str, lines: Sequence[pay.Line], everything: bool, project: Project
) -> dict[str, Any]:
    shown = lines if everything else lines[:SHOWN]
    plot = range_plot([line.spread for line in shown], target=project.target_cents_per_hour)
    return {
        "key": key,
        "title": title,
        "heading": heading,
        "rows": list(zip(shown, plot.rows, strict=True)),
        "plot": plot,
        "hidden": len(lines) - len(shown),
        "under": sum(line.spread.short > 0 for line in lines),
        "of": len(lines),
    }


@require_safe
@project_page()
def project_pay_csv(request: HttpRequest, project: Project) -> HttpResponse:
    """Return the tables as one CSV; amounts in US dollars an hour."""
    found = pay.project_pay(project, request.GET.get("kind", ""))
    groups = (("batch", found.by_batch), ("kind", found.by_kind), ("worker", found.by_worker))
    rows = ([group, words(line.words), *_cells(line.spread)] for group, lines in groups for line in lines)
    reply = HttpResponse(csv_lines(_COLUMNS, rows), content_type="text/csv; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="pay-{project.slug}.csv"'
    return reply


def _cells(row: Spread) -> list[str | int]:
    low, high = (format_usd(cents) for cents in row.interval) if row.interval else ("", "")
    return [
        row.n,
        format_usd(row.median),
        low,
        high,
        format_usd(row.lower),
        format_usd(row.upper),
        format_usd(row.mean),
        row.under,
        format_usd(row.target),
        f"{row.seconds / 3600:.2f}",
        format_usd(row.cents),
    ]


def pay_context(batch: Batch) -> dict[str, Any]:
    """Return what a batch's page says about its pay."""
    card = pay_card(batch)
    spread = card.spread
    return {
        "pay": spread,
        "median": spread.median if spread else None,
        "under": spread.short if spread else 0,
        "target": batch.project.target_cents_per_hour,
        "measured": spread.n if spread else 0,
        "chart": card.chart,
        "by_day": card.by_day,
        "top_up": card.top_up,
        "top_up_url": reverse("batch-top-up", args=[batch.pk]),
        "topped_up": card.topped_up_cents,
        "workers": card.workers,
        "busiest": card.busiest,
    }
