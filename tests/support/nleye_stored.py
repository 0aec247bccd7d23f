"""Stored scenes, prompts, images, triplets and answers of a project of the family ``nleye``."""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from django.contrib.auth.models import User

from curation.models import (
    GeneratedImage,
    ImageTriplet,
    PickOrigin,
    PromptSet,
    PromptVerdict,
    Scene,
    SceneVerdict,
)
from curation.selectors.triplets.triplets import Facets
from curation.services.triplets.explanation_rounds import launch_explanations
from curation.services.triplets.images import (
    ImageOrigin,
    Provenance,
    pick_image,
    store_generated_image,
    store_image_file,
)
from curation.services.triplets.prompts import decide_prompts, plain_prompts, store_prompts
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.scenes import (
    ReaderDecision,
    SceneTexts,
    decide_scene,
    draw_hypotheses,
)
from curation.services.triplets.triplet_rounds import PlausibilityOptions, launch_plausibility
from curation.services.triplets.triplets import build_triplets, check_triplet, write_gold_explanation
from hits.domain.answers.scene_facets import CATEGORIES
from hits.models import Hit, Image, Project, Submission
from hits.services.launching.terms import LaunchTerms
from tests.support.judging.work import Work
from tests.support.pictures import picture

ROLES = ("premise", "a", "b")
GENERATOR, LICENCE = "folder:drawn-by-us", "CC BY 4.0"
TIMES = (
    ("parallel", ""),
    ("forward", "short"),
    ("forward", "long"),
    ("backward", "short"),
    ("backward", "long"),
)


def nleye_project(project: Project) -> Project:
    """Turn an empty project into one with image triplets."""
    Project.objects.filter(pk=project.pk).update(family="nleye")
    project.refresh_from_db()
    return project


def store_scenes(project: Project, count: int, **more: Any) -> list[Scene]:
    """Store scenes of all categories and times in turn, with texts that differ."""
    times = cycle(TIMES)
    start = Scene.objects.filter(project=project).count()
    rows = []
    for number in range(start, start + count):
        direction, duration = next(times)
        texts = SceneTexts(
            f"A broken lamp number {number} lies on the floor.",
            f"A child with ball {number} looks at the floor.",
            f"A child reads book {number} in an armchair.",
        )
        fields: dict[str, Any] = {
            "category": CATEGORIES[number % len(CATEGORIES)],
            "direction": direction,
            "duration": duration,
            "domain": "Home",
            "why": "The ball has hit the lamp.",
            **draw_hypotheses(texts),
        }
        rows.append(Scene(project=project, **fields | more))
    return Scene.objects.bulk_create(rows)


def keep_scenes(scenes: Sequence[Scene], by: User) -> None:
    """Keep scenes."""
    for scene in scenes:
        decide_scene(scene=scene, decision=ReaderDecision(SceneVerdict.KEEP), by=by)


def approve_prompts(scenes: Sequence[Scene], by: User) -> list[PromptSet]:
    """Give kept scenes their own texts as prompts, approved."""
    rows = [store_prompts(scene=scene, written=plain_prompts(scene), by=by) for scene in scenes]
    for row in rows:
        decide_prompts(prompts=row, verdict=PromptVerdict.APPROVED, by=by)
    return rows


def store_image(
    scene: Scene, role: str, *, seed: int = 0, size: tuple[int, int] = (64, 64), **more: Any
) -> GeneratedImage:
    """Store a small candidate of a role; another ``seed`` makes another picture. ``more`` is provenance."""
    data = picture(*size, seed=scene.pk * 1000 + ROLES.index(role) * 100 + seed)
    image: Image = store_image_file(project=scene.project, data=data, licence=LICENCE)
    provenance = {"generator": GENERATOR, "licence": LICENCE, "prompt": scene.text(role), "seed": seed}
    return store_generated_image(
        scene=scene, role=role, image=image, provenance=Provenance(**provenance | more), origin=ImageOrigin()
    )


def pick_images(scenes: Sequence[Scene], by: User) -> None:
    """Store and pick one image of each role."""
    for scene in scenes:
        for role in ROLES:
            pick_image(scene=scene, role=role, image=store_image(scene, role), by=by, origin=PickOrigin.QUEUE)


