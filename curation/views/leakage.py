"""The page of images that splits share: start a search, and review pairs side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Page
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from curation.models import LeakageRun, LeakedPair, LeakReview, LeakVerdict, Source
from curation.selectors.jobs import LEAKAGE, latest_job
from curation.selectors.leakage import (
    OPEN,
    count_images_by_split,
    count_images_without_split,
    leakage_runs,
    leaked_pairs,
    newest_reviews,
    verdict_counts,
)
from curation.services import leakage as services
from curation.services.sources import SOURCE_TITLES
from curation.sources.identity import find_identities
from curation.sources.leakage import MIN_THRESHOLD
from curation.views.fields import choice_field, float_field, integer_field
from curation.views.pages import tab_context
from hits.charts.chart import Chart
from hits.charts.histograms import histogram
from hits.domain.images.image_facts import ImageFacts
from hits.forms import PageForm
from hits.models import Image, Project
from hits.selectors.images.images import image_facts
from hits.services.errors import Refused
from hits.services.images.duplicates import unmark_duplicate
from hits.views.access import project_page
from hits.views.pages import action_messages, get_or_404, get_page, job_if_open
from hits.views.users import signed_in_user

PAIRS_PER_PAGE = 12
ALL = "all"
VERDICT_FILTERS = {
    OPEN: "To review",
    LeakVerdict.SAME: "Same",
    LeakVerdict.DIFFERENT: "Different",
    ALL: "All",
}
SET_ASIDE = "aside"
ID_LABELS = {"coco": "COCO photo", "flickr": "Flickr photo"}


class LeakageForm(PageForm):
    """Options of a comparison of splits."""

    threshold = float_field(
        "Minimum cosine",
        "Cosine of two image vectors; 1 is identical. A lower minimum finds more pairs.",
        low=MIN_THRESHOLD,
        high=1,
        initial=services.LeakageOptions().threshold,
    )
    limit = integer_field(
        "Pairs to keep",
        "Only the most similar pairs are kept for review; all pairs are counted.",
        low=1,
        high=services.MAX_PAIRS,
        initial=services.LeakageOptions().limit,
    )
    compare = choice_field(
        "By",
        [
            (services.CompareBy.NEAR, "Image vectors, files and published ids"),
            (services.CompareBy.COPIES, "Files and published ids only"),
        ],
        "Pictures with the same COCO or Flickr id are copies.",
    )


@dataclass(frozen=True, slots=True)
class PairSide:
    """One image of a pair on the page."""

    image: Image
    facts: ImageFacts
    source: str


@dataclass(frozen=True, slots=True)
class ShownLeakedPair:
    """A pair on the page. ``cosine`` is ``None`` if no vectors were used."""

    pair: LeakedPair
    sides: Sequence[PairSide]
    cosine: float | None
    reasons: Sequence[str]
    review: LeakReview | None
    duplicate: Image
    is_set_aside: bool


@require_safe
@project_page()
def leakage(request: HttpRequest, project: Project) -> HttpResponse:
    """Show a run's pairs, by default those of the newest run."""
    return _render_page(request, project)


