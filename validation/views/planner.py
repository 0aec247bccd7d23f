"""Plan a review round: how many pairs an interval of a wished width needs, and what they cost and take."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from hits.domain.money.costs import cost_table
from hits.domain.money.usd import format_usd
from hits.forms import MoneyField, PageForm
from hits.models import Project
from hits.mturk.environments import current
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from hits.selectors.money.pay_forecast import forecast_for
from hits.services.launching import launch_estimate
from hits.services.launching.terms import MAX_OPINIONS, Terms
from hits.views.access import project_page
from validation.domain.reports.planner import PlanError, Wish, coefficient_width, curve, items_for
from validation.models import JudgingReport
from validation.selectors.judging import review
from validation.selectors.report import latest

USUAL_WIDTH, USUAL_RATE = 5, 90
MOST_PERCENT = 100
ALPHA = "alpha_ordinal"


class PlannerForm(PageForm):
    """What is wished for, and what the round pays."""

    width = forms.FloatField(
        label="Width of the interval",
        help_text="Percentage points from end to end, 95% level.",
        min_value=0.1,
        max_value=99,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    rate = forms.FloatField(
        label="Expected share",
        help_text="Percent of pairs that pass.",
        min_value=0,
        max_value=MOST_PERCENT,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    judges = forms.IntegerField(
        label="Judges each", min_value=1, max_value=MAX_OPINIONS, help_text="Different people."
    )
    reward = MoneyField(least=1, label="Reward", help_text="US dollars for each judgment.")
    population = forms.IntegerField(
        label="Pairs to draw from",
        required=False,
        min_value=1,
        help_text="Empty: far more than the sample.",
    )

    @property
    def wish(self) -> Wish:
        """The wish; the form has to be valid.

        Raises:
            PlanError: one that no number of items meets.
        """
        data = self.cleaned_data
        return Wish(data["width"] / 100, data["rate"] / 100, data["population"])


@dataclass(frozen=True, slots=True)
class AlphaLine:
    """One dimension's agreement in the pilot, and how wide its interval would be over the planned items."""

    title: str
    value: float
    low: float
    high: float
    items: int
    width: float


@require_safe
@project_page()
def planner(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the form, and the plan for what it asks; nothing is written."""
    report = latest(project, review().name)
    asked = bool(set(PlannerForm.base_fields) & set(request.GET))
    form = PlannerForm(request.GET if asked else _usual(project, report))
    context: dict[str, Any] = {}
    if form.is_valid():
        try:
            context = _plan(project, form, report)
        except PlanError as error:
            form.add_error(error.field if error.field in form.fields else None, str(error))
    context |= {
        "project": project,
        "section": "judging",
        "form": form,
        "kind": review().kind,
        "report": report,
    }
    return render(request, "validation/reports/planner.html", context, status=200 if context.get("planned") else 400)


def _usual(project: Project, report: JudgingReport | None) -> dict[str, Any]:
    """Return what the form begins with: the share that the newest report found, and all approved pairs."""
    kind = review().kind
    share = report.figures["dimensions"]["reasonable"]["share"]["percent"] if report else None
    pairs = collected.accepted(project, OBSERVATION).count()
    return {
        "width": USUAL_WIDTH,
        "rate": round(share, 1) if share is not None else USUAL_RATE,
        "judges": kind.assignments_per_hit,
        "reward": format_usd(kind.reward_cents),
        "population": pairs or "",
    }


def _plan(project: Project, form: PlannerForm, report: JudgingReport | None) -> dict[str, Any]:
    wish = form.wish
    planned = items_for(wish)
    kind = review().kind
    reward, judges = form.cleaned_data["reward"], form.cleaned_data["judges"]
    cost = launch_estimate.estimate(
        kind=kind, terms=Terms(reward_cents=reward, opinions=judges), units=planned.items
    )
    rewards = f"Rewards, {planned.items:,} × {judges} judge{'' if judges == 1 else 's'}"
    wished = {
        "how": "sample",
        "n": planned.items,
        "assignments": judges,
        "reward": format_usd(reward),
    }
    return {
        "planned": planned,
        "estimate": cost,
        "environment": current(),
        "cost": cost_table(cost, rewards=rewards, reward_cents=reward),
        "forecast": forecast_for(
            project=project,
            kind=kind,
            reward_cents=reward,
            bonus_cents=0,
            opinions=judges,
            units=planned.items,
        ),
        "curve": curve(wish, planned),
        "low": 100 * planned.interval.low,
        "high": 100 * planned.interval.high,
        "points": 100 * planned.interval.width,
        "alphas": _alphas(report, planned.items),
        "launch_url": f"{reverse('review-new', args=[project.slug])}?{urlencode(wished)}",
    }


def _alphas(report: JudgingReport | None, items: int) -> list[AlphaLine]:
    """Return what a pilot's report lets expect of the agreement; nothing where it has no interval."""
    lines = []
    for name, found in report.figures["dimensions"].items() if report else ():
        row = found.get("coefficients", {}).get(ALPHA) or {}
        low, high, value = row.get("low"), row.get("high"), row.get("value")
        if low is None or high is None or value is None or not row.get("items"):
            continue
        width = coefficient_width(pilot_width=high - low, pilot_items=row["items"], items=items)
        lines.append(AlphaLine(review().title_of(name), value, low, high, row["items"], width))
    return lines
