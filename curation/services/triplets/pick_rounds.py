"""Ask workers to pick an image for each role of a scene, and apply what most of them chose."""

from collections.abc import Iterable

from curation.models import PickOrigin, Scene
from curation.selectors.triplets.answers import majority, pick_spec
from curation.selectors.triplets.images import SceneImages, scene_images
from curation.selectors.triplets.scenes import kept_scenes
from curation.services.triplets.images import pick_image
from curation.services.triplets.round_launch import (
    RoundLaunch,
    Sourced,
    launch_judging_round,
    launched_keys,
)
from hits.models import Batch, Job, Project, Worker
from hits.services.errors import Refused
from validation.domain.judging.round_material import CandidatesToPick
from validation.selectors.ratings import read_judgments

MAX_CANDIDATES = 8
MIN_CANDIDATES = 2


def launch_image_picks(*, project: Project, launch: RoundLaunch) -> tuple[Batch, Job]:
    """Ask workers to pick an image for each role of a kept scene that has candidates and no pick.

    Hypotheses are picked beside the picked premise, so they wait for it.

    Raises:
        Refused: no role has two or more candidates and no pick, or the launch is not possible.
    """
    earlier = launch.find_earlier(project)
    if earlier is not None:
        return earlier
    sources = pick_sources(project)
    if not sources:
        raise Refused("images: no role has candidates to pick from; generate or import images first")
    return launch_judging_round(
        project=project,
        spec=pick_spec(),
        sources=sources,
        launch=launch,
        name=f"Pick {len(sources)} images",
        provenance={"roles": len(sources)},
    )


def pick_sources(project: Project) -> list[Sourced]:
    """Return what a round asks: one source for each role that has candidates, no pick, and no round yet."""
    asked = launched_keys(project, pick_spec().name)
    scenes = kept_scenes(project)
    authors = Worker.objects.in_bulk({scene.author_id for scene in scenes if scene.author_id})
    images = scene_images(scenes)
    return [
        Sourced(source, [authors[scene.author_id]] if scene.author_id else [])
        for scene in scenes
        for source in _candidates_to_pick(scene, images[scene.pk])
        if source.id not in asked
    ]


def _candidates_to_pick(scene: Scene, images: SceneImages) -> Iterable[CandidatesToPick]:
    premise = images.picks.get("premise")
    for role in ("premise", "a", "b"):
        shown = images.shown(role)
        waits = role != "premise" and premise is None
        if role in images.picks or waits or len(shown) < MIN_CANDIDATES:
            continue
        candidates = list(dict.fromkeys(row.image_id for row in shown))[-MAX_CANDIDATES:]
        if len(candidates) < MIN_CANDIDATES:
            continue
        yield CandidatesToPick(
            id=f"{scene.public_id}-{role}",
            scene_id=scene.public_id,
            role=role,
            text=scene.text(role),
            premise_image=None if role == "premise" or premise is None else premise.image_id,
            candidates=candidates,
        )


def apply_crowd_picks(project: Project) -> int:
    """Pick the image that more than half of a role's workers chose; return the number of new picks. Repeatable."""
    chosen: dict[str, list[str]] = {}
    for row in read_judgments(project=project, kind=pick_spec().name):
        chosen.setdefault(row.item, []).append(str(row.answer["best"]))
    scenes = {scene.public_id: scene for scene in kept_scenes(project)}
    images = scene_images(scenes.values())
    picked = 0
    for item, votes in chosen.items():
        public_id, _, role = item.partition("-")
        scene = scenes.get(public_id)
        best = majority(votes)
        if scene is None or role in images[scene.pk].picks or votes.count(best) * 2 <= len(votes):
            continue
        image = next((row for row in images[scene.pk].shown(role) if str(row.image_id) == best), None)
        if image is not None:  # most may have chosen none of them
            pick_image(scene=scene, role=role, image=image, by=None, origin=PickOrigin.CROWD)
            picked += 1
    return picked
