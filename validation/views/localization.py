"""The human baseline of localization: launch a matching round, read how people did."""

import secrets
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hits.domain.images.image_facts import ImageFacts
from hits.domain.workers.qualification_pools import Pool
from hits.forms import launch_key
from hits.forms.hourly import offer_fair_reward
from hits.models import Project
from hits.selectors.images.images import facts
from hits.services.errors import Refused
from hits.services.launching import launch
from hits.views.access import project_page
from hits.views.balance import forget_balance
from hits.views.costs import refusal_context, with_funds
from hits.views.who import person
from validation.domain.judging.ratings import Judged
from validation.domain.judging.sampling import MOST_SEED
from validation.domain.reports.localization import ImageScore
from validation.selectors import localization as selectors
from validation.selectors.localization import InferenceRow, mark, matching
from validation.services.judging import usual_pool
from validation.services.localization import launch_localization
from validation.views.judging_forms import SEEDS, TermsForm

PER_PAGE = 10
NEAR = 30  # a letter takes about so small a part of a photo's side
TAG = 22  # CSS pixels from one letter to the next
PAPER_IMAGES = 101  # that one person matched for the paper


class LocalizationForm(TermsForm):
    """A matching round: how many photos are drawn, and who may match."""

    n = forms.IntegerField(min_value=1, label="How many photos", help_text="Drawn at random.")
    seed = forms.IntegerField(
        min_value=0,
        max_value=MOST_SEED,
        label="Seed",
        help_text="The same seed and photos give the same sample. It is kept with the round.",
    )
    again = forms.BooleanField(required=False, label="Also photos that were sent out before")

    def __init__(self, available: int, ever: int, pool: Pool | None, *args: Any, **kwargs: Any) -> None:
        initial = {
            "n": min(available or ever, PAPER_IMAGES) or 1,
            "seed": secrets.randbelow(SEEDS),
            "again": not available,
        }
        super().__init__(matching().name, *args, initial=initial, usual_pool=pool, **kwargs)
        self.available, self.ever = available, ever
        self.fields["reward"].help_text = "US dollars for each photo."
        self.fields["pool"].label = "Who may match"
        self.fields["pool"].widget = forms.Select({"class": "input"}, self.fields["pool"].choices)  # type: ignore[attr-defined]
        self.fields["assignments"].label = "Workers each"
        self.fields["assignments"].help_text = "Different people, no author of the photo’s pairs."

    def clean(self) -> dict[str, Any]:
        """Check the number against what there is."""
        data = super().clean() or {}
        there = self.ever if data.get("again") else self.available
        if (data.get("n") or 0) > there:
            self.add_error("n", f"There are {there}; use that or fewer.")
        return data


@dataclass(frozen=True, slots=True)
class Region:
    """A region with its mark as drawn; ``tags`` are (left, top, CSS pixels further right) of its letters."""

    letter: str
    colour: int
    boxes: list[dict[str, int]]
    tags: list[tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class MatchedImage:
    """One image as the page shows it: ``right`` of ``of`` are sums over its raters."""

    image: ImageFacts
    regions: list[Region]
    score: ImageScore
    inferences: list[InferenceRow]

    @property
    def right(self) -> int:
        """Inferences on their own region, over all raters."""
        return sum(self.score.right)

    @property
    def of(self) -> int:
        """Inferences that were matched, over all raters."""
        return self.score.of * len(self.score.right)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def localization(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the baseline and its errors; launch a matching round in two steps."""
    if launch.launched_before(project=project, once=launch_key(request.POST)) is not None:
        return redirect("localization", project.slug)
    matchable = {row.image for row in selectors.matchable_images(project, again=True)}
    ever, available = len(matchable), len(matchable - selectors.sent_images(project))
    form = LocalizationForm(available, ever, usual_pool(project), request.POST or None)
    offer_fair_reward(form, project=project, kind=form.kind)
    confirm: dict[str, Any] = {}
    status = 200
    if request.method == "POST" and request.POST.get("step") != "change":
        if not form.is_valid():
            status = 400
        elif request.POST.get("step") == "launch":
            launched = _launch(request, project, form)
            if isinstance(launched, HttpResponse):
                return launched
            confirm = form.costs(project, form.cleaned_data["n"]) | refusal_context(request.POST, launched)
            status = 400
        else:
            confirm = form.costs(project, form.cleaned_data["n"])
    context = {
        "project": project,
        "section": "judging",
        "form": form,
        "kind": form.kind,
        "available": available,
        "ever": ever,
        "rounds": selectors.matching_rounds(project),
    }
    return render(
        request,
        "validation/localization/localization.html",
        context | _results(project, request.GET.get("page")) | confirm,
        status=status,
    )


def _launch(request: HttpRequest, project: Project, form: LocalizationForm) -> HttpResponse | Refused:
    """Launch and go to the page, or return why not."""
    data = form.cleaned_data
    try:
        batch, _ = launch_localization(
            project=project,
            n=data["n"],
            seed=data["seed"],
            by=person(request),
            name=data["name"],
            terms=with_funds(form.terms),
            again=data["again"],
            once=launch_key(request.POST),
        )
    except Refused as error:
        return error
    forget_balance()
    messages.success(request, f"{batch.name} is launched; its {data['n']} tasks are being published.")
    return redirect("localization", project.slug)


def _results(project: Project, number: str | None) -> dict[str, Any]:
    """Return the score and one page of images, those with most errors first."""
    rows, found = selectors.baseline_rows(project)
    hardest = sorted(found.by_image, key=lambda image: image.share)
    page = Paginator(hardest, PER_PAGE).get_page(number)
    return {
        "score": found,
        "perfect": sum(image.perfect for image in found.by_image),
        "page": page,
        "images": _images(project, list(page), rows) if found.images else [],
    }


def _images(project: Project, shown: list[ImageScore], rows: list[Judged]) -> list[MatchedImage]:
    units = selectors.units_of_sets(project, [image.item for image in shown])
    answers: dict[str, list[Judged]] = {image.item: [] for image in shown}
    for row in rows:
        if row.item in answers:
            answers[row.item].append(row)
    result = []
    for image in shown:
        unit = units[image.item]
        (picture,) = unit.images.all()
        told = selectors.inference_rows(unit.payload, answers[image.item])
        regions = _regions(unit.payload["regions"], near=max(picture.width, picture.height) // NEAR)
        result.append(MatchedImage(facts(picture), regions, image, told))
    return result


def _regions(rows: list[dict[str, Any]], *, near: int) -> list[Region]:
    """Return the regions with their marks; letters within ``near`` image pixels of one another stand side by side."""
    corners: list[tuple[int, int]] = []
    found = []
    for place, row in enumerate(rows):
        tags = []
        for box in row["boxes"]:
            left, top = box["left"], box["top"]
            beside = sum(abs(left - x) < near and abs(top - y) < near for x, y in corners)
            corners.append((left, top))
            tags.append((left, top, TAG * beside))
        found.append(Region(*mark(place), row["boxes"], tags))
    return found
