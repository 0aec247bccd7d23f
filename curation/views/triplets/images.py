"""The queue of scenes that wait for images or picks, a scene's candidates, and picks among them."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from curation.evaluation.image_figures import RANDOM_PAIR_DISTANCE
from curation.models import GeneratedImage, Scene
from curation.selectors.jobs import GENERATE_IMAGES, IMPORT_GENERATED, latest_job
from curation.selectors.triplets.image_figures import style_scale
from curation.selectors.triplets.image_queue import (
    ImageStep,
    QueuedScene,
    count_steps,
    edit_runs,
    image_queue,
    picked_images,
)
from curation.selectors.triplets.images import ROLES, image_runs, scene_images
from curation.selectors.triplets.prompts import prompt_states
from curation.selectors.triplets.scenes import kept_scenes
from curation.services.triplets.images import pick_image
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.image_parts import (
    PICK_STEPS,
    ROLE_LABELS,
    STEP_LABELS,
    StepLink,
    show_queue,
    show_roles,
)
from curation.views.triplets.steps import Step, count_words
from hits.domain.answers.text import parse_digits
from hits.models import Project
from hits.services.errors import Refused
from hits.views.pages import action_messages, get_or_404, get_page, job_if_failed, job_if_open
from hits.views.users import signed_in_user

TAB = "images"
SCENES_PER_PAGE = 24
RUNS_SHOWN = 8
QUEUE_ORDER = (
    ImageStep.HYPOTHESIS_PICKS,
    ImageStep.PREMISE_PICK,
    ImageStep.READY,
    ImageStep.HYPOTHESIS_IMAGES,
    ImageStep.PREMISE_IMAGES,
    ImageStep.PROMPTS,
    ImageStep.BUILT,
)
"""What a person can do at once comes first."""


@require_safe
@triplet_project_page()
def image_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show which scenes wait for images or picks, the runs of generators, and how to get more images."""
    queue = image_queue(kept_scenes(project))
    counts = count_steps(queue)
    chosen = request.GET.get("step", "")
    rows = [row for row in queue if not chosen or row.step == chosen]
    rows.sort(key=lambda row: QUEUE_ORDER.index(row.step))
    page = get_page(request, rows, SCENES_PER_PAGE)
    shown = list(page)
    jobs = [latest_job(project, task) for task in (GENERATE_IMAGES, IMPORT_GENERATED)]
    runs = image_runs(project)[:RUNS_SHOWN]
    context = tab_context(project, TAB, "triplets") | {
        "steps": _next_steps(project, counts),
        "filters": _filters(counts, chosen, len(queue)),
        "page": page,
        "scenes": show_queue(shown, picked_images(shown)),
        "kept": len(queue),
        "first": next((row.scene for row in queue if row.step in PICK_STEPS), None),
        "runs": runs,
        "jobs": [job for job in jobs if job_if_open(job)],
        "failed_jobs": [job for job in jobs if job_if_failed(job)],
    }
    return render(request, "curation/triplets/images/images.html", context)


def _filters(counts: Any, chosen: str, total: int) -> list[StepLink]:
    every = StepLink("", "All", total, is_current=not chosen)
    found = [StepLink(step.value, STEP_LABELS[step], counts[step], step == chosen) for step in ImageStep]
    return [every, *(link for link in found if link.count or link.is_current)]


def _next_steps(project: Project, counts: Any) -> list[Step]:
    """Return what waits, nearest to a triplet first."""

    def address(name: str, query: str = "") -> str:
        return reverse(name, args=[project.slug]) + query

    queue = "scene-image-list"
    rows = [
        (counts[ImageStep.READY], "to become a triplet", "Build triplets", address("image-triplets")),
        (
            counts[ImageStep.HYPOTHESIS_PICKS],
            "for picks of hypotheses",
            "Show them",
            address(queue, f"?step={ImageStep.HYPOTHESIS_PICKS.value}"),
        ),
        (
            counts[ImageStep.HYPOTHESIS_IMAGES],
            "for images of hypotheses",
            "Draw images",
            address("scene-image-run-new"),
        ),
        (
            counts[ImageStep.PREMISE_PICK],
            "for the pick of a premise",
            "Show them",
            address(queue, f"?step={ImageStep.PREMISE_PICK.value}"),
        ),
        (
            counts[ImageStep.PREMISE_IMAGES],
            "for images of a premise",
            "Draw images",
            address("scene-image-run-new"),
        ),
        (counts[ImageStep.PROMPTS], "for approved prompts", "Prompts", address("scene-prompts")),
    ]
    found = [
        Step(f"{count_words(count, 'scene')} wait{'s' if count == 1 else ''} {what}", action, url)
        for count, what, action, url in rows
        if count
    ]
    if counts[ImageStep.BUILT] and not found:
        found.append(Step("Every kept scene is in a triplet", "Triplets", address("image-triplets")))
    return found


