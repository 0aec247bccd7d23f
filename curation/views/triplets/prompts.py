"""Prompts of kept scenes: what they changed, a person's verdict, prompts by hand, and runs of a chat model."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.models import ModelCall, PromptSet, PromptVerdict, Scene
from curation.selectors.jobs import AUGMENT_PROMPTS, latest_job
from curation.selectors.triplets.prompt_queue import (
    PromptQueue,
    PromptQueueState,
    lost_prompt_calls,
    prompt_runs,
)
from curation.selectors.triplets.prompts import prompt_states, prompt_table
from curation.services.triplets.augmentation import request_augmentation, store_plain_prompts
from curation.services.triplets.prompts import decide_prompts, store_prompts
from curation.views.pages import as_download, tab_context, triplet_project_page
from curation.views.triplets.labels import PROMPT_STATE_BADGES, PROMPT_STATE_LABELS, ROLE_LABELS, WAY_LABELS
from curation.views.triplets.prompt_forms import ALL, AugmentationForm, ManualPromptsForm, PromptFilterForm
from curation.views.triplets.scene_forms import add_refusal
from curation.views.triplets.scene_pages import find_project_scene
from curation.views.triplets.steps import Step, count_words
from hits.models import Project
from hits.services.errors import Conflict, Refused
from hits.views.pages import action_messages, get_or_404, get_page, job_if_failed, job_if_open
from hits.views.users import signed_in_user

TAB = "prompts"
SCENES_PER_PAGE = 20
MAX_QUERY = 1000


@require_safe
@triplet_project_page()
def prompt_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the prompts of kept scenes with what they changed."""
    queue = PromptQueue(project)
    counts = queue.count_states()
    form = PromptFilterForm(counts, request.GET)
    page = get_page(request, queue.find(form.chosen_state, form.text), SCENES_PER_PAGE)
    rows = queue.show(page)
    job = latest_job(project, AUGMENT_PROMPTS)
    context = tab_context(project, TAB, "triplets") | {
        "form": form,
        "page": page,
        "rows": [(row, *_words(row)) for row in rows],
        "waiting": [row for row in rows if row.state is PromptQueueState.WAITING],
        "states": _state_links(queue, form, request.GET),
        "counts": {state.value: counts[state] for state in PromptQueueState},
        "scenes": len(queue.scenes),
        "query": request.GET.urlencode(),
        "all": ALL,
        "job": job_if_open(job),
        "failed": job_if_failed(job),
        "steps": _next_steps(project, queue),
    }
    return render(request, "curation/triplets/prompts/prompts.html", context)


def _words(row: Any) -> tuple[str, tuple[str, str], str, list[tuple[str, Any]]]:
    """Return the state, its badge, the way, and the texts with their labels."""
    names = ("premise", "plausible", "implausible")
    way = WAY_LABELS[row.prompts.prompts.way] if row.prompts.prompts else ""
    shown = [(ROLE_LABELS[name], prompt) for name, prompt in zip(names, row.shown, strict=False)]
    return PROMPT_STATE_LABELS[row.state], PROMPT_STATE_BADGES[row.state], way, shown


def _state_links(
    queue: PromptQueue, form: PromptFilterForm, query: QueryDict
) -> list[tuple[str, int, str, bool]]:
    """Return label, number, query and whether it is shown for each list of prompts."""
    counts = queue.count_states()
    links = []
    for state in (*PromptQueueState, None):
        address = query.copy()
        address["state"] = state.value if state else ALL
        address.pop("page", None)
        count = counts[state] if state else len(queue.scenes)
        label = PROMPT_STATE_LABELS[state] if state else "All"
        links.append((label, count, address.urlencode(), state is form.chosen_state))
    return links


def _next_steps(project: Project, queue: PromptQueue) -> list[Step]:
    counts = queue.count_states()
    slug = project.slug
    steps = []
    if counts[PromptQueueState.WAITING]:
        text = (
            f"{count_words(counts[PromptQueueState.WAITING], 'scene')} with prompts that nobody approved yet"
        )
        steps.append(Step(text, "Read them", _first_card(project, queue, PromptQueueState.WAITING)))
    if counts[PromptQueueState.REJECTED]:
        text = (
            f"{count_words(counts[PromptQueueState.REJECTED], 'scene')} with rejected prompts: write others"
        )
        steps.append(Step(text, "Show", _first_card(project, queue, PromptQueueState.REJECTED)))
    if counts[PromptQueueState.APPROVED]:
        text = f"{count_words(counts[PromptQueueState.APPROVED], 'scene')} with approved prompts can be drawn"
        steps.append(Step(text, "Images", reverse("scene-image-list", args=[slug])))
    return steps


def _first_card(project: Project, queue: PromptQueue, state: PromptQueueState) -> str:
    """Return the address of the first scene in a state, on the list of that state."""
    first = queue.find(state)[0]
    return f"{reverse('scene-prompts', args=[project.slug])}?state={state.value}#scene-{first.pk}"


def _back(request: HttpRequest, project: Project, anchor: str = "") -> HttpResponse:
    """Redirect to the list that the form was on."""
    query = QueryDict(request.POST.get("query", "")[:MAX_QUERY]).urlencode()
    address = reverse("scene-prompts", args=[project.slug])
    return redirect(f"{address}{'?' if query else ''}{query}{anchor}")