def store_triplets(project: Project, count: int, by: User, **more: Any) -> list[ImageTriplet]:
    """Build triplets of new kept scenes; they are drafts. ``more`` are fields of the scenes."""
    scenes = store_scenes(nleye_project(project), count, **more)
    keep_scenes(scenes, by)
    pick_images(scenes, by)
    return build_triplets(project=project, by=by).triplets


def explain(triplets: Sequence[ImageTriplet], by: User) -> None:
    """Give drafts a gold explanation and a check in which all images show their texts."""
    for triplet in triplets:
        scene = triplet.scene
        write_gold_explanation(triplet=triplet, text=f"The ball hit the lamp of scene {scene.pk}.", by=by)
        check_triplet(
            triplet=triplet,
            facets=Facets(scene.category, scene.direction, scene.duration, scene.domain),
            alignment=dict.fromkeys(("premise", "h1", "h2"), "yes"),
            by=by,
        )


def plausibility_answer(choice: str, *, why: str = "The ball was thrown and hit the lamp.") -> dict[str, Any]:
    """Return an answer about the shape ``triplet``; ``choice`` is h1, h2 or equal."""
    ratings = {"h1": 5 if choice == "h1" else 2, "h2": 5 if choice == "h2" else 2}
    return {"choice": choice, "why": why, "certainty": "certain", "ratings": ratings}


def judge(
    project: Project, choices: Mapping[str, Sequence[str]], by: User, *, work: Work | None = None
) -> list[Submission]:
    """Let people judge explained triplets: ``choices`` maps public ids to the choices of workers J0, J1, ….

    ``right`` and ``wrong`` stand for the triplet's gold and the other hypothesis.
    """
    work = work or Work(project)
    terms = LaunchTerms(redundancy=max(map(len, choices.values())))
    batch, _ = launch_plausibility(
        project=project, options=PlausibilityOptions(), launch=RoundLaunch(by, "Plausibility", terms)
    )
    work.publish(batch)
    gold = dict(ImageTriplet.objects.filter(project=project).values_list("public_id", "gold"))
    submissions = []
    for hit in Hit.objects.filter(unit__batch=batch).select_related("unit"):
        triplet = hit.unit.payload["triplet"]
        named = {"right": f"h{gold[triplet]}", "wrong": f"h{3 - gold[triplet]}"}
        for number, choice in enumerate(choices.get(triplet, ())):
            answer = plausibility_answer(
                named.get(choice, choice), why=f"Because of the lamp, says {number}."
            )
            submissions.append(work.answered(hit, f"J{number}", answer))
    return submissions


def judge_explanations(
    project: Project, by: User, tick: Callable[[list[str]], list[str]], *, work: Work | None = None
) -> list[Submission]:
    """Let workers E0, E1 and E2 judge the explanations that nobody judged; ``tick`` gets a page's ids."""
    work = work or Work(project)
    launch = RoundLaunch(by, "Explanations", LaunchTerms(redundancy=3))
    batch, _ = launch_explanations(project=project, launch=launch)
    work.publish(batch)
    submissions = []
    for hit in Hit.objects.filter(unit__batch=batch).select_related("unit"):
        valid = tick([row["id"] for row in hit.unit.payload["explanations"]])
        for number in range(3):
            answer = {"valid": valid, "none": not valid}
            submissions.append(work.answered(hit, f"E{number}", answer))
    return submissions


def judged_triplets(
    project: Project, count: int, by: User, *, choices: Sequence[str] = ("right", "right", "wrong")
) -> list[ImageTriplet]:
    """Return triplets that are explained, aligned and judged by three people, so that they can be sealed."""
    triplets = store_triplets(project, count, by)
    explain(triplets, by)
    judge(project, {row.public_id: choices for row in triplets}, by)
    return triplets


def random_choices(count: int, *, right: float, seed: int = 0) -> list[str]:
    """Return ``right`` with a probability, else ``wrong``."""
    draws = np.random.default_rng(seed).random(count)
    return ["right" if draw < right else "wrong" for draw in draws]