@require_POST
@project_page()
def start_leakage_check(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue a search."""
    form = LeakageForm(request.POST, auto_id="leak_%s")
    if not form.is_valid():
        return _render_page(request, project, form=form, status=400)
    options = services.LeakageOptions(**form.cleaned_data)
    queued = "The comparison is queued. Reviews of pairs are kept."
    with action_messages(request, "Not started", queued):
        services.request_leakage_check(project=project, options=options, by=signed_in_user(request))
    return redirect("curation-leakage", project.slug)


@require_POST
@project_page()
def review_leaked_pair(request: HttpRequest, project: Project, pair_id: int) -> HttpResponse:
    """Record a verdict; with ``aside``, also set one of the two images aside."""
    pairs = LeakedPair.objects.filter(run__project=project).select_related("first", "second")
    pair = get_or_404(pairs.filter(pk=pair_id).first(), "There is no such pair.")
    verdict = request.POST.get("verdict", "")
    with action_messages(request, "Not done"):
        if verdict == SET_ASIDE:
            duplicate = services.set_leaked_image_aside(pair=pair, by=signed_in_user(request))
            effect = "is no longer offered. Pairs and released versions are unaffected."
            messages.success(request, f"{duplicate.name} {effect}")
        else:
            services.review_leaked_pair(pair=pair, verdict=verdict, by=signed_in_user(request))
    return _redirect_back(request, project, pair.run_id)


@require_POST
@project_page()
def offer_image_again(request: HttpRequest, project: Project, image_id: int) -> HttpResponse:
    """Offer an image again that was set aside."""
    try:
        unmark_duplicate(project=project, image=image_id, by=signed_in_user(request))
    except Refused as error:
        raise Http404("There is no such image.") from error
    messages.success(request, "The photo is offered again.")
    return _redirect_back(request, project)


def _redirect_back(request: HttpRequest, project: Project, run: int | None = None) -> HttpResponse:
    """Redirect to the list of pairs, with the run, filter and page of the submitted form."""
    parameters = {"run": run or request.POST.get("run", ""), "show": request.POST.get("show", "")}
    parameters["page"] = request.POST.get("page", "")
    query = urlencode({name: value for name, value in parameters.items() if value})
    return redirect(f"{reverse('curation-leakage', args=[project.slug])}?{query}#pairs")


def _render_page(
    request: HttpRequest, project: Project, *, form: LeakageForm | None = None, status: int = 200
) -> HttpResponse:
    job = latest_job(project, LEAKAGE)
    running = job_if_open(job)
    found = leakage_runs(project)
    run = _requested_or_newest_run(found, request.GET.get("run", ""))
    context: dict[str, Any] = tab_context(project, "leakage") | {
        "form": form or LeakageForm(auto_id="leak_%s"),
        "job": running,
        "ended": job if running is None else None,
        "runs": found,
        "run": run,
        "sizes": count_images_by_split(project),
        "without_split": count_images_without_split(project),
    }
    if run is not None:
        context |= _pairs_context(request, run)
    return render(request, "curation/sources/leakage.html", context, status=status)


def _requested_or_newest_run(runs: Sequence[LeakageRun], requested: str) -> LeakageRun | None:
    return next((run for run in runs if str(run.pk) == requested), runs[0] if runs else None)


def _pairs_context(request: HttpRequest, run: LeakageRun) -> dict[str, Any]:
    counts = verdict_counts(run)
    shown = request.GET.get("show", OPEN)
    shown = shown if shown in VERDICT_FILTERS else OPEN
    page = get_page(request, leaked_pairs(run, None if shown == ALL else shown), PAIRS_PER_PAGE)
    kept = sum(counts.values())
    return {
        "show": shown,
        "filters": [(name, label, counts.get(name, kept)) for name, label in VERDICT_FILTERS.items()],
        "counts": counts,
        "kept": kept,
        "not_kept": max(0, run.found - kept),
        "page": page,
        "views": _make_shown_pairs(page, run),
        "plot": _cosine_histogram(run),
        "by_splits": _pair_counts_by_splits(run),
        "set_aside_then": run.provenance.get("set_aside", 0),
        "without_split_then": run.provenance.get("without_split", 0),
        "copies": run.provenance.get("copies", 0),
    }


def _pair_counts_by_splits(run: LeakageRun) -> list[tuple[str, int]]:
    rows = run.provenance.get("by_splits", {})
    return [(" and ".join(names.split("/")), count) for names, count in rows.items()]


def _make_shown_pairs(page: Page[LeakedPair], run: LeakageRun) -> list[ShownLeakedPair]:
    pairs = list(page)
    reviews = newest_reviews(pairs)
    return [_make_shown_pair(pair, run, reviews.get((pair.first_id, pair.second_id))) for pair in pairs]


def _make_shown_pair(pair: LeakedPair, run: LeakageRun, review: LeakReview | None) -> ShownLeakedPair:
    kept, duplicate = services.order_kept_first(pair.first, pair.second)
    has_cosine = bool(run.encoder) or pair.first.sha256 == pair.second.sha256
    return ShownLeakedPair(
        pair=pair,
        sides=[PairSide(image, image_facts(image), _source_label(image)) for image in (kept, duplicate)],
        cosine=pair.cosine if has_cosine else None,
        reasons=_copy_reasons(pair),
        review=review,
        duplicate=duplicate,
        is_set_aside=duplicate.duplicate_of_id is not None,
    )


def _source_label(image: Image) -> str:
    record = getattr(image, "source_record", None)
    return f"{SOURCE_TITLES[Source(record.source)]} {record.source_id}" if record is not None else ""


def _copy_reasons(pair: LeakedPair) -> list[str]:
    """Return the reasons why two images are copies, regardless of their vectors."""
    reasons = ["Same file"] if pair.first.sha256 == pair.second.sha256 else []
    shared = _identities(pair.first) & _identities(pair.second)
    for name in sorted(shared):
        kind, _, number = name.partition(":")
        reasons.append(f"{ID_LABELS[kind]} {number}")
    return reasons


def _identities(image: Image) -> frozenset[str]:
    record = getattr(image, "source_record", None)
    return find_identities(image.source_url, record.facts if record is not None else {})


def _cosine_histogram(run: LeakageRun) -> Chart | None:
    counts = run.provenance.get("nearest", [])
    if not any(counts):
        return None
    return histogram(
        {"width": 1 / len(counts), "counts": counts},
        references=[(run.threshold, f"threshold {run.threshold:g}", "target")],
        unit="cosine",
        summary="Photos by cosine with their nearest neighbour in another split",
        is_open=False,
    )
