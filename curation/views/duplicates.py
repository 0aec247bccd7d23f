"""The de-duplication page: start a run, follow its progress, and review its groups."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.paginator import Page
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from curation.models import DuplicateRun, DuplicateRunState
from curation.selectors import duplicates
from curation.selectors.features import used_encoders
from curation.selectors.job_lists import last_finished_job
from curation.selectors.jobs import DEDUPLICATE, latest_job
from curation.services import dedup as services
from curation.services.sources import SOURCE_TITLES
from curation.views.forms import DedupForm
from curation.views.pages import tab_context
from hits.domain.images.image_facts import ImageFacts
from hits.models import Project
from hits.selectors.images.images import image_facts, image_facts_by_id
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import action_messages, get_page, job_if_open
from hits.views.users import signed_in_user

GROUPS_PER_PAGE = 20
MAX_SINGLE_SIZE = 5  # larger groups are combined into bands
SIZE_BANDS = (10, 20, 50)


@dataclass(frozen=True, slots=True)
class SizeBar:
    """The number of groups of a size, such as “6 to 10”; ``percent`` is relative to the longest bar."""

    label: str
    count: int
    percent: int


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """A group of photos on the page. ``cosine`` is that of its least similar pair, if known."""

    kept: ImageFacts
    members: Sequence[ImageFacts]
    cosine: float | None

    @property
    def button_label(self) -> str:
        """The label of the button that keeps all photos of the group."""
        return "Keep both" if len(self.members) == 1 else f"Keep all {len(self.members) + 1}"


@require_safe
@project_page()
def duplicate_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the groups of near-duplicates, with the form that finds them."""
    return _render_page(request, project)


