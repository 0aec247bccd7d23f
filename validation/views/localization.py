"""The human baseline of localization: launch matching rounds, and show their results."""

import secrets
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from hits.domain.images.image_facts import ImageFacts
from hits.domain.workers.qualification_pools import Pool
from hits.forms import read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.models import Project
from hits.selectors.images.images import image_facts
from hits.views.access import project_page
from hits.views.batches.launch import find_repeated_launch, report_launch
from hits.views.costs import add_balance_to_terms, launch_if_confirmed
from hits.views.pages import get_page, section_context
from hits.views.users import signed_in_user
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.sampling import MAX_SEED
from validation.domain.reports.localization import ImageScore
from validation.selectors import localization as selectors
from validation.selectors.localization import InferenceRow, matching_spec, region_mark
from validation.services.judging import default_pool
from validation.services.localization import launch_localization
from validation.views.judging_forms import SEED_RANGE, RoundTermsForm

PER_PAGE = 10
TAG_SIDE_DIVISOR = 30  # a letter is about 1/30 of the photo's longer side
TAG_WIDTH = 22  # CSS pixels from one letter to the next
DEFAULT_IMAGES = 101  # of the human baseline in Hessel et al. 2022


class MatchingRoundForm(RoundTermsForm):
    """A matching round: the sample of photos, and the terms."""

    n = forms.IntegerField(
        min_value=1, label="Number of photos", help_text="Drawn at random. Hessel et al. 2022 used 101."
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        label="Seed",
        help_text="The same seed and photos give the same sample. Stored with the round.",
    )
    again = forms.BooleanField(required=False, label="Include photos of earlier matching rounds")

    def __init__(self, available: int, total: int, pool: Pool | None, *args: Any, **kwargs: Any) -> None:
        initial = {
            "n": min(available or total, DEFAULT_IMAGES) or 1,
            "seed": secrets.randbelow(SEED_RANGE),
            "again": not available,
        }
        super().__init__(matching_spec().name, *args, initial=initial, default_pool=pool, **kwargs)
        self.available, self.total = available, total
        self.fields["reward"].help_text = "US dollars per photo."
        self.fields["pool"].label = "Who can match"
        self.fields["pool"].widget = forms.Select({"class": "input"}, self.fields["pool"].choices)  # type: ignore[attr-defined]
        self.fields["assignments"].label = "Workers per photo"
        self.fields["assignments"].help_text = "Different workers, never an author of the photo’s pairs."

    def clean(self) -> dict[str, Any]:
        """Check the number against the photos that can be matched."""
        data = super().clean() or {}
        limit = self.total if data.get("again") else self.available
        if (data.get("n") or 0) > limit:
            self.add_error("n", f"Use {limit} or fewer, the number of photos that can be matched.")
        return data


@dataclass(frozen=True, slots=True)
class MarkedRegion:
    """A region on the page; ``tags`` are its letters' positions: (left, top, offset to the right in CSS pixels)."""

    letter: str
    colour: int
    boxes: list[dict[str, int]]
    tags: list[tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class MatchedImage:
    """What the page shows of one image; ``correct`` and ``total`` are sums over its raters."""

    image: ImageFacts
    regions: list[MarkedRegion]
    score: ImageScore
    inferences: list[InferenceRow]

    @property
    def correct(self) -> int:
        """The number of correctly matched inferences over all raters."""
        return sum(self.score.correct)

    @property
    def total(self) -> int:
        """The number of matched inferences over all raters."""
        return self.score.total * len(self.score.correct)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def localization(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the baseline and its errors; launch a matching round in two steps."""
    if find_repeated_launch(request, project) is not None:
        return redirect("localization", project.slug)
    matchable = {row.image for row in selectors.matchable_images(project, include_sent=True)}
    total, available = len(matchable), len(matchable - selectors.image_ids_in_matching_rounds(project))
    form = MatchingRoundForm(available, total, default_pool(project), request.POST or None)
    suggest_reward(form, project=project, kind=form.kind)
    confirm: dict[str, Any] = {}
    status = 200
    if request.method == "POST" and request.POST.get("step") != "change":
        if not form.is_valid():
            status = 400
        else:
            refusal = launch_if_confirmed(request, partial(_launch_matching_round, request, project, form))
            if isinstance(refusal, HttpResponse):
                return refusal
            confirm = form.confirm_context(project, form.cleaned_data["n"]) | refusal
            status = 400 if refusal else 200
    context = section_context(project, "judging") | {
        "form": form,
        "kind": form.kind,
        "available": available,
        "total": total,
        "rounds": selectors.matching_rounds(project),
    }
    return render(
        request,
        "validation/localization/localization.html",
        context | _results_context(request, project) | confirm,
        status=status,
    )


def _launch_matching_round(request: HttpRequest, project: Project, form: MatchingRoundForm) -> str:
    """Launch a matching round, and return the page's URL."""
    data = form.cleaned_data
    batch, _ = launch_localization(
        project=project,
        n=data["n"],
        seed=data["seed"],
        by=signed_in_user(request),
        name=data["name"],
        terms=add_balance_to_terms(form.terms),
        include_judged=data["again"],
        idempotency_key=read_idempotency_key(request.POST),
    )
    report_launch(request, batch, f"its {data['n']} tasks are")
    return reverse("localization", args=[project.slug])


def _results_context(request: HttpRequest, project: Project) -> dict[str, Any]:
    """Return the score and one page of images, most errors first."""
    rows, found = selectors.load_human_baseline(project)
    hardest = sorted(found.by_image, key=lambda image: image.accuracy)
    page = get_page(request, hardest, PER_PAGE)
    return {
        "score": found,
        "perfect": sum(image.is_perfect for image in found.by_image),
        "page": page,
        "images": _matched_images(project, list(page), rows) if found.images else [],
    }


def _matched_images(project: Project, shown: list[ImageScore], rows: list[JudgmentRow]) -> list[MatchedImage]:
    units = selectors.units_by_set(project, [image.item for image in shown])
    answers: dict[str, list[JudgmentRow]] = {image.item: [] for image in shown}
    for row in rows:
        if row.item in answers:
            answers[row.item].append(row)
    result = []
    for image in shown:
        unit = units[image.item]
        (image_row,) = unit.images.all()
        inferences = selectors.inference_rows(unit.payload, answers[image.item])
        regions = _mark_regions(
            unit.payload["regions"], min_distance=max(image_row.width, image_row.height) // TAG_SIDE_DIVISOR
        )
        result.append(MatchedImage(image_facts(image_row), regions, image, inferences))
    return result


def _mark_regions(rows: list[dict[str, Any]], *, min_distance: int) -> list[MarkedRegion]:
    """Return the regions with their marks; letters closer than ``min_distance`` pixels are drawn side by side."""
    corners: list[tuple[int, int]] = []
    found = []
    for index, row in enumerate(rows):
        tags = []
        for box in row["boxes"]:
            left, top = box["left"], box["top"]
            beside = sum(abs(left - x) < min_distance and abs(top - y) < min_distance for x, y in corners)
            corners.append((left, top))
            tags.append((left, top, TAG_WIDTH * beside))
        found.append(MarkedRegion(*region_mark(index), row["boxes"], tags))
    return found
