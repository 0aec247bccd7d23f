"""Launch the writing of scenes, and their review by workers: form, cost, confirmation."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
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
from curation.views.pages import triplet_project_page
from curation.views.triplets.launching import LaunchPage, TripletRoundForm, launch_in_steps, percent_field
from hits.domain.answers.scene_facets import CATEGORIES, CATEGORY_TEXTS, Category
from hits.models import Batch, Project

TAB = "scenes"
BACK = ("scenes", "Scenes")
DEFAULT_COUNT = 20
NOTHING_TO_REVIEW = (
    "No scene to review",
    "Every open scene is in a review already. Collect or import more scenes.",
)


class WritingForm(TripletRoundForm):
    """How many scenes workers write, how many of each category, and the terms."""

    own_fields = ("count",)
    count = integer_field("Number of scenes", "One a task.", low=1, high=MAX_SCENES)

    def __init__(self, project: Project, missing: dict[str, int], *args: Any) -> None:
        quotas = {_quota_name(name): number for name, number in missing.items()}
        initial = {"count": sum(missing.values()) or DEFAULT_COUNT, **quotas}
        super().__init__(project, scene_kind().name, "scene", *args, who="Who can write", initial=initial)
        self.fields["assignments"].label = "Workers per task"
        self.fields["assignments"].help_text = "Each writes a scene of their own."
        for name in CATEGORIES:
            field = integer_field(
                name.capitalize(), CATEGORY_TEXTS[name], low=0, high=MAX_SCENES, required=False
            )
            field.widget.attrs["class"] = "input"
            self.fields[_quota_name(name)] = field

    @property
    def quota_fields(self) -> list[forms.BoundField]:
        """The numbers of each category."""
        return [self[_quota_name(name)] for name in CATEGORIES]

    @property
    def quotas(self) -> dict[Category, int]:
        """The numbers that are asked for; the form must be valid."""
        given = {name: self.cleaned_data[_quota_name(name)] for name in CATEGORIES}
        return {name: number for name, number in given.items() if number}

    def clean(self) -> dict[str, Any]:
        """Compare the categories with the number of scenes."""
        data: dict[str, Any] = super().clean() or {}
        if not self.errors and (asked := sum(self.quotas.values())) > data["count"]:
            self.add_error(
                "count", f"The categories ask for {asked} scenes: raise the number, or ask for fewer."
            )
        return data


def _quota_name(category: str) -> str:
    return f"quota_{category}"


class SceneReviewForm(TripletRoundForm):
    """How many of the open scenes others review, and the terms."""

    own_fields = ("count", "gold")
    count = integer_field("Number of scenes", low=1)
    gold = percent_field("Gold items, %", "Scenes with a known answer, added to these.")

    def __init__(self, project: Project, available: int, *args: Any) -> None:
        initial = {"count": available}
        who = "Who can review"
        super().__init__(project, review_spec().name, "scene", *args, who=who, initial=initial)
        self.available = available
        self.fields["count"].help_text = f"Of {available} open ones without reviews, oldest first."

    def clean_count(self) -> int:
        """Check the number against the scenes that are left."""
        count: int = self.cleaned_data["count"]
        if count > self.available:
            raise forms.ValidationError(f"Use at most {self.available}: no more open scenes are left.")
        return count


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def scene_launch(request: HttpRequest, project: Project) -> HttpResponse:
    """Ask workers to write scenes."""
    missing = SceneQueue(project, None).quotas().missing_by_category
    form = WritingForm(project, missing, request.POST or None)

    def launch(terms: RoundLaunch) -> Batch:
        count = form.cleaned_data["count"]
        return launch_scenes(project=project, count=count, quotas=form.quotas, launch=terms)[0]

    page = LaunchPage(
        tab=TAB,
        back=BACK,
        title="Ask workers to write scenes",
        about="Workers write a premise and two hypotheses, and say which is more plausible and why.",
        tasks="its tasks are",
    )
    return launch_in_steps(request, project, form, launch, lambda: form.cleaned_data["count"], page)


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def scene_review_launch(request: HttpRequest, project: Project) -> HttpResponse:
    """Ask workers to review the open scenes of others."""
    rows = reviewable_scenes(project)
    form = SceneReviewForm(project, len(rows), request.POST or None)

    def launch(terms: RoundLaunch) -> Batch:
        chosen = rows[: form.cleaned_data["count"]]
        return launch_scene_review(project=project, launch=terms, chosen=chosen)[0]

    page = LaunchPage(
        tab=TAB,
        back=BACK,
        title="Ask workers to review scenes",
        about="Others than the author say which hypothesis is more plausible, whether the premise is needed, whether "
        "pictures can show it, and whether it is new.",
        tasks="its reviews are",
        blocked=None if rows else NOTHING_TO_REVIEW,
    )
    return launch_in_steps(request, project, form, launch, lambda: form.cleaned_data["count"], page)
