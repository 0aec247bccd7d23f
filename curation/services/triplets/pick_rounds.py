"""Ask workers to pick an image for each role of a scene, and apply what most of them chose."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from curation.models import PickOrigin, Scene
from curation.selectors.triplets.answers import majority, pick_spec
from curation.selectors.triplets.images import SceneImages, scene_images
from curation.selectors.triplets.scenes import first_scene_ids, kept_scenes
from curation.services.triplets.images import pick_image, same_picture
from curation.services.triplets.round_launch import (
    RoundLaunch,
    Sourced,
    launch_judging_round,
    launched_keys,
    one_launch_at_a_time,
)
from hits.domain.states import BatchState
from hits.models import Batch, Job, Project, Unit, Worker
from hits.services.errors import Refused
from validation.domain.judging.round_material import CandidatesToPick
from validation.selectors.ratings import read_judgments

MAX_CANDIDATES = 8
MIN_CANDIDATES = 2
MIN_AGREEING = 2  # workers, unless a round asked only one


def launch_image_picks(*, project: Project, launch: RoundLaunch) -> tuple[Batch, Job]:
    """Ask workers to pick an image for each role of a kept scene that has candidates and no pick.

    Hypotheses are picked beside the picked premise, so they wait for it.

    Raises:
        Refused: no role has two or more candidates and no pick, or the launch is not possible.
    """
    earlier = launch.find_earlier(project)
    if earlier is not None:
        return earlier
    with one_launch_at_a_time(project):
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
    images, first = scene_images(scenes), first_scene_ids(project)
    return [
        Sourced(source, [authors[scene.author_id]] if scene.author_id else [])
        for scene in scenes
        for source in _candidates_to_pick(scene, images[scene.pk], first[scene.pk])
        if source.id not in asked
    ]


def _candidates_to_pick(scene: Scene, images: SceneImages, first_scene: str) -> Iterable[CandidatesToPick]:
    premise = images.picks.get("premise")
    for role in ("premise", "a", "b"):
        shown = images.shown(role)
        waits = role != "premise" and premise is None
        if role in images.picks or waits or len(shown) < MIN_CANDIDATES:
            continue
        picked = {row.image_id for row in images.picks.values()}  # no picture shows two roles
        different = dict.fromkeys(row.image_id for row in shown if row.image_id not in picked)
        candidates = list(different)[-MAX_CANDIDATES:]
        if len(candidates) < MIN_CANDIDATES:
            continue
        yield CandidatesToPick(
            id=f"{scene.public_id}-{role}",
            scene_id=first_scene,
            role=role,
            text=scene.text(role),
            premise_image=None if role == "premise" or premise is None else premise.image_id,
            candidates=candidates,
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """The rounds that asked about a role. ``at``: the launch of the newest one; ``redundancy``: the most workers."""

    at: datetime | None = None
    redundancy: int = 1
    is_waiting: bool = False


def apply_crowd_picks(project: Project) -> int:
    """Pick the image that more than half of a role's workers chose; return the number of new picks. Repeatable.

    A role waits until all its workers answered or its round is closed, since a pick is not taken back by later
    answers. Whoever took a pick back, after the crowd was asked, decided against the crowd's choice, too.
    """
    chosen: dict[str, list[str]] = {}
    asked = _asked_roles(project)  # first: an answer that comes in meanwhile leaves its role waiting
    for row in read_judgments(project=project, kind=pick_spec().name):
        chosen.setdefault(row.item, []).append(str(row.answer["best"]))
    scenes = {scene.public_id: scene for scene in kept_scenes(project)}
    images = scene_images(scenes.values())
    picked = 0
    for item, votes in chosen.items():
        public_id, _, role = item.partition("-")
        scene, rounds = scenes.get(public_id), asked.get(item, _Asked())
        best = _crowd_choice(votes, rounds)
        if scene is None or not best or role in images[scene.pk].picks:
            continue
        newest = images[scene.pk].newest.get(role)
        if newest is not None and (rounds.at is None or newest.at >= rounds.at):
            continue
        image = next((row for row in images[scene.pk].shown(role) if str(row.image_id) == best), None)
        # Most may have chosen none of them, and another role may show the same picture by now.
        if image is not None and not same_picture(images[scene.pk], role, image):
            pick_image(scene=scene, role=role, image=image, by=None, origin=PickOrigin.CROWD)
            picked += 1
    return picked


def _crowd_choice(votes: Sequence[str], asked: _Asked) -> str:
    """Return what more than half chose; empty while answers are missing, or if too few workers are left to agree."""
    if asked.is_waiting:
        return ""
    best = majority(votes)
    agreeing = votes.count(best)
    is_chosen = agreeing * 2 > len(votes) and agreeing >= min(MIN_AGREEING, asked.redundancy)
    return best if is_chosen else ""


def _asked_roles(project: Project) -> dict[str, _Asked]:
    """Return what rounds asked about each role of a scene; rejected answers are no longer missing."""
    units = Unit.objects.filter(batch__project=project, batch__kind=pick_spec().name, quality_check=None)
    rows = units.annotate(answers=Count("hits__assignments")).order_by("pk")
    fields = ("key", "batch__launched_at", "batch__state", "batch__redundancy", "answers")
    found: dict[str, _Asked] = {}
    for key, launched_at, state, redundancy, answers in rows.values_list(*fields):
        before = found.get(key, _Asked())
        is_open = state != BatchState.CLOSED and answers < redundancy
        found[key] = _Asked(
            at=max(filter(None, (before.at, launched_at)), default=None),
            redundancy=max(before.redundancy, redundancy),
            is_waiting=before.is_waiting or is_open,
        )
    return found