@require_POST
@triplet_project_page()
def prompts_decide(request: HttpRequest, project: Project, scene_id: int) -> HttpResponse:
    """Approve or reject the prompts of a scene."""
    scene = find_project_scene(project, scene_id)
    rows = PromptSet.objects.filter(scene=scene).select_related("scene__project")
    prompts = get_or_404(rows.filter(pk=_number(request.POST.get("prompts", ""))).first())
    verdict = request.POST.get("verdict", "")
    if verdict not in set(PromptVerdict):
        return get_or_404(None)
    done = "approved" if verdict == PromptVerdict.APPROVED else "rejected"
    with action_messages(request, "Not stored", f"The prompts of scene {scene.pk} are {done}."):
        decide_prompts(
            prompts=prompts,
            verdict=PromptVerdict(verdict),
            by=signed_in_user(request),
            seen=_number(request.POST.get("seen", "")),
        )
    return _back(request, project, f"#scene-{scene.pk}")


def _number(text: str) -> int:
    """Return a number of a form; -1, which no row has, if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else -1  # noqa: PLR2004 - 64 bits


@require_POST
@triplet_project_page()
def prompts_approve(request: HttpRequest, project: Project) -> HttpResponse:
    """Approve all prompts that a page showed; those that changed since are left out and counted."""
    given = [value.partition(":")[::2] for value in request.POST.getlist("approve")[:SCENES_PER_PAGE]]
    seen_by_key = {_number(key): _number(seen) for key, seen in given}
    rows = PromptSet.objects.filter(scene__project=project, pk__in=list(seen_by_key))
    approved = stale = 0
    for prompts in rows.select_related("scene__project"):
        try:
            decide_prompts(
                prompts=prompts,
                verdict=PromptVerdict.APPROVED,
                by=signed_in_user(request),
                seen=seen_by_key[prompts.pk],
            )
            approved += 1
        except Conflict:
            stale += 1
    if approved:
        messages.success(request, f"Approved: the prompts of {count_words(approved, 'scene')}.")
    if stale:
        text = f"Left out, as they changed after you opened the page: the prompts of {count_words(stale, 'scene')}."
        messages.error(request, f"{text} Read them again.")
    if not given:
        messages.info(request, "No prompts on this page wait for approval.")
    return _back(request, project)


@require_POST
@triplet_project_page()
def prompts_plain(request: HttpRequest, project: Project) -> HttpResponse:
    """Use the texts of all kept scenes without prompts as they are."""
    stored = store_plain_prompts(project=project, by=signed_in_user(request))
    if stored:
        text = f"{count_words(stored, 'scene')} {'has' if stored == 1 else 'have'} the own texts as prompts."
        messages.success(request, f"{text} They wait for approval.")
    else:
        messages.info(request, "Every kept scene has prompts; nothing was stored.")
    return redirect("scene-prompts", project.slug)


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def prompts_write(request: HttpRequest, project: Project, scene_id: int) -> HttpResponse:
    """Write the prompts of a scene by hand."""
    scene = find_project_scene(project, scene_id)
    found = prompt_states([scene])[scene.pk].prompts
    form = ManualPromptsForm(scene, found, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        by = signed_in_user(request)
        try:
            stored = store_prompts(
                scene=scene, written=form.written, by=by, based_on=form.cleaned_data["based_on"]
            )
        except Refused as error:
            add_refusal(form, error)
        else:
            done = "stored; they wait for approval"
            if request.POST.get("then") == "approve":
                decide_prompts(prompts=stored, verdict=PromptVerdict.APPROVED, by=by, seen=0)
                done = "stored and approved"
            messages.success(request, f"The prompts of scene {scene.pk} are {done}.")
            return redirect(f"{reverse('scene-prompts', args=[project.slug])}?q={scene.pk}&state={ALL}")
    context = tab_context(project, TAB, "triplets") | {"scene": scene, "form": form, "found": found}
    status = 400 if form.errors else 200
    return render(request, "curation/triplets/prompts/write.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def prompts_augment(request: HttpRequest, project: Project) -> HttpResponse:
    """Start a run of a chat model that writes prompts; list earlier runs, and calls that may have been paid twice."""
    form = AugmentationForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            queued = request_augmentation(project=project, options=form.options, by=signed_in_user(request))
        except Refused as error:
            add_refusal(form, error)
        else:
            messages.success(request, f"{queued.title}: queued.")
            return redirect("scene-prompts-augment", project.slug)
    job = latest_job(project, AUGMENT_PROMPTS)
    counts = PromptQueue(project).count_states()
    context = tab_context(project, TAB, "triplets") | {
        "form": form,
        "job": job_if_open(job),
        "failed": job_if_failed(job),
        "runs": prompt_runs(project),
        "lost": _lost_calls(project),
        "missing": counts[PromptQueueState.MISSING],
        "scenes": sum(counts.values()),
    }
    status = 400 if form.errors else 200
    return render(request, "curation/triplets/prompts/augment.html", context, status=status)


def _lost_calls(project: Project) -> list[tuple[ModelCall, Scene | None]]:
    """Return the calls that may have been paid twice, each with the scene that it was about."""
    calls = list(lost_prompt_calls(project))
    ids = {call.pk: call.subject.removesuffix(", again").rpartition(" ")[2] for call in calls}
    scenes = Scene.objects.filter(project=project).in_bulk(list(ids.values()), field_name="public_id")
    return [(call, scenes.get(ids[call.pk])) for call in calls]


@require_safe
@triplet_project_page()
def prompts_csv(request: HttpRequest, project: Project) -> HttpResponse:
    """Download the approved prompts, to draw them elsewhere."""
    reply = HttpResponse(prompt_table(project), content_type="text/csv; charset=utf-8")
    return as_download(reply, f"{project.slug}-prompts.csv")
