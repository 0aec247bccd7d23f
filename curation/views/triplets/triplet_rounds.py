"""Ask workers to explain triplets, and to say which hypothesis is more plausible."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from curation.selectors.triplets.answers import plausibility_spec
from curation.services.triplets.triplet_rounds import (
    SHAPE_REWARD_CENTS,
    SHORT_SECONDS,
    PlausibilityOptions,
    launch_explanation_writing,
    launch_plausibility,
    plausibility_sources,
    triplets_to_explain,
)
from curation.services.triplets.triplets import EXPLANATION
from curation.views.fields import checkbox
from curation.views.pages import triplet_project_page
from curation.views.triplets.launching import LaunchPage, TripletRoundForm, launch_in_steps, percent_field
from curation.views.triplets.steps import count_words
from hits import registry
from hits.models import Project
from validation.domain.judging.triplet_shapes import Shape
from validation.selectors.quality_checks import usable_gold_items

TAB = "triplets"
BACK = ("image-triplets", "Triplets")
SHAPE_LABELS = {
    Shape.TRIPLET: "Triplet",
    Shape.PAIR: "Pairs",
    Shape.HYPOTHESES_ONLY: "Hypotheses only",
    Shape.TEXTS: "Texts",
}
SHAPE_TEXTS = {
    Shape.TRIPLET: (
        "Workers see the premise and both hypotheses, choose the more plausible one, explain, say how certain they "
        "are, and rate each hypothesis."
    ),
    Shape.PAIR: "Workers see the premise and one hypothesis, and rate how likely it is; a triplet gives two tasks.",
    Shape.HYPOTHESES_ONLY: (
        "The premise is hidden, so that answers show whether it is needed: people should be right in half of them."
    ),
    Shape.TEXTS: "Workers see the three texts in place of the images.",
}


def triplet_round_kinds() -> tuple[str, str]:
    """Return the kinds whose rounds the list of triplets shows."""
    return registry.kind_that_collects(EXPLANATION).name, plausibility_spec().name


class PlausibilityForm(TripletRoundForm):
    """The terms of a plausibility round of one shape, its option and its quality checks."""

    cannot_tell = checkbox("Offer “both equally plausible”")
    gold = percent_field("Gold items, %", "Triplets whose answer people of the project agreed on.")
    attention = percent_field(
        "Attention checks, %", "Triplets whose implausible hypothesis is replaced by one of another triplet."
    )
    own_fields = ("gold", "attention", "cannot_tell")

    def __init__(self, project: Project, shape: Shape, *args: Any) -> None:
        spec = plausibility_spec()
        super().__init__(project, spec.name, "triplet", *args)
        self.shape = shape
        self.gold_count = len(usable_gold_items(project, spec.name))
        self.fields[
            "assignments"
        ].help_text = "Different workers. Nobody who wrote, picked, explained or saw it."
        if shape in SHAPE_REWARD_CENTS:
            self.initial["reward"] = SHAPE_REWARD_CENTS[shape]
        if shape is not Shape.TRIPLET:
            del self.fields["attention"]
        if shape is Shape.PAIR:
            del self.fields["cannot_tell"]

    def clean_gold(self) -> int:
        """Refuse gold items where there are none."""
        percent: int = self.cleaned_data["gold"] or 0
        if percent and not self.gold_count:
            raise forms.ValidationError("No gold item is in use. Add gold items first, or use 0.")
        return percent

    @property
    def options(self) -> PlausibilityOptions:
        """What judges see and may answer; the form must be valid."""
        return PlausibilityOptions(self.shape, bool(self.cleaned_data.get("cannot_tell")))


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def explaining_launch(request: HttpRequest, project: Project) -> HttpResponse:
    """Ask workers to explain draft triplets, and to check their images."""
    drafts = len(triplets_to_explain(project))
    kind = registry.kind_that_collects(EXPLANATION)
    form = TripletRoundForm(project, kind.name, "triplet", request.POST or None, who="Who can explain")
    form.fields["assignments"].help_text = "One is enough: the newest explanation is the gold one."
    page = LaunchPage(
        tab=TAB,
        back=BACK,
        title="Ask workers to explain triplets",
        about=(
            "Workers see the three images with the gold hypothesis framed. They explain why it is more plausible, "
            "choose category and time, and say whether each image shows its text."
        ),
        tasks="its tasks are",
        facts=(f"{count_words(drafts, 'draft')} that nobody was asked about.",),
        blocked=None
        if drafts
        else (
            "No draft to explain",
            "Every draft was given to somebody, or there is none. Build triplets, or explain one on its page.",
        ),
    )
    return launch_in_steps(
        request,
        project,
        form,
        lambda launch: launch_explanation_writing(project=project, launch=launch)[0],
        lambda: drafts,
        page,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def judging_launch(request: HttpRequest, project: Project) -> HttpResponse:
    """Ask workers which hypothesis is more plausible, in one of four shapes; the address names the shape."""
    chosen = request.GET.get("shape", "")
    shape = Shape(chosen) if chosen in set(Shape) else Shape.TRIPLET
    sources = len(plausibility_sources(project, PlausibilityOptions(shape)))
    form = PlausibilityForm(project, shape, request.POST or None)
    items = "task" if shape is Shape.PAIR else "triplet"
    page = LaunchPage(
        tab=TAB,
        back=BACK,
        title="Ask workers which hypothesis is more plausible",
        about=SHAPE_TEXTS[shape],
        tasks="its tasks are",
        facts=(f"{count_words(sources, items)} that no round of this shape asked about.",),
        blocked=None
        if sources
        else (
            "No triplet to judge",
            "A triplet needs a gold explanation, and images that show their texts; each shape asks about it once.",
        ),
        seconds=SHORT_SECONDS if shape in SHAPE_REWARD_CENTS else None,
        switches=tuple((each.value, label, each is shape) for each, label in SHAPE_LABELS.items()),
    )
    return launch_in_steps(
        request,
        project,
        form,
        lambda launch: launch_plausibility(project=project, options=form.options, launch=launch)[0],
        lambda: sources,
        page,
    )
