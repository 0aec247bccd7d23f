"""Explanations of triplets with their votes: those of the group, of workers and of models."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.models import ExplanationSource, ImageTriplet
from curation.selectors.triplets.answers import selection_spec
from curation.selectors.triplets.explanations import (
    JudgedExplanation,
    judged_explanations,
    unlaunched_explanations,
)
from curation.selectors.triplets.triplets import TripletFacts, image_triplets
from curation.services.triplets.explanation_rounds import (
    MAX_ON_PAGE,
    count_explanations,
    explanation_sources,
    launch_explanations,
    take_in_crowd_explanations,
)
from curation.views.fields import checkbox
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.launching import (
    LaunchPage,
    TripletRoundForm,
    launch_in_steps,
    list_rounds,
    percent_field,
)
from curation.views.triplets.steps import Step, count_words
from curation.views.triplets.triplet_parts import ShownImage, show_images
from hits.forms import PageForm
from hits.models import Project
from hits.views.pages import get_page
from validation.selectors.quality_checks import usable_gold_items

TAB = "explanations"
TRIPLETS_PER_PAGE = 15
SOURCE_LABELS = {
    ExplanationSource.GOLD.value: "Gold",
    ExplanationSource.CROWD.value: "Worker",
    ExplanationSource.MODEL.value: "Model",
    ExplanationSource.REFERENCE.value: "Reference",
}
SOURCE_BADGES = {ExplanationSource.GOLD.value: "ok", ExplanationSource.MODEL.value: "info"}
WAITING, VALID, INVALID = "waiting", "valid", "invalid"


class ExplanationFilterForm(PageForm):
    """The explanations that the page shows."""

    source = forms.ChoiceField(
        required=False, label="Written by", choices=[("", "All"), *SOURCE_LABELS.items()]
    )
    votes = forms.ChoiceField(
        required=False,
        label="Votes",
        choices=[
            ("", "All"),
            (VALID, "Valid: ticked at least once"),
            (INVALID, "Ticked by nobody"),
            (WAITING, "Not judged"),
        ],
    )

    def matches(self, found: JudgedExplanation) -> bool:
        """Whether an explanation is shown; unknown values filter nothing."""
        given = self.cleaned_data if self.is_valid() else {}
        votes = given.get("votes", "")
        return (
            (not given.get("source") or found.row.source == given["source"])
            and (votes != WAITING or (not found.votes.voters and found.row.source != ExplanationSource.GOLD))
            and (votes != VALID or found.votes.valid > 0)
            and (votes != INVALID or (found.votes.voters > 0 and not found.votes.valid))
        )

    @property
    def is_active(self) -> bool:
        """Whether the form filters something."""
        return any(self.data.get(name) for name in self.fields)


@dataclass(frozen=True, slots=True)
class ShownExplanation:
    """An explanation with who wrote it and its votes."""

    found: JudgedExplanation
    source: str
    badge: str
    author: str

    @property
    def share(self) -> float | None:
        """The share of its judges who ticked it."""
        votes = self.found.votes
        return votes.valid / votes.voters if votes.voters else None


@dataclass(frozen=True, slots=True)
class ExplainedTriplet:
    """A triplet and the explanations of it that the filter shows."""

    triplet: ImageTriplet
    images: Sequence[ShownImage]
    explanations: Sequence[ShownExplanation]


@dataclass(frozen=True, slots=True)
class SourceFigures:
    """Explanations of one source: how many, how many judged, and how many of these somebody ticked."""

    label: str
    total: int
    judged: int
    valid: int
    ticks: int
    voters: int

    @property
    def valid_share(self) -> float | None:
        """The share of judged explanations that at least one judge ticked (Ventura et al. 2025 §4.2)."""
        return self.valid / self.judged if self.judged else None

    @property
    def tick_share(self) -> float | None:
        """The share of all judgments that are ticks."""
        return self.ticks / self.voters if self.voters else None


@require_safe
@triplet_project_page()
def explanation_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the explanations by triplet, with their votes."""
    everything = judged_explanations(project)
    form = ExplanationFilterForm(request.GET)
    by_triplet: dict[int, list[JudgedExplanation]] = defaultdict(list)
    for found in everything:
        if form.matches(found):
            by_triplet[found.row.triplet_id].append(found)
    page = get_page(request, sorted(by_triplet), TRIPLETS_PER_PAGE)
    waiting = sum(len(rows) for rows in unlaunched_explanations(project).values())
    context = tab_context(project, TAB, "triplets") | {
        "steps": _next_steps(project, waiting),
        "form": form,
        "page": page,
        "triplets": _explained_triplets(project, list(page), by_triplet),
        "figures": _source_figures(everything),
        "total": len(everything),
        "waiting": waiting,
        "rounds": list_rounds(project, selection_spec().name),
    }
    return render(request, "curation/triplets/explanations/explanations.html", context)


