"""Plan a review round: the number of pairs for a target interval width, their cost and their time."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from hits.charts.chart import Chart, DotName, PlotArea, Table
from hits.charts.scale import Scale, scale_with_round_quarters
from hits.domain.money.cost_table import cost_table
from hits.domain.money.usd import format_bare_usd
from hits.forms import MoneyField, PageForm
from hits.models import Project
from hits.mturk.environments import current_environment
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from hits.selectors.money.pay_forecast import forecast_launch_pay
from hits.services.launching import launch_estimate
from hits.services.launching.terms import MAX_REDUNDANCY, LaunchTerms
from hits.views.access import project_page
from hits.views.pages import section_context
from validation.domain.reports.planner import (
    PlanError,
    PrecisionTarget,
    SampleSize,
    expected_interval_width,
    find_sample_size,
    width_curve,
)
from validation.models import JudgingReport
from validation.selectors.judging import review_spec
from validation.selectors.report import newest_report

CHART_HEIGHT = 150  # pixels
DEFAULT_WIDTH, DEFAULT_RATE = 5, 90  # percentage points, percent
MAX_PERCENT = 100
ALPHA_KEY = "alpha_ordinal"  # in a report's coefficients


class PlannerForm(PageForm):
    """The target precision, and the terms of the round."""

    width = forms.FloatField(
        label="Interval width",
        help_text="Full width of the 95% interval, in percentage points.",
        min_value=0.1,
        max_value=99,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    rate = forms.FloatField(
        label="Expected share",
        help_text="Percentage of pairs that most judges find acceptable.",
        min_value=0,
        max_value=MAX_PERCENT,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    judges = forms.IntegerField(
        label="Workers per item", min_value=1, max_value=MAX_REDUNDANCY, help_text="Different workers."
    )
    reward = MoneyField(min_cents=1, label="Reward", help_text="US dollars per judgment.")
    population = forms.IntegerField(
        label="Population size",
        required=False,
        min_value=1,
        help_text="Number of pairs that the sample is drawn from. Leave empty if it is far larger than the sample.",
    )

    @property
    def precision_target(self) -> PrecisionTarget:
        """The target precision; requires a valid form.

        Raises:
            PlanError: no number of items reaches the target.
        """
        data = self.cleaned_data
        return PrecisionTarget(data["width"] / 100, data["rate"] / 100, data["population"])


@dataclass(frozen=True, slots=True)
class AlphaRow:
    """One dimension's agreement in the pilot, and the expected width of its interval over the planned items."""

    title: str
    value: float
    low: float
    high: float
    items: int
    width: float


@require_safe
@project_page()
def planner(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the form and the plan; writes nothing."""
    report = newest_report(project, review_spec().name)
    is_submitted = bool(set(PlannerForm.base_fields) & set(request.GET))
    form = PlannerForm(request.GET if is_submitted else _default_values(project, report))
    context: dict[str, Any] = {}
    if form.is_valid():
        try:
            context = _plan_context(project, form, report)
        except PlanError as error:
            form.add_error(error.field if error.field in form.fields else None, str(error))
    context |= section_context(project, "judging") | {
        "form": form,
        "kind": review_spec().kind,
        "report": report,
    }
    return render(
        request, "validation/reports/planner.html", context, status=200 if context.get("planned") else 400
    )


def _default_values(project: Project, report: JudgingReport | None) -> dict[str, Any]:
    """Return the form's initial values, from the newest report's share of acceptable pairs and the approved pairs."""
    kind = review_spec().kind
    share = report.figures["dimensions"]["reasonable"]["share"]["percent"] if report else None
    pairs = collected.approved_records(project, OBSERVATION).count()
    return {
        "width": DEFAULT_WIDTH,
        "rate": round(share, 1) if share is not None else DEFAULT_RATE,
        "judges": kind.redundancy,
        "reward": format_bare_usd(kind.reward_cents),
        "population": pairs or "",
    }


def _plan_context(project: Project, form: PlannerForm, report: JudgingReport | None) -> dict[str, Any]:
    target = form.precision_target
    planned = find_sample_size(target)
    kind = review_spec().kind
    reward, judges = form.cleaned_data["reward"], form.cleaned_data["judges"]
    cost = launch_estimate.estimate_cost(
        kind=kind, terms=LaunchTerms(reward_cents=reward, redundancy=judges), units=planned.items
    )
    rewards = f"Rewards, {planned.items:,} × {judges} worker{'' if judges == 1 else 's'}"
    launch_query = {
        "how": "sample",
        "n": planned.items,
        "assignments": judges,
        "reward": format_bare_usd(reward),
    }
    return {
        "planned": planned,
        "estimate": cost,
        "environment": current_environment(),
        "cost": cost_table(cost, first_label=rewards, reward_cents=reward),
        "forecast": forecast_launch_pay(project, kind, reward, redundancy=judges, units=planned.items),
        "chart": width_chart(target, planned),
        "low": 100 * planned.interval.low,
        "high": 100 * planned.interval.high,
        "points": 100 * planned.interval.width,
        "alphas": _expected_alpha_rows(report, planned.items),
        "launch_url": f"{reverse('review-new', args=[project.slug])}?{urlencode(launch_query)}",
    }


def width_chart(target: PrecisionTarget, planned: SampleSize) -> Chart:
    """Return the interval's width against the number of pairs, with the planned number marked."""
    points = width_curve(target, planned)
    first, last = points[0], points[-1]
    plot = PlotArea(
        Scale(first[0], max(last[0], first[0] + 1)), scale_with_round_quarters(first[1]), CHART_HEIGHT
    )
    items, width = planned.items, 100 * planned.interval.width
    dot = plot.dot((items, None, None), (width, None, None), "", kind="chosen")
    text = f"{items:,} pairs: {width:.1f}"
    return Chart(
        summary=(
            f"Width of the interval by number of pairs: {first[1]:.1f} points with {first[0]:,}, "
            f"{width:.1f} with {items:,}, {last[1]:.1f} with {last[0]:,}."
        ),
        height=CHART_HEIGHT,
        kind="line",
        x_label="pairs judged",
        y_label="width, percentage points",
        curves=[plot.curve("strong", points)],
        dots=[replace(dot, name=DotName(text, 10, -8, "start"))],
        x_ticks=plot.x_ticks(4, min_step=1, format_value=lambda n: f"{n:,.0f}"),
        y_ticks=plot.quarter_ticks(lambda value: f"{value:g}"),
        table=Table(("Pairs", "Width, points"), [(f"{n:,}", f"{wide:.1f}") for n, wide in points[::6]]),
    )


def _expected_alpha_rows(report: JudgingReport | None, items: int) -> list[AlphaRow]:
    """Return the expected width of each alpha that has an interval in the pilot's report."""
    rows = []
    for name, found in report.figures["dimensions"].items() if report else ():
        row = found.get("coefficients", {}).get(ALPHA_KEY) or {}
        low, high, value = row.get("low"), row.get("high"), row.get("value")
        if low is None or high is None or value is None or not row.get("items"):
            continue
        width = expected_interval_width(pilot_width=high - low, pilot_items=row["items"], items=items)
        rows.append(AlphaRow(review_spec().dimension_title(name), value, low, high, row["items"], width))
    return rows
