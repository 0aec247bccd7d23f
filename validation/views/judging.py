"""The judging page: launch a review round, read what judges said."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hits import registry
from hits.domain.costs import cost_table
from hits.domain.facts import ImageFacts
from hits.forms import MoneyField, PageForm, launch_key, typed_cost
from hits.models import Batch, Observation, Project
from hits.selectors import observations as collected
from hits.selectors.images import facts
from hits.services import launch
from hits.services.errors import Refused
from hits.services.launch import MAX_OPINIONS, Terms
from hits.views.access import project_page
from hits.views.costs import cost_context, refusal_context, with_funds
from validation.domain.scales import WORDS, Dimension
from validation.domain.votes import RatingSummary
from validation.selectors import judging as selectors
from validation.selectors.judging import REVIEW, ReviewTallies
from validation.services.judging import launch_review

PER_PAGE = 20
SETS_SHOWN = 20
_HEADINGS = {
    Dimension.REASONABLE: "Reasonable",
    Dimension.BOXES: "Boxes",
    Dimension.INTERESTING: "Interesting",
}


class JudgingForm(PageForm):
    """What a judging round is called, pays and shows."""

    name = forms.CharField(
        max_length=120,
        required=False,
        label="Name",
        help_text="Workers read it in the task’s description; empty gives a plain one.",
    )
    reward = MoneyField(least=1, label="Reward", help_text="US dollars for each judgment.")
    assignments = forms.IntegerField(
        min_value=1,
        max_value=MAX_OPINIONS,
        label="Judges each",
        help_text="Different people, never the author.",
    )
    units = forms.IntegerField(min_value=1, label="How many")

    def __init__(self, kind_name: str, available: int, *args: Any, **kwargs: Any) -> None:
        kind = registry.get(kind_name)
        kwargs.setdefault(
            "initial",
            {"reward": kind.reward_cents, "assignments": kind.assignments_per_hit, "units": available},
        )
        super().__init__(*args, **kwargs)
        self.kind = kind
        self.available = available

    def clean_units(self) -> int:
        """Check the number against what there is."""
        units: int = self.cleaned_data["units"]
        if units > self.available:
            raise forms.ValidationError(f"There are {self.available}; use that or fewer.")
        return units

    @property
    def terms(self) -> Terms:
        """What the round pays; the form has to be valid."""
        return Terms(
            reward_cents=self.cleaned_data["reward"],
            opinions=self.cleaned_data["assignments"],
            confirmed_cents=typed_cost(self.data),
        )

    def estimate(self, project: Project) -> dict[str, Any]:
        """Return what the confirming step shows; the form has to be valid."""
        terms, units = self.terms, self.cleaned_data["units"]
        each = self.cleaned_data["assignments"]
        found = launch.estimate(kind=self.kind, terms=terms, units=units)
        rewards = f"Rewards, {units} × {each} judge{'' if each == 1 else 's'}"
        return cost_context(
            project=project,
            cost=cost_table(found, rewards=rewards, reward_cents=self.cleaned_data["reward"]),
            held_cents=found.held_cents,
            most_cents=found.most_cents,
        ) | {"estimate": found, "terms": terms, "units": units, "launch_key": uuid.uuid4().hex}


@dataclass(frozen=True, slots=True)
class PairRow:
    """One judged pair as the table shows it: votes as (words, count) per dimension, and the verdict."""

    observation: Observation
    image: ImageFacts
    cells: list[tuple[list[tuple[str, int]], bool | None]]
    judges: int


@dataclass(frozen=True, slots=True)
class SetRow:
    """One rated comparison set: its region and each candidate's text with its ratings."""

    set_id: str
    image: ImageFacts
    boxes: Sequence[dict[str, int]]
    candidates: list[tuple[str, tuple[int, ...], RatingSummary]]
    judges: int
    wanted: int


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def judging(request: HttpRequest, project: Project) -> HttpResponse:
    """Show tallies and ratings; launch a review round in two steps."""
    if launch.launched_before(project=project, once=launch_key(request.POST)) is not None:
        return redirect("judging", project.slug)
    waiting = selectors.unreviewed(project)
    form = JudgingForm(REVIEW, len(waiting), request.POST or None)
    confirm: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        if not form.is_valid():
            status = 400
        elif request.POST.get("step") == "launch":
            launched = _launch(request, project, form, waiting)
            if isinstance(launched, HttpResponse):
                return launched
            confirm, status = form.estimate(project) | refusal_context(request.POST, launched), 400
        elif request.POST.get("step") != "change":
            confirm = form.estimate(project)
    tallies = selectors.review_tallies(project=project)
    page = Paginator(list(tallies.pairs), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "section": "judging",
        "form": form,
        "kind": form.kind,
        "waiting": len(waiting),
        "tallies": tallies,
        "shares": _shares(tallies),
        "headings": list(_HEADINGS.values()),
        "page": page,
        "rows": _pair_rows(project, tallies, list(page)),
        "reviews": selectors.review_batches(project),
        "comparisons": _comparisons(project),
    }
    return render(request, "validation/judging.html", context | confirm, status=status)


def _launch(
    request: HttpRequest, project: Project, form: JudgingForm, waiting: list[Observation]
) -> HttpResponse | Refused:
    """Launch and go to the page, or return why not."""
    chosen = waiting[: form.cleaned_data["units"]]
    try:
        batch, _ = launch_review(
            project=project,
            observations=chosen,
            by=request.user,  # type: ignore[arg-type]
            name=form.cleaned_data["name"],
            terms=with_funds(form.terms),
            once=launch_key(request.POST),
        )
    except Refused as error:
        return error
    messages.success(request, f"{batch.name} is launched; its {len(chosen)} tasks are being published.")
    return redirect("judging", project.slug)


def _shares(tallies: ReviewTallies) -> dict[str, Any]:
    return {dimension.value: tallies.shares[dimension] for dimension in Dimension}


def _pair_rows(project: Project, tallies: ReviewTallies, ids: list[str]) -> list[PairRow]:
    found = collected.by_instance_ids(project, ids)
    rows = []
    for key in ids:
        if key not in found:
            continue
        pair = tallies.pairs[key]
        cells = [
            (
                [(WORDS[d][word], count) for word, count in pair.tallies[d].counts.items() if count],
                pair.verdicts[d],
            )
            for d in _HEADINGS
        ]
        rows.append(PairRow(found[key], facts(found[key].image), cells, pair.judges))
    return rows


def _comparisons(project: Project) -> list[tuple[Batch, list[SetRow], int]]:
    """Return each rating round with its first sets, and how many sets it has."""
    result = []
    for batch in selectors.comparison_batches(project):
        judged = selectors.likert_judgments(batch=batch)
        units = collected.units_of(batch)
        images = {image.pk: facts(image) for unit in units[:SETS_SHOWN] for image in unit.images.all()}
        rows = []
        for unit in units[:SETS_SHOWN]:
            payload = unit.payload
            texts = {c["id"]: c["inference"] for c in payload["candidates"]}
            found = judged.get(payload["set"])
            candidates = (
                [(texts[c.candidate], c.ratings, c.summary) for c in found.candidates] if found else []
            )
            candidates.sort(key=lambda row: -(row[2].mean or 0))
            rows.append(
                SetRow(
                    set_id=payload["set"],
                    image=images[payload["image"]],
                    boxes=payload["boxes"],
                    candidates=candidates,
                    judges=found.judges if found else 0,
                    wanted=batch.opinions,
                )
            )
        result.append((batch, rows, len(units)))
    return result
