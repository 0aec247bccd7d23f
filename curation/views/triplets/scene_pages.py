"""The page of one scene, its revision, and the import of scenes from a file."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from curation.image_triplets.scene_files import SceneFileError
from curation.image_triplets.word_diff import TextPart, mark_rewriting
from curation.models import ImageTriplet, Import, Scene, SceneDecision
from curation.selectors.triplets.blind_verdicts import informed_decisions
from curation.selectors.triplets.prompts import prompt_states
from curation.selectors.triplets.scene_queue import QueueState, SceneQueue
from curation.selectors.triplets.settings import triplet_settings
from curation.services.triplets.scene_imports import FORMAT, import_scenes
from curation.services.triplets.scenes import revise_scene
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.labels import REASON_LABELS, ROLE_LABELS, VERDICT_LABELS
from curation.views.triplets.scene_forms import RevisionForm, SceneImportForm, VerdictForm, add_refusal
from curation.views.triplets.scene_parts import show_rows
from curation.views.triplets.steps import Step, count_words
from hits.models import Project
from hits.services.errors import Refused
from hits.views.pages import get_or_404
from hits.views.users import signed_in_user

TAB = "scenes"
MAX_IMPORTS = 10
# Of a file of scenes: the column, and what it holds.
COLUMNS = (
    ("premise, plausible, implausible", "The three texts, each up to 400 characters"),
    ("category", "physical, functional, logical, emotional, social or cultural"),
    ("direction", "forward, backward or parallel"),
    ("duration", "short or long; empty if parallel"),
    ("domain", "One of the domains in the settings"),
    ("why", "One sentence: why the more plausible hypothesis fits better"),
    ("culture, language, licence", "Optional. The language is en without one"),
    ("replaces", "Optional: the id of the scene that the row revises"),
)


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """Something that happened to a scene; ``changes`` are texts in parts, by label."""

    at: datetime
    who: str
    text: str
    note: str = ""
    url: str = ""
    changes: tuple[tuple[str, list[TextPart]], ...] = ()


def find_project_scene(project: Project, scene_id: int) -> Scene:
    """Return a scene of the project, or raise Http404."""
    rows = Scene.objects.select_related("project", "author", "replaces", "replaced_by", "created_by")
    return get_or_404(rows.filter(project=project, pk=scene_id).first())


def render_scene(
    request: HttpRequest, scene: Scene, *, form: VerdictForm | None = None, status: int = 200
) -> HttpResponse:
    """Return the page of a scene; ``form`` has the errors of a verdict."""
    project, reader = scene.project, signed_in_user(request).pk
    queue = SceneQueue(project, reader)
    queued = queue.show([scene])[0]
    keys = [row.pk for row in queue.scenes]
    position = keys.index(scene.pk) if scene.pk in keys else None
    initial: dict[str, Any] = {"seen": queued.seen}
    if queued.own:
        initial |= {
            "verdict": queued.own.verdict,
            "reasons": list(queued.own.reasons),
            "twin": queued.own.twin,
            "note": queued.own.note,
        }
    context = tab_context(project, TAB, "triplets") | {
        "scene": scene,
        "row": show_rows([queued])[0],
        "form": form or VerdictForm(scene, initial=initial),
        "previous": keys[position - 1] if position else None,
        "following": keys[position + 1] if position is not None and position + 1 < len(keys) else None,
        "history": _history(scene, reader, is_blind=queued.is_blind),
        "origin": _origin(scene),
        "steps": _scene_steps(scene, queued.state),
    }
    return render(request, "curation/triplets/scenes/scene.html", context, status=status)


def _history(scene: Scene, reader: int, *, is_blind: bool) -> list[HistoryEvent]:
    """Return what happened to a scene, oldest first; a blind reader sees the own verdicts alone."""
    rows = list(SceneDecision.objects.filter(scene=scene).select_related("by").order_by("pk"))
    informed = informed_decisions(rows, triplet_settings(scene.project).readers)
    shown = [row for row in rows if not is_blind or row.by_id == reader]
    events = [_creation(scene), *(_decision_event(row, is_informed=row.pk in informed) for row in shown)]
    revision = getattr(scene, "replaced_by", None)
    if revision is not None:
        address = reverse("scene", args=[scene.project.slug, revision.pk])
        who = revision.created_by.get_username() if revision.created_by else ""
        events.append(HistoryEvent(revision.created_at, who, f"Revised as scene {revision.pk}", url=address))
    return events


def _creation(scene: Scene) -> HistoryEvent:
    who = scene.created_by.get_username() if scene.created_by else ""
    if scene.replaces is None:
        return HistoryEvent(scene.created_at, who, "Stored")
    address = reverse("scene", args=[scene.project.slug, scene.replaces.pk])
    return HistoryEvent(
        scene.created_at,
        who,
        f"Stored as a revision of scene {scene.replaces.pk}",
        url=address,
        changes=tuple(_changes(scene.replaces, scene)),
    )


def _changes(old: Scene, new: Scene) -> list[tuple[str, list[TextPart]]]:
    """Return the texts that a revision changed, in parts."""
    names = {"premise": "premise", "plausible": "plausible_text", "implausible": "implausible_text"}
    pairs = [(role, getattr(old, name), getattr(new, name)) for role, name in names.items()]
    return [
        (ROLE_LABELS[role], mark_rewriting(before, after)) for role, before, after in pairs if before != after
    ]


def _decision_event(row: SceneDecision, *, is_informed: bool) -> HistoryEvent:
    reasons = ", ".join(REASON_LABELS[name].lower() for name in row.reasons)
    twin = f", repeats scene {row.twin_id}" if row.twin_id else ""
    text = f"{VERDICT_LABELS[row.verdict]}{f': {reasons}' if reasons else ''}{twin}"
    text += " (not blind: could see another verdict before)" if is_informed else ""
    return HistoryEvent(row.at, row.by.get_username() if row.by else "a command", text, row.note)


def _origin(scene: Scene) -> list[tuple[str, str, str]]:
    """Return label, text and address of where a scene comes from."""
    rows = [("Id", scene.public_id, "")]
    if scene.author_id:
        rows.append(
            (
                "Author",
                f"W-{scene.author_id}",
                reverse("worker-detail", args=[scene.project.slug, scene.author_id]),
            )
        )
    submission = scene.record.submission if scene.record else None
    if submission is not None:
        rows.append(("Answer", "Open the submission", _submission_url(submission)))
    if scene.imported_row:
        rows.append(("Imported from", scene.imported_row.location, ""))
    if scene.licence:
        rows.append(("Licence", scene.licence, ""))
    if scene.simulated:
        rows.append(("Written by", "A simulated worker", ""))
    return [*rows, ("Language", scene.language, "")]


def _submission_url(submission: Any) -> str:
    return reverse("assignment-detail", args=[submission.assignment.pk])


def _scene_steps(scene: Scene, state: QueueState) -> list[Step]:
    """Return what a kept scene waits for: prompts, or the state of its triplet."""
    slug = scene.project.slug
    if state is QueueState.TO_REVISE:
        return [
            Step(
                "It waits for a revision", "Write a revision", reverse("scene-revise", args=[slug, scene.pk])
            )
        ]
    if state is not QueueState.KEPT:
        return []
    prompts = reverse("scene-prompts", args=[slug])
    found = prompt_states([scene])[scene.pk]
    if found.prompts is None:
        return [Step("It waits for prompts", "Write prompts", prompts)]
    if not found.is_approved:
        return [Step("Its prompts wait for approval", "Read them", f"{prompts}?q={scene.pk}")]
    triplets = list(ImageTriplet.objects.filter(scene=scene).order_by("-pk").values_list("pk", flat=True))
    if triplets:
        text = f"It has {count_words(len(triplets), 'triplet')}"
        return [Step(text, "Open the triplet", reverse("image-triplet", args=[slug, triplets[0]]))]
    return [Step("Its prompts are approved", "Its images", reverse("scene-images", args=[slug, scene.pk]))]


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def scene_revise(request: HttpRequest, project: Project, scene_id: int) -> HttpResponse:
    """Write a revision of a scene."""
    scene = find_project_scene(project, scene_id)
    form = RevisionForm(scene, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            revision = revise_scene(
                scene=scene, texts=form.texts, by=signed_in_user(request), facets=form.facets
            )
        except Refused as error:
            add_refusal(form, error)
        else:
            messages.success(
                request, f"The revision is scene {revision.pk}. Somebody else than you decides about it."
            )
            return redirect("scene", project.slug, revision.pk)
    context = tab_context(project, TAB, "triplets") | {"scene": scene, "form": form}
    status = 400 if form.errors else 200
    return render(request, "curation/triplets/scenes/revise.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def scene_import(request: HttpRequest, project: Project) -> HttpResponse:
    """Import a file of scenes, whole or not at all."""
    form = SceneImportForm(request.POST or None, request.FILES or None, auto_id="import_%s")
    problems: list[str] = []
    count = 0
    if request.method == "POST" and form.is_valid():
        try:
            result = import_scenes(project=project, file=form.scene_file, by=signed_in_user(request))
        except Refused as error:
            cause = error.__cause__
            problems = cause.problems if isinstance(cause, SceneFileError) else [str(error)]
            count = cause.count if isinstance(cause, SceneFileError) else 1
        else:
            if result.new:
                messages.success(
                    request, f"{count_words(result.new, 'scene')} imported from {result.source.name}."
                )
            else:
                messages.info(request, f"{result.source.name} was imported before; nothing was added.")
            return redirect("scenes", project.slug)
    context = tab_context(project, TAB, "triplets") | {
        "form": form,
        "problems": problems,
        "problem_count": count,
        "columns": COLUMNS,
        "imports": Import.objects.filter(project=project, format=FORMAT).select_related("by")[:MAX_IMPORTS],
    }
    status = 400 if form.errors or problems else 200
    return render(request, "curation/triplets/scenes/import.html", context, status=status)
