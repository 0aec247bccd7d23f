"""Request prompts that a chat model writes from scenes (Ventura et al. 2025 §3, E.1)."""

from dataclasses import asdict, dataclass
from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import RunPurpose, Scene
from curation.selectors.jobs import AUGMENT_PROMPTS
from curation.selectors.triplets.prompts import prompt_states
from curation.selectors.triplets.scenes import kept_scenes
from curation.services.triplets.chat_options import ChatOptions, check_chat_cap
from curation.services.triplets.model_calls import RunPlan, create_run
from curation.services.triplets.prompts import plain_prompts, store_prompts
from hits.models import Job, Project
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentOptions(ChatOptions):
    """How prompts are written. again: also for scenes that have prompts already."""

    again: bool = False
    max_tokens: ClassVar[int] = 1024


def scenes_without_prompts(project: Project) -> list[Scene]:
    """Return the kept scenes that have no prompts, oldest first."""
    kept = kept_scenes(project)
    states = prompt_states(kept)
    return [scene for scene in kept if states[scene.pk].prompts is None]


def store_plain_prompts(*, project: Project, by: AbstractBaseUser | None) -> int:
    """Use the texts of all kept scenes without prompts as they are; return their number."""
    stored = 0
    for scene in scenes_without_prompts(project):
        try:
            store_prompts(scene=scene, written=plain_prompts(scene), by=by, based_on=0)
        except Conflict:  # somebody wrote prompts at this moment
            continue
        stored += 1
    return stored


def request_augmentation(
    *, project: Project, options: AugmentOptions, by: AbstractBaseUser | None, queue: bool = True
) -> Job:
    """Start a run that writes prompts for the kept scenes; return its job.

    Raises:
        Refused: no scene is left to write prompts for.
        Conflict: prompts of this project are being written already.
    """
    rows = kept_scenes(project) if options.again else scenes_without_prompts(project)
    if not rows:
        raise Refused(
            "scenes: every kept scene has prompts; keep more scenes, or write them for all again (--again)"
        )
    options.load_prompts()
    cap = check_chat_cap(project, options)
    with transaction.atomic():
        run = create_run(
            project=project,
            plan=RunPlan(
                RunPurpose.PROMPTS,
                options.model,
                cap,
                options.cap_calls,
                asdict(options),
            ),
            by=by,
        )
        run.job = jobs.enqueue(
            task=AUGMENT_PROMPTS,
            title=f"Write prompts of {len(rows)} scenes with {options.model}"[:160],
            project=project,
            by=by,
            exclusive_key=f"prompts:{project.pk}",
            resumable=True,
            queue=queue,
            run=run.pk,
            scenes=[row.pk for row in rows],
        )
        run.save(update_fields=["job"])
    return run.job