@require_POST
@project_page()
def start_deduplication(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue a de-duplication."""
    form = _dedup_form(project, request.POST)
    if not form.is_valid():
        return _render_page(request, project, form=form, status=400)
    try:
        services.request_deduplication(project=project, by=request.user, **form.options)  # type: ignore[arg-type]
    except Refused as error:
        messages.error(request, f"Not started: {error}.")
        return _render_page(request, project, form=form, status=400)
    messages.success(request, "De-duplication is queued. It ends with a preview; it sets no photo aside.")
    return redirect("curation", project.slug)


@require_POST
@project_page()
def set_run_duplicates_aside(request: HttpRequest, project: Project, run_id: int) -> HttpResponse:
    """Set the photos of a preview aside."""
    run = get_object_or_404(DuplicateRun, pk=run_id, project=project)
    with action_messages(request, "Not done"):
        marks = services.set_aside_duplicates(run=run, by=signed_in_user(request))
        effect = "Batches launched from now on leave these photos out."
        messages.success(request, f"Set aside: {marks.marked:,}. {effect}")
    return redirect("curation", project.slug)


@require_POST
@project_page()
def undo_duplicate_run(request: HttpRequest, project: Project, run_id: int) -> HttpResponse:
    """Undo setting a run's photos aside."""
    run = get_object_or_404(DuplicateRun, pk=run_id, project=project)
    with action_messages(request, "Not done", "Undone: the photos are offered again as before."):
        services.undo_duplicates(run=run, by=signed_in_user(request))
    return redirect("curation", project.slug)


@require_POST
@project_page()
def keep_group(request: HttpRequest, project: Project) -> HttpResponse:
    """Keep all photos of a group: one of the preview if ``run`` is given, else one that is set aside."""
    kept_id = request.POST.get("kept", "")
    images = _find_group(project, int(kept_id), request.POST.get("run", "")) if kept_id.isdecimal() else []
    if not images:
        messages.error(request, "Not done: that group no longer exists; reload the page.")
        return redirect("curation", project.slug)
    kept = f"All {len(images)} photos of the group are kept, even by later runs."
    with action_messages(request, "Not done", kept):
        services.mark_group_as_different(project=project, images=images, by=signed_in_user(request))
    return redirect("curation", project.slug)


def _find_group(project: Project, kept: int, run_id: str) -> list[int]:
    """Return the photos (row keys) of the group of a kept photo, empty if there is no such group."""
    if run_id.isdecimal():
        run = DuplicateRun.objects.filter(pk=int(run_id), project=project).first()
        found = duplicates.current_groups(run) if run else []
        return next(([kept, *group.members] for group in found if group.kept == kept), [])
    others = duplicates.duplicates_of(duplicates.kept_images(project).filter(pk=kept))
    return [kept, *(image.pk for image in others[kept])] if kept in others else []


def _dedup_form(project: Project, data: QueryDict | None = None) -> DedupForm:
    sources, latest = duplicates.count_images_by_source(project), latest_job(project, DEDUPLICATE)
    return DedupForm(
        data,
        used=used_encoders(project),
        sources=sources,
        last_options=latest.args.get("options") if latest else None,
        auto_id="dedup_%s",
    )


def _render_page(
    request: HttpRequest, project: Project, *, form: DedupForm | None = None, status: int = 200
) -> HttpResponse:
    latest, last_finished = latest_job(project, DEDUPLICATE), last_finished_job(project, DEDUPLICATE)
    running = job_if_open(latest)
    page = get_page(request, duplicates.kept_images(project), GROUPS_PER_PAGE)
    last_source: Any = last_finished.result.get("options", {}).get("source") if last_finished else None
    images, marked = duplicates.count_images(project), duplicates.images_marked_as_duplicates(project).count()
    sizes = duplicates.group_counts_by_size(project)
    undoable = duplicates.latest_run(project, DuplicateRunState.SET_ASIDE)
    context = tab_context(project, "duplicates") | {
        "form": form or _dedup_form(project),
        "job": running,
        "ended": latest if running is None else None,
        "last": last_finished,
        "last_source": SOURCE_TITLES.get(last_source),
        "images": images,
        "marked": marked,
        "offered": images - marked,
        "groups": sum(sizes.values()),
        "largest": max(sizes, default=0),
        "sizes": size_bars(sizes),
        "page": page,
        "rows": _shown_kept_groups(page.object_list, undoable),
        "undoable": undoable,
        **_preview_context(request, project),
    }
    return render(request, "curation/duplicates/duplicates.html", context, status=status)


def _preview_context(request: HttpRequest, project: Project) -> dict[str, Any]:
    """Return the context of the preview, if the newest run is one."""
    newest = duplicates.latest_run(project)
    if newest is None or newest.state != DuplicateRunState.PREVIEW:
        return {}
    preview = duplicates.preview_run(newest)
    page = get_page(request, preview.groups, GROUPS_PER_PAGE, "preview")
    least = preview.groups[0] if preview.groups else None
    pair = image_facts_by_id(least.pair) if least and least.pair else {}
    return {
        "run": newest,
        "preview": preview,
        "preview_page": page,
        "preview_rows": _shown_preview_groups(page),
        "least_alike": [pair[key] for key in least.pair if key in pair] if least and least.pair else [],
        "least_cosine": least.cosine if least else None,
        "least_distance": 1 - least.cosine if least and least.cosine is not None else None,
    }


def _shown_preview_groups(page: Page[duplicates.DuplicateGroup]) -> list[ShownGroup]:
    groups = list(page)
    images = image_facts_by_id(key for group in groups for key in (group.kept, *group.members))
    return [
        ShownGroup(images[group.kept], [images[member] for member in group.members], group.cosine)
        for group in groups
    ]


def _shown_kept_groups(kept: Any, run: DuplicateRun | None) -> list[ShownGroup]:
    """Return each kept image of a page with its duplicates."""
    images = list(kept)
    others = duplicates.duplicates_of(images)
    groups = run.groups if run else []
    known = {frozenset((group["kept"], *group["members"])): group["cosine"] for group in groups}
    return [
        ShownGroup(
            image_facts(image),
            [image_facts(other) for other in others[image.pk]],
            known.get(frozenset((image.pk, *(other.pk for other in others[image.pk])))),
        )
        for image in images
    ]


def size_bars(sizes: "Counter[int]") -> list[SizeBar]:
    """Return the bars of groups by size: single sizes, then bands of larger ones."""
    bands: dict[str, int] = {}
    for size in sorted(sizes):
        bands[_size_band(size)] = bands.get(_size_band(size), 0) + sizes[size]
    largest = max(bands.values(), default=1)
    return [SizeBar(label, count, max(1, round(100 * count / largest))) for label, count in bands.items()]


def _size_band(size: int) -> str:
    if size <= MAX_SINGLE_SIZE:
        return str(size)
    lower = MAX_SINGLE_SIZE + 1
    for upper in SIZE_BANDS:
        if size <= upper:
            return f"{lower} to {upper}"
        lower = upper + 1
    return f"{lower} or more"
