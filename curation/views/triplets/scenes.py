"""The filter queue of scenes: a contact sheet with quotas, and readers' verdicts on it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from curation.models import Scene, SceneVerdict
from curation.selectors.jobs import SCENE_TWINS, latest_job
from curation.selectors.triplets.scene_queue import QueueState, SceneQueue
from curation.services.triplets.audits import request_scene_twins
from curation.services.triplets.scenes import decide_scene, take_in_scenes, undo_decision
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.labels import REASONS
from curation.views.triplets.scene_forms import ALL, SceneFilterForm, VerdictForm, add_refusal
from curation.views.triplets.scene_pages import find_project_scene, render_scene
from curation.views.triplets.scene_parts import show_rows, summarize_queue
from curation.views.triplets.steps import count_words
from hits.domain.answers.text import parse_digits
from hits.models import Project
from hits.services.errors import Conflict, Refused
from hits.views.pages import action_messages, get_page, job_if_failed, job_if_open
from hits.views.users import signed_in_user

TAB = "scenes"
DONE = {
    SceneVerdict.KEEP: "kept",
    SceneVerdict.DROP: "dropped",
    SceneVerdict.REVISE: "to be revised",
    SceneVerdict.UNDONE: "without your verdict again",
}
STALE_STATUS = 409


@require_safe
@triplet_project_page()
def scene_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the scenes of one state with quotas, reviews and twins."""
    queue = SceneQueue(project, signed_in_user(request).pk)
    form = SceneFilterForm(queue.count_states(), request.GET)
    page = get_page(request, queue.find(form.selection), form.page_size)
    job = latest_job(project, SCENE_TWINS)
    context = tab_context(project, TAB, "triplets") | {
        "form": form,
        "page": page,
        "rows": show_rows(queue.show(page)),
        "summary": summarize_queue(queue, form, request.GET),
        "query": request.GET.urlencode(),
        "all": ALL,
        "job": job_if_open(job),
        "failed": job_if_failed(job),
        "reasons": [(reason.value, *texts) for reason, texts in REASONS.items()],
        "readers": queue.settings.readers,
    }
    return render(request, "curation/triplets/scenes/scenes.html", context)


@require_safe
@triplet_project_page()
def scene(request: HttpRequest, project: Project, scene_id: int) -> HttpResponse:
    """Show one scene with its reviews, twin, verdicts and revisions."""
    return render_scene(request, find_project_scene(project, scene_id))


@require_POST
@triplet_project_page()
def scene_decide(request: HttpRequest, project: Project, scene_id: int) -> HttpResponse:
    """Store a verdict, or take it back; reply with a page, or with the changed parts of the queue as JSON."""
    found = find_project_scene(project, scene_id)
    form = VerdictForm(found, request.POST)
    verdict = request.POST.get("verdict", "")
    status = 200
    try:
        message = _store_verdict(request, found, form, verdict)
    except Conflict as error:
        message, status = f"Not stored: {error}.", STALE_STATUS
    except Refused as error:
        message, status = f"Not stored: {error}.", 400
        add_refusal(form, error)
    if "application/json" in request.headers.get("Accept", ""):
        return _changed_parts(request, found, message, status)
    if status == 400 and request.POST.get("from") == "scene":  # noqa: PLR2004 - a form with errors
        return render_scene(request, found, form=form, status=status)
    (messages.success if status == 200 else messages.error)(request, message)  # noqa: PLR2004
    if request.POST.get("from") == "scene":
        return redirect("scene", project.slug, found.pk)
    query = _query_of(request).urlencode()
    address = reverse("scenes", args=[project.slug])
    return redirect(f"{address}{'?' if query else ''}{query}#scene-{found.pk}")


def _store_verdict(request: HttpRequest, scene: Scene, form: VerdictForm, verdict: str) -> str:
    """Store what the form says, and return a message. Raises Refused and Conflict."""
    by = signed_in_user(request)
    if verdict == SceneVerdict.UNDONE:
        seen = parse_digits(request.POST.get("seen", ""))
        undo_decision(scene=scene, by=by, seen=-1 if seen is None else seen)
        return f"Scene {scene.pk} is {DONE[SceneVerdict.UNDONE]}."
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise Refused(f"{name}: {str(errors[0]).rstrip('.')}")
    decide_scene(scene=scene, decision=form.decision, by=by)
    return f"Scene {scene.pk} is {DONE[form.decision.verdict]}."


def _query_of(request: HttpRequest) -> QueryDict:
    """Return the query of the queue page that the verdict was given on."""
    return QueryDict(request.POST.get("query", "").removeprefix("?")[:1000])


def _changed_parts(request: HttpRequest, scene: Scene, message: str, status: int) -> HttpResponse:
    """Return the scene's card and the summary above the queue, as HTML."""
    queue = SceneQueue(scene.project, signed_in_user(request).pk)
    query = _query_of(request)
    form = SceneFilterForm(queue.count_states(), query)
    row = show_rows(queue.show([scene]))[0]
    context = {"project": scene.project, "query": query.urlencode(), "all": ALL}
    card = render_to_string("curation/triplets/scenes/_card.html", context | {"row": row}, request)
    summary = render_to_string(
        "curation/triplets/scenes/_summary.html",
        context | {"summary": summarize_queue(queue, form, query)},
        request,
    )
    return JsonResponse(
        {
            "card": card,
            "summary": summary,
            "count": count_words(len(queue.find(form.selection)), "scene"),
            "message": message,
            "waits": row.scene.state is QueueState.WAITING,
        },
        status=status,
    )


@require_POST
@triplet_project_page()
def scenes_take_in(request: HttpRequest, project: Project) -> HttpResponse:
    """Store the scenes of answers that were approved a moment ago, which otherwise happens by itself."""
    stored = take_in_scenes(project)
    messages.success(request, f"{stored} scene{'' if stored == 1 else 's'} came in.")
    return redirect("scenes", project.slug)


@require_POST
@triplet_project_page()
def scenes_find_twins(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue the search for the most similar other scene of each scene."""
    with action_messages(request, "Not started", "The search for similar scenes is queued."):
        request_scene_twins(project=project, by=signed_in_user(request))
    return redirect("scenes", project.slug)
