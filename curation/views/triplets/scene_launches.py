"""Launch the writing of scenes, and their review by workers: form, cost, confirmation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from curation.selectors.triplets.scene_queue import SceneQueue
from curation.selectors.triplets.scenes import review_spec
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.scene_rounds import (
    MAX_SCENES,
    launch_scene_review,
    launch_scenes,
    reviewable_scenes,
    scene_kind,
)
from curation.views.fields import integer_field
from curation.views.pages import tab_context, triplet_project_page
from hits.domain.answers.scene_facets import CATEGORIES, CATEGORY_TEXTS, Category
from hits.domain.workers.qualification_pools import Pool
from hits.forms import read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.models import Batch, Project
from hits.views.batches.launch import find_repeated_launch, report_launch
from hits.views.costs import add_balance_to_terms, launch_if_confirmed
from hits.views.users import signed_in_user
from validation.domain.judging.quality_check_types import MAX_PERCENT, CheckRates
from validation.services.judging import default_pool
from validation.views.judging_forms import RoundTermsForm

TAB = "scenes"
DEFAULT_COUNT = 20
NOTHING_TO_REVIEW = (
    "No scene to review",
    "Every open scene is in a review already. Collect or import more scenes.",
)


class WritingForm(RoundTermsForm):
    """How many scenes workers write, how many of each category, and the terms."""

    count = integer_field("Number of scenes", "One a task.", low=1, high=MAX_SCENES)

    def __init__(self, missing: dict[str, int], *args: Any, pool: Pool | None, **kwargs: Any) -> None:
        count = sum(missing.values()) or DEFAULT_COUNT
        quotas = {f"quota_{name}": number for name, number in missing.items()}
        initial = {"count": count, **quotas}
        super().__init__(scene_kind().name, *args, initial=initial, default_pool=pool, **kwargs)
        for name in CATEGORIES:
            field = integer_field(
                name.capitalize(), CATEGORY_TEXTS[name], low=0, high=MAX_SCENES, required=False
            )
            field.widget.attrs["class"] = "input"
            self.fields[f"quota_{name}"] = field
        _name_terms(
            self,
            "US dollars per scene.",
            "Workers per task",
            "Each writes a scene of their own.",
            "Who can write",
        )

    @property
    def quota_fields(self) -> list[forms.BoundField]:
        """The numbers of each category."""
        return [self[f"quota_{name}"] for name in CATEGORIES]

    @property
    def quotas(self) -> dict[Category, int]:
        """The numbers that are asked for; the form must be valid."""
        given = {name: self.cleaned_data[f"quota_{name}"] for name in CATEGORIES}
        return {name: number for name, number in given.items() if number}

    def clean(self) -> dict[str, Any]:
        """Compare the categories with the number of scenes."""
        data: dict[str, Any] = super().clean() or {}
        if not self.errors and sum(self.quotas.values()) > data["count"]:
            asked = sum(self.quotas.values())
            self.add_error(
                "count", f"The categories ask for {asked} scenes: raise the number, or ask for fewer."
            )
        return data


class SceneReviewForm(RoundTermsForm):
    """How many of the open scenes others review, and the terms."""

    count = integer_field("Number of scenes", low=1)
    gold = integer_field(
        "Gold items, %",
        "Scenes with a known answer, added to these.",
        low=0,
        high=MAX_PERCENT,
        required=False,
    )

    def __init__(self, available: int, *args: Any, pool: Pool | None, **kwargs: Any) -> None:
        initial = {"count": available, "gold": 0}
        super().__init__(review_spec().name, *args, initial=initial, default_pool=pool, **kwargs)
        self.available = available
        self.fields["count"].help_text = f"Of {available} open ones without reviews, oldest first."
        who = "Different workers, never the author."
        _name_terms(self, "US dollars per review.", "Workers per scene", who, "Who can review")

    def clean_count(self) -> int:
        """Check the number against the scenes that are left."""
        count: int = self.cleaned_data["count"]
        if count > self.available:
            raise forms.ValidationError(f"Only {self.available} scenes are left: use that number or fewer.")
        return count

    @property
    def rates(self) -> CheckRates:
        """The rates of quality checks; the form must be valid."""
        return CheckRates(gold=self.cleaned_data["gold"] or 0)

    @property
    def units(self) -> int:
        """The scenes and the quality checks; the form must be valid."""
        count: int = self.cleaned_data["count"]
        return count + self.rates.total(count)


def _name_terms(form: RoundTermsForm, reward: str, redundancy: str, workers: str, pool: str) -> None:
    """Name the terms in the words of a round."""
    form.fields["reward"].help_text = reward
    form.fields["assignments"].label, form.fields["assignments"].help_text = redundancy, workers
    form.fields["pool"].label = pool
    form.fields["pool"].widget = forms.Select({"class": "input"}, form.fields["pool"].choices)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class LaunchPage:
    """A launch page in words. ``blocked`` is what is missing and where to get it."""

    title: str
    crumb: str
    about: str
    tasks: str
    blocked: tuple[str, str] | None = None


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def scene_launch(request: HttpRequest, project: Project) -> HttpResponse:
    """Ask workers to write scenes."""
    missing = SceneQueue(project, None).quotas().missing_by_category
    form = WritingForm(missing, request.POST or None, pool=default_pool(project))

    def launch(terms: RoundLaunch) -> Batch:
        count = form.cleaned_data["count"]
        return launch_scenes(project=project, count=count, quotas=form.quotas, launch=terms)[0]

    page = LaunchPage(
        "Ask workers to write scenes",
        "Writing",
        "Workers write a premise and two hypotheses, and say which is more plausible and why.",
        "its tasks are",
    )
    return _in_two_steps(request, project, form, launch, page, lambda: form.cleaned_data["count"])


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def scene_review_launch(request: HttpRequest, project: Project) -> HttpResponse:
    """Ask workers to review the open scenes of others."""
    rows = reviewable_scenes(project)
    form = SceneReviewForm(len(rows), request.POST or None, pool=default_pool(project))

    def launch(terms: RoundLaunch) -> Batch:
        chosen = rows[: form.cleaned_data["count"]]
        return launch_scene_review(project=project, launch=terms, chosen=chosen)[0]

    page = LaunchPage(
        "Ask workers to review scenes",
        "Review",
        "Others than the author say which hypothesis is more plausible, whether the premise is needed, whether "
        "pictures can show it, and whether it is new.",
        "its reviews are",
        None
        if rows
        else (
            "No scene to review",
            "Every open scene is in a review already. Collect or import more scenes.",
        ),
    )
    return _in_two_steps(request, project, form, launch, page, lambda: form.units)


def _in_two_steps(
    request: HttpRequest,
    project: Project,
    form: RoundTermsForm,
    launch: Callable[[RoundLaunch], Batch],
    page: LaunchPage,
    units: Callable[[], int],
) -> HttpResponse:
    """Show the form, then its cost, then launch."""
    repeated = find_repeated_launch(request, project)
    if repeated is not None:
        return redirect("batch-detail", repeated.pk)
    suggest_reward(form, project=project, kind=form.kind)

    def launch_round() -> str:
        batch = launch(
            RoundLaunch(
                by=signed_in_user(request),
                name=form.cleaned_data["name"],
                terms=add_balance_to_terms(form.terms),
                rates=getattr(form, "rates", CheckRates()),
                idempotency_key=read_idempotency_key(request.POST),
            )
        )
        report_launch(request, batch, page.tasks)
        return reverse("batch-detail", args=[batch.pk])

    extra: dict[str, Any] = {}
    status = 200
    if request.method == "POST" and request.POST.get("step") != "change" and page.blocked is None:
        if form.is_valid():
            refusal = launch_if_confirmed(request, launch_round)
            if isinstance(refusal, HttpResponse):
                return refusal
            extra = form.confirm_context(project, units()) | refusal
        status = 200 if form.is_valid() and not extra.get("refused") else 400
    context = tab_context(project, TAB, "triplets") | {
        "form": form,
        "kind": form.kind,
        "title": page.title,
        "crumb": page.crumb,
        "about": page.about,
        "blocked": page.blocked,
    }
    return render(request, "curation/triplets/scenes/launch.html", context | extra, status=status)