def find_scene_or_404(project: Project, scene_id: int) -> Scene:
    """Return a scene of the project, or raise Http404."""
    rows = Scene.objects.select_related("project", "replaced_by")
    return get_or_404(rows.filter(project=project, pk=scene_id).first(), "There is no such scene.")


@require_safe
@triplet_project_page()
def scene_image_page(request: HttpRequest, project: Project, scene_id: int) -> HttpResponse:
    """Show the candidates of a scene's three roles, and the picked ones as the triplet will look."""
    scene = find_scene_or_404(project, scene_id)
    images = scene_images([scene])[scene.pk]
    prompts = prompt_states([scene])[scene.pk].prompts
    roles = show_roles(scene, images, prompts, style_scale(project))
    keys = [row.pk for given in images.candidates.values() for row in given]
    runs = edit_runs(project, keys)
    queue = image_queue(kept_scenes(project))
    own = next((row for row in queue if row.scene == scene), None)
    context = tab_context(project, TAB, "triplets") | {
        "scene": scene,
        "roles": roles,
        "premise": roles[0].picked,
        "random_pair_distance": RANDOM_PAIR_DISTANCE,
        "has_styles": any(row.style for role in roles for row in role.candidates),
        "picked_beside_other": [
            role.label for role in roles if role.picked is not None and role.picked.is_beside_other
        ],
        "seen": images.seen,
        "imported": scene.triplets.exclude(imported_row=None).first(),
        "is_kept": own is not None,
        "is_complete": images.is_complete,
        "is_built": own is not None and own.is_built,
        "has_candidates": bool(keys),
        "prompts": prompts,
        "has_approved_prompts": own is not None and own.prompts.is_approved,
        "following": _following(queue, scene),
        "jobs": [run.job for run in runs if job_if_open(run.job)],
        "failed": job_if_failed(runs[0].job) if runs else None,
    }
    return render(request, "curation/triplets/images/scene.html", context)


def _following(queue: list[QueuedScene], scene: Scene) -> Scene | None:
    """Return the next scene that waits for a pick, in the order of the queue and then from its start."""
    waiting = [row.scene for row in queue if row.step in PICK_STEPS and row.scene != scene]
    later = [row for row in waiting if row.pk > scene.pk]
    return next(iter([*later, *waiting]), None)


@require_POST
@triplet_project_page()
def scene_image_pick(request: HttpRequest, project: Project, scene_id: int) -> HttpResponse:
    """Pick a candidate for a role, or take the pick back."""
    scene = find_scene_or_404(project, scene_id)
    role = request.POST.get("role", "")
    number = parse_digits(request.POST.get("candidate", ""))
    seen = parse_digits(request.POST.get("seen", ""))
    label = ROLE_LABELS.get(role, "Image")
    done = f"{label}: the pick is taken back." if number is None else f"{label}: picked."
    with action_messages(request, "Not picked", done):
        if request.POST.get("candidate") and number is None:
            raise Refused("image: there is no such candidate; reload the page")
        image = None
        if number is not None:
            image = GeneratedImage.objects.filter(scene=scene, role=role, pk=number).first()
            if image is None:
                raise Refused("image: is no candidate for this role, or was taken down; reload the page")
        pick_image(
            scene=scene, role=role, image=image, by=signed_in_user(request), seen=-1 if seen is None else seen
        )
    address = reverse("scene-images", args=[project.slug, scene.pk])
    place = f"role-{role}" if role in ROLES else ""
    return redirect(f"{address}#{place if number is None else f'candidate-{number}'}")
