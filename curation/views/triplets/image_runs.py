"""Runs of image generators: start one after its price was shown, follow its calls, raise its cap; import a zip."""

from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.models import CallState, ModelCall, ModelRun, RunPurpose, Scene
from curation.selectors.jobs import EDIT_IMAGE, GENERATE_IMAGES, latest_job
from curation.selectors.triplets.model_calls import with_shown_state
from curation.selectors.triplets.prompts import approved_prompts
from curation.services.triplets.generation import (
    generator_licence,
    project_prices,
    request_images,
)
from curation.services.triplets.image_estimates import estimate_images
from curation.services.triplets.image_imports import request_image_import
from curation.services.triplets.model_calls import MICRO_DOLLARS, cap_in_micro, raise_cap
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.image_forms import WAY_LABELS, CapForm, GenerationForm, add_refusal
from curation.views.triplets.image_parts import ROLE_LABELS
from curation.views.triplets.images import TAB
from hits.domain.answers.text import parse_digits
from hits.models import Job, Project
from hits.selectors.images.images import image_facts
from hits.selectors.jobs import can_resume
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.views.pages import action_messages, get_or_404, get_page, job_if_failed, job_if_open
from hits.views.users import signed_in_user

CALLS_PER_PAGE = 50
CHUNK_BYTES = 1 << 20
STATE_LABELS = {
    CallState.SENT.value: ("In flight", "info", "clock"),
    CallState.SETTLED.value: ("Drawn", "ok", "ok"),
    CallState.REFUSED.value: ("Refused by the provider", "warn", "alert"),
    CallState.FAILED.value: ("Failed", "bad", "x"),
    CallState.LOST.value: ("Lost: may have been paid", "warn", "alert"),
}
_OPTION_LABELS = {
    "candidates": "Candidates of each role",
    "width": "Width, pixels",
    "height": "Height, pixels",
    "seed": "First seed",
    "steps": "Steps",
    "guidance": "Guidance",
    "negative": "Shall not show",
    "unattended": "Without waiting for picks",
    "condition": "Hypotheses beside the picked premise",
    "way": "How",
    "prompt": "Prompt",
    "strength": "Strength",
}


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def image_run_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Start a run in two steps: what it draws, then its price."""
    posted = request.POST if request.method == "POST" else None
    form = GenerationForm(project, posted, initial=_initial_of_run(project, request.GET.get("run", "")))
    step = request.POST.get("step", "")
    context: dict[str, Any] = {}
    if posted is not None and step != "change" and form.is_valid():
        try:
            options = form.options
            if step == "start":
                job = request_images(project=project, options=options, by=signed_in_user(request))
                messages.success(request, f"{job.title}: queued.")
                return redirect("scene-image-run", project.slug, job.model_run.pk)
            licence = generator_licence(project, options.generator, project_prices(project))
            estimate = estimate_images(project=project, options=options)
            cap = cap_in_micro(options.cap_usd)
            is_short = estimate.price is not None and estimate.price > cap and bool(estimate.images)
            context = {
                "estimate": estimate,
                "cap": cap,
                "most": None if estimate.total is None else min(cap, estimate.total),
                "is_short": is_short,
                "licence": licence,
            }
        except Refused as error:
            add_refusal(form, error)
    context |= tab_context(project, TAB, "triplets") | {
        "form": form,
        "approved": len(approved_prompts(project)),
        "job": job_if_open(latest_job(project, GENERATE_IMAGES)),
    }
    status = 400 if form.errors else 200
    return render(request, "curation/triplets/images/run_new.html", context, status=status)


def _initial_of_run(project: Project, text: str) -> dict[str, Any]:
    """Return the options of an earlier run, whose number the address has."""
    rows = ModelRun.objects.filter(project=project, purpose=RunPurpose.IMAGES, job__task=GENERATE_IMAGES)
    number = parse_digits(text)
    run = None if number is None else rows.filter(pk=number).first()
    names = set(GenerationForm.base_fields)
    return {name: value for name, value in run.parameters.items() if name in names} if run else {}


def _find_run(project: Project, run_id: int) -> ModelRun:
    rows = ModelRun.objects.filter(project=project, purpose=RunPurpose.IMAGES)
    return get_or_404(rows.select_related("job", "created_by").filter(pk=run_id).first())


@require_safe
@triplet_project_page()
def image_run(request: HttpRequest, project: Project, run_id: int) -> HttpResponse:
    """Show a run with its cap, its job and its calls."""
    return _render_run(request, _find_run(project, run_id))


def _render_run(
    request: HttpRequest, run: ModelRun, *, form: CapForm | None = None, status: int = 200
) -> HttpResponse:
    calls = with_shown_state(ModelCall.objects.filter(run=run))
    counts = dict(calls.order_by().values_list("shown_state").annotate(Count("pk")))
    chosen = request.GET.get("state", "")
    rows = calls.filter(shown_state=chosen) if chosen in STATE_LABELS else calls
    page = get_page(
        request, rows.select_related("image__image", "image__scene").order_by("pk"), CALLS_PER_PAGE
    )
    job = run.job
    context = tab_context(run.project, TAB, "triplets") | {
        "run": run,
        "job": job_if_open(job),
        "failed": job_if_failed(job),
        "stopped": job.result.get("stopped", "") if job else "",
        "changed": job.result.get("changed_meanwhile", 0) if job else 0,
        "is_edit": bool(job and job.task == EDIT_IMAGE),
        "resumable": job is not None and can_resume(job),
        "form": form or CapForm(initial={"cap_usd": f"{run.cap_micro / MICRO_DOLLARS:g}"}),
        "options": _option_rows(run),
        "states": [(name, *label, counts.get(name, 0)) for name, label in STATE_LABELS.items()],
        "calls_total": sum(counts.values()),
        "lost": counts.get(CallState.LOST.value, 0),
        "chosen": chosen,
        "page": page,
        "calls": _call_rows(run.project, list(page)),
    }
    return render(request, "curation/triplets/images/run.html", context, status=status)


def _option_rows(run: ModelRun) -> list[tuple[str, str]]:
    found = []
    for name, label in _OPTION_LABELS.items():
        value = run.parameters.get(name)
        if name == "way" and value:
            value = WAY_LABELS[value]
        if value is True or (value is not False and value not in (None, "")):
            found.append((label, "yes" if value is True else str(value)))
    return found


def _call_rows(project: Project, calls: list[Any]) -> list[dict[str, Any]]:
    """Return the calls with what each one is about."""
    subjects = {call.pk: _parse_subject(call.subject) for call in calls}
    chosen = {public_id for public_id, _ in subjects.values() if public_id}
    scenes = Scene.objects.filter(project=project).in_bulk(chosen, field_name="public_id")
    rows = []
    for call in calls:
        public_id, words = subjects[call.pk]
        image = getattr(call, "image", None)
        scene = scenes.get(public_id) or (image.scene if image else None)
        label, badge, icon = STATE_LABELS[call.shown_state]
        rows.append(
            {
                "call": call,
                "scene": scene,
                "words": words,
                "image": image_facts(image.image) if image and image.image.taken_down_at is None else None,
                "label": label,
                "badge": badge,
                "icon": icon,
            }
        )
    return rows


def _parse_subject(subject: str) -> tuple[str, str]:
    """Return the scene's public id and the words of a call's subject, such as ``premise, candidate 2``."""
    parts = subject.split()
    if len(parts) == 5 and parts[0] == "image":  # noqa: PLR2004 - image, scene, prompts, role, number
        return parts[1], f"{ROLE_LABELS.get(parts[3], parts[3]).lower()}, candidate {parts[4]}"
    return "", "edit"


@require_POST
@triplet_project_page()
def image_run_cap(request: HttpRequest, project: Project, run_id: int) -> HttpResponse:
    """Raise the cap of a stopped run, and resume it."""
    run = _find_run(project, run_id)
    form = CapForm(request.POST)
    if not form.is_valid():
        return _render_run(request, run, form=form, status=400)
    with action_messages(request, "Not resumed", "The run goes on where it stopped."):
        if run.job is None or not can_resume(run.job):
            raise Refused("run: it has ended or is running; start another one, which draws what is missing")
        raise_cap(run=run, cap_micro=cap_in_micro(form.cleaned_data["cap_usd"]), by=signed_in_user(request))
        jobs.resume_job(job=run.job)
    return redirect("scene-image-run", project.slug, run.pk)


@require_POST
@triplet_project_page()
def scene_image_import(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue the import of a zip of images that were made elsewhere."""
    file = request.FILES.get("zip")
    job: Job | None = None
    with action_messages(request, "Not imported"):
        if file is None:
            raise Refused("zip: choose a file first")
        job = request_image_import(
            project=project,
            by=signed_in_user(request),
            called=str(file.name),
            blocks=file.chunks(CHUNK_BYTES),
        )
    if job is None:
        return redirect("scene-image-list", project.slug)
    messages.success(request, f"{job.title}: queued.")
    return redirect("job-detail", job.pk)
