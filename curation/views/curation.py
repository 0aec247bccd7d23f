"""De-duplication of photos: start it, watch it, look through what it found."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from curation import services
from curation.selectors import duplicates
from curation.selectors.features import used_encoders
from curation.selectors.job_lists import last_done
from curation.selectors.jobs import DEDUPLICATE, latest_job
from curation.services.sources import TITLES
from curation.views.forms import DedupForm
from hits.domain.facts import ImageFacts
from hits.domain.states import OPEN_JOB_STATES
from hits.models import Project
from hits.selectors.images import facts
from hits.services.errors import Refused
from hits.views.access import project_page

GROUPS_PER_PAGE = 20
SIZES_APART = 5  # larger groups share a bar each
SIZE_BANDS = (10, 20, 50)


@dataclass(frozen=True, slots=True)
class SizeBar:
    """How many groups are of a size, such as “6 to 10”; ``percent`` of the longest bar."""

    words: str
    count: int
    percent: int


@require_safe
@project_page()
def curation(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the groups of near-duplicates, with the form that finds them."""
    return _page(request, project)


@require_POST
@project_page()
def deduplicate(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue a de-duplication."""
    form = _form(project, request.POST)
    if not form.is_valid():
        return _page(request, project, form=form, status=400)
    try:
        services.request_deduplication(project=project, by=request.user, **form.options)  # type: ignore[arg-type]
    except Refused as error:
        messages.error(request, f"Not started: {error}.")
        return _page(request, project, form=form, status=400)
    messages.success(request, "De-duplication is queued. Earlier marks are replaced when it is done.")
    return redirect("curation", project.slug)


def _form(project: Project, data: QueryDict | None = None) -> DedupForm:
    sources = duplicates.source_sizes(project)
    return DedupForm(data, used=used_encoders(project), sources=sources, auto_id="dedup_%s")


def _page(
    request: HttpRequest, project: Project, *, form: DedupForm | None = None, status: int = 200
) -> HttpResponse:
    latest, last = latest_job(project, DEDUPLICATE), last_done(project, DEDUPLICATE)
    running = latest if latest is not None and latest.state in OPEN_JOB_STATES else None
    page = Paginator(duplicates.kept_images(project), GROUPS_PER_PAGE).get_page(request.GET.get("page"))
    images, marked = duplicates.standing(project), duplicates.marked(project).count()
    sizes = duplicates.group_sizes(project)
    context = {
        "project": project,
        "section": "curation",
        "tab": "duplicates",
        "form": form or _form(project),
        "job": running,
        "ended": latest if running is None else None,
        "last": last,
        "last_source": TITLES.get(last.result.get("options", {}).get("source")) if last else None,
        "images": images,
        "marked": marked,
        "offered": images - marked,
        "groups": sum(sizes.values()),
        "largest": max(sizes, default=0),
        "sizes": size_bars(sizes),
        "page": page,
        "rows": _rows(page.object_list),
    }
    return render(request, "curation/curation.html", context, status=status)


def _rows(kept: Any) -> list[tuple[ImageFacts, list[ImageFacts]]]:
    """Each kept image of a page with its duplicates."""
    images = list(kept)
    others = duplicates.duplicates_of(images)
    return [(facts(image), [facts(other) for other in others[image.pk]]) for image in images]


def size_bars(sizes: "Counter[int]") -> list[SizeBar]:
    """Return the bars of groups by size: small sizes one by one, larger ones in bands."""
    bands: dict[str, int] = {}
    for size in sorted(sizes):
        bands[_band(size)] = bands.get(_band(size), 0) + sizes[size]
    most = max(bands.values(), default=1)
    return [SizeBar(words, count, max(1, round(100 * count / most))) for words, count in bands.items()]


def _band(size: int) -> str:
    if size <= SIZES_APART:
        return str(size)
    least = SIZES_APART + 1
    for most in SIZE_BANDS:
        if size <= most:
            return f"{least} to {most}"
        least = most + 1
    return f"{least} or more"