def _next_steps(project: Project, waiting: int) -> list[Step]:
    if not waiting:
        return []
    verb = "waits" if waiting == 1 else "wait"
    text = f"{count_words(waiting, 'explanation')} {verb} for judges"
    return [Step(text, "Ask workers", reverse("triplet-explanation-launch", args=[project.slug]))]


def _explained_triplets(
    project: Project, keys: list[int], by_triplet: dict[int, list[JudgedExplanation]]
) -> list[ExplainedTriplet]:
    rows = image_triplets(project).in_bulk(keys)
    return [
        ExplainedTriplet(
            rows[key], show_images(TripletFacts(rows[key])), [_show(found) for found in by_triplet[key]]
        )
        for key in keys
    ]


def _show(found: JudgedExplanation) -> ShownExplanation:
    row = found.row
    author = ""
    if row.prediction is not None:
        author = row.prediction.evaluation.label
    elif row.worker_id is not None:
        author = f"W-{row.worker_id}"
    return ShownExplanation(found, SOURCE_LABELS[row.source], SOURCE_BADGES.get(row.source, ""), author)


def _source_figures(rows: list[JudgedExplanation]) -> list[SourceFigures]:
    """Return the figures of each source, models one by one."""
    groups: dict[str, list[JudgedExplanation]] = defaultdict(list)
    for found in rows:
        label = SOURCE_LABELS[found.row.source]
        if found.row.prediction is not None:
            label = f"{label}: {found.row.prediction.evaluation.label}"
        groups[label].append(found)
    return [
        SourceFigures(
            label=label,
            total=len(given),
            judged=len(judged := [found for found in given if found.votes.voters]),
            valid=sum(found.votes.valid > 0 for found in judged),
            ticks=sum(found.votes.valid for found in judged),
            voters=sum(found.votes.voters for found in judged),
        )
        for label, given in groups.items()
    ]


@require_POST
@triplet_project_page()
def explanations_take_in(request: HttpRequest, project: Project) -> HttpResponse:
    """Store the explanations of people who chose the gold hypothesis."""
    stored = take_in_crowd_explanations(project)
    verb = "is" if stored == 1 else "are"
    messages.success(request, f"{count_words(stored, 'explanation')} of workers {verb} new.")
    return redirect("triplet-explanations", project.slug)


class SelectionForm(TripletRoundForm):
    """The terms of a round that ticks valid explanations, and its quality checks."""

    decoys: Any = checkbox("Put an explanation of another triplet on each page; nobody should tick it")
    gold: Any = percent_field("Gold items, %", "Pages whose answer people of the project agreed on.")
    own_fields = ("gold", "decoys")

    def __init__(self, project: Project, *args: Any) -> None:
        spec = selection_spec()
        super().__init__(project, spec.name, "page", *args)
        self.gold_count = len(usable_gold_items(project, spec.name))
        self.fields[
            "assignments"
        ].help_text = "Different workers, never who wrote an explanation of the page."

    def clean_gold(self) -> int:
        """Refuse gold items where there are none."""
        percent: int = self.cleaned_data["gold"] or 0
        if percent and not self.gold_count:
            raise forms.ValidationError("No gold item is in use. Add gold items first, or use 0.")
        return percent


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def selection_launch(request: HttpRequest, project: Project) -> HttpResponse:
    """Ask workers which explanations are valid."""
    if request.method == "POST":
        take_in_crowd_explanations(project)
    form = SelectionForm(project, request.POST or None)
    has_decoys = request.POST.get("decoys", "") not in ("", "False")
    sources = explanation_sources(project, decoys=has_decoys)
    page = LaunchPage(
        tab=TAB,
        back=("triplet-explanations", "Explanations"),
        title="Ask workers which explanations are valid",
        about=(
            "Workers see the three images with the gold hypothesis framed, and tick the explanations that link it "
            "to the premise. They do not learn who wrote them."
        ),
        tasks="its pages are",
        facts=(
            f"{count_words(count_explanations(sources), 'explanation')} on {count_words(len(sources), 'page')} of at "
            f"most {MAX_ON_PAGE}; equal texts are shown once.",
        ),
        blocked=None
        if sources
        else (
            "No explanation to judge",
            "Take in those of workers who chose the gold hypothesis, or evaluate a model with explanations.",
        ),
    )
    return launch_in_steps(
        request,
        project,
        form,
        lambda launch: launch_explanations(
            project=project, launch=launch, decoys=bool(form.cleaned_data["decoys"])
        )[0],
        lambda: len(sources),
        page,
    )
