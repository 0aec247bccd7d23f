"""De-duplication of photos and comparison rounds: start them, watch them, see what they found."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation import selectors, services
from curation.models import ComparisonRound, ComparisonSet
from curation.selectors import COMPARISON_ROUND, DEDUPLICATE
from curation.views.forms import ComparisonForm, DedupForm, RoundForm
from hits.domain.facts import ImageFacts
from hits.domain.states import OPEN_JOB_STATES
from hits.forms import launch_key
from hits.models import Job, Observation, Project
from hits.selectors import observations as collected
from hits.selectors.images import facts
from hits.services import launch
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.balance import forget_balance
from hits.views.costs import refusal_context, with_funds
from validation.selectors.judging import COMPARISON
from validation.services.judging import usual_pool

GROUPS_SHOWN = 40
SETS_PER_PAGE = 10
REASONS = {
    "too_few_candidates": "Fewer plausible candidates than the floor",
    "cannot_fill_set": "Too few candidates left to fill a set",
}


@dataclass(frozen=True, slots=True)
class SetView:
    """One set as its page shows it: the pair, its image, and (text, id) of each candidate."""

    item: ComparisonSet
    gold: Observation
    image: ImageFacts
    candidates: list[str]


@require_safe
@project_page()
def curation(request: HttpRequest, project: Project) -> HttpResponse:
    """Show what curation did and is doing, with the forms that start more."""
    return _page(request, project)


@require_POST
@project_page()
def deduplicate(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue a de-duplication."""
    form = DedupForm(request.POST)
    if not form.is_valid():
        return _page(request, project, dedup_form=form, status=400)
    try:
        services.request_deduplication(
            project=project,
            by=request.user,  # type: ignore[arg-type]
            fraction=form.fraction,
            linkage=form.cleaned_data["linkage"],
            seed=form.cleaned_data["seed"],
        )
    except Refused as error:
        messages.error(request, f"Not started: {error}.")
    else:
        messages.success(request, "De-duplication is queued. Earlier marks are replaced when it is done.")
    return redirect("curation", project.slug)


@require_POST
@project_page()
def build_round(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue a comparison round."""
    form = RoundForm(services.splits_in_use(project), request.POST)
    if not form.is_valid():
        return _page(request, project, round_form=form, status=400)
    try:
        services.request_comparison_round(
            project=project,
            by=request.user,  # type: ignore[arg-type]
            options=form.options,
        )
    except Refused as error:
        messages.error(request, f"Not started: {error}.")
    else:
        messages.success(request, "A comparison round is queued.")
    return redirect("curation", project.slug)


def _page(
    request: HttpRequest,
    project: Project,
    *,
    dedup_form: DedupForm | None = None,
    round_form: RoundForm | None = None,
    status: int = 200,
) -> HttpResponse:
    latest = {task: selectors.latest_job(project, task) for task in (DEDUPLICATE, COMPARISON_ROUND)}
    groups = selectors.duplicate_groups(project)
    images = selectors.standing_images(project)
    marked = sum(len(members) for _, members in groups)
    context = {
        "project": project,
        "section": "curation",
        "dedup_form": dedup_form or DedupForm(auto_id="dedup_%s"),
        "round_form": round_form or RoundForm(services.splits_in_use(project), auto_id="round_%s"),
        "jobs": [job for job in latest.values() if job is not None and job.state in OPEN_JOB_STATES],
        "dedup_job": _ended(latest[DEDUPLICATE]),
        "round_job": _ended(latest[COMPARISON_ROUND]),
        "images": len(images),
        "marked": marked,
        "offered": len(images) - marked,
        "pairs": collected.accepted(project).count(),
        "groups": [(facts(kept), [facts(i) for i in members]) for kept, members in groups[:GROUPS_SHOWN]],
        "more_groups": max(0, len(groups) - GROUPS_SHOWN),
        "rounds": [(found, found.sets.count(), _skipped(found)) for found in selectors.rounds(project)],
    }
    return render(request, "curation/curation.html", context, status=status)


def _ended(job: Job | None) -> Job | None:
    """A job that is over, for its result or its error; a running one has its own card."""
    return job if job is not None and job.state not in OPEN_JOB_STATES else None


def _skipped(found: ComparisonRound) -> list[tuple[str, int]]:
    return [(REASONS.get(reason, reason), count) for reason, count in found.skip_counts.items()]


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def comparison_round(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Show one round's sets; launch the best of them for rating in two steps."""
    found = ComparisonRound.objects.filter(pk=round_id, project=project).select_related("batch").first()
    if found is None:
        raise Http404("There is no such page.")
    if launch.launched_before(project=project, once=launch_key(request.POST)) is not None:
        return redirect("comparison-round", project.slug, found.pk)
    sets = found.sets.select_related("observation__image").order_by("rank")
    total = sets.count()
    form = ComparisonForm(COMPARISON, total, request.POST or None, usual_pool=usual_pool(project))
    confirm: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        if not form.is_valid():
            status = 400
        elif request.POST.get("step") == "launch":
            launched = _launch(request, project, found, form)
            if isinstance(launched, HttpResponse):
                return launched
            confirm, status = form.estimate(project) | refusal_context(request.POST, launched), 400
        elif request.POST.get("step") != "change":
            confirm = form.estimate(project)
    page = Paginator(sets, SETS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "section": "curation",
        "round": found,
        "sets": total,
        "options": found.options,
        "provenance": found.provenance,
        "skipped": _skipped(found),
        "without": sum(count for _, count in _skipped(found)),
        "form": form,
        "kind": form.kind,
        "page": page,
        "rows": _set_views(project, list(page)),
    }
    return render(request, "curation/round.html", context | confirm, status=status)


def _set_views(project: Project, sets: list[ComparisonSet]) -> list[SetView]:
    texts = collected.by_instance_ids(project, {key for item in sets for key in item.chosen})
    return [
        SetView(
            item=item,
            gold=item.observation,
            image=facts(item.observation.image),
            candidates=[texts[key].inference if key in texts else "(no longer there)" for key in item.chosen],
        )
        for item in sets
    ]


def _launch(
    request: HttpRequest, project: Project, found: ComparisonRound, form: ComparisonForm
) -> HttpResponse | Refused:
    """Launch and go to the page, or return why not."""
    try:
        batch, _ = services.launch_comparison_batch(
            round=found,
            by=request.user,  # type: ignore[arg-type]
            limit=form.cleaned_data["units"],
            name=form.cleaned_data["name"],
            terms=with_funds(form.terms),
            page=form.page,
            rates=form.rates,
            once=launch_key(request.POST),
        )
    except Refused as error:
        return error
    forget_balance()
    messages.success(request, f"{batch.name} is launched; its tasks are being published.")
    return redirect("comparison-round", project.slug, found.pk)
