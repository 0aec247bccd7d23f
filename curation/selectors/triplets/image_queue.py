"""Which scenes wait for images or picks, and for what."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from django.db.models import Count, OuterRef, Subquery

from curation.models import (
    GeneratedImage,
    ImagePick,
    ImageTriplet,
    ModelRun,
    PromptSet,
    RunPurpose,
    Scene,
    TripletDecision,
    TripletVerdict,
)
from curation.selectors.jobs import EDIT_IMAGE
from curation.selectors.triplets.images import ROLES, hidden_images
from curation.selectors.triplets.prompts import PromptState, approved_prompts, prompt_states
from hits.models import Image, Project

PREMISE = "premise"
HYPOTHESES = ("a", "b")
MAX_EDITS_LISTED = 5


class ImageStep(StrEnum):
    """What a scene waits for on its way to three picked images."""

    PROMPTS = "prompts"
    """Prompts are missing, or nobody approved them."""

    PREMISE_IMAGES = "premise_images"
    PREMISE_PICK = "premise_pick"
    HYPOTHESIS_IMAGES = "hypothesis_images"
    """The premise is picked, so that hypotheses can be drawn."""

    HYPOTHESIS_PICKS = "hypothesis_picks"
    READY = "ready"
    """All three images are picked; no triplet of these images is built."""

    BUILT = "built"


@dataclass(frozen=True, slots=True)
class QueuedScene:
    """A kept scene, how many candidates each role has, and the keys of the picked ones by role.

    ``hidden`` counts the candidates that a safety checker flagged and nobody released.
    """

    scene: Scene
    prompts: PromptState
    candidates: Mapping[str, int]
    picks: Mapping[str, int]
    hidden: int = 0
    is_built: bool = False

    @property
    def step(self) -> ImageStep:
        """What the scene waits for."""
        if all(role in self.picks for role in ROLES):
            return ImageStep.BUILT if self.is_built else ImageStep.READY
        if PREMISE not in self.picks:
            waiting, images, pick = [PREMISE], ImageStep.PREMISE_IMAGES, ImageStep.PREMISE_PICK
        else:
            waiting = [role for role in HYPOTHESES if role not in self.picks]
            images, pick = ImageStep.HYPOTHESIS_IMAGES, ImageStep.HYPOTHESIS_PICKS
        if all(self.candidates.get(role) for role in waiting):
            return pick
        return images if self.prompts.is_approved else ImageStep.PROMPTS


@dataclass(slots=True)
class _Progress:
    """Candidates that people may see, standing picks and hidden images, by the scene's key."""

    candidates: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    picks: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    hidden: Counter[int] = field(default_factory=Counter)


def image_queue(scenes: Sequence[Scene]) -> list[QueuedScene]:
    """Return how far each scene is; a constant number of queries."""
    keys = [scene.pk for scene in scenes]
    progress = _read_progress(keys)
    prompts = prompt_states(scenes)
    built = _built(keys)
    return [
        QueuedScene(
            scene,
            prompts[scene.pk],
            progress.candidates[scene.pk],
            picks := progress.picks[scene.pk],
            progress.hidden[scene.pk],
            is_built=tuple(picks.get(role) for role in ROLES) in built,
        )
        for scene in scenes
    ]


def _built(scenes: Sequence[int]) -> set[tuple[int, int, int]]:
    """Return the images of each triplet; those that a build dropped for other images can be built again."""
    newest = TripletDecision.objects.filter(triplet=OuterRef("pk")).order_by("-pk")
    rows = ImageTriplet.objects.filter(scene__in=scenes).annotate(
        verdict=Subquery(newest.values("verdict")[:1]), decided_by=Subquery(newest.values("by")[:1])
    )
    return {
        (premise, a, b)
        for premise, a, b, verdict, by in rows.values_list("premise", "a", "b", "verdict", "decided_by")
        if by is not None or verdict != TripletVerdict.DROP
    }


def _read_progress(scenes: Sequence[int]) -> _Progress:
    found = _Progress()
    images = GeneratedImage.objects.filter(scene__in=scenes, image__taken_down_at=None)
    for scene, role, count in images.order_by().values_list("scene", "role").annotate(Count("pk")):
        found.candidates[scene][role] = count
    flagged = {row.pk: row for row in images.exclude(flags=[]).only("pk", "scene", "role", "flags")}
    hidden = hidden_images(flagged.values())
    for key in hidden:
        row = flagged[key]
        found.candidates[row.scene_id][row.role] -= 1
        found.hidden[row.scene_id] += 1
    newest: dict[tuple[int, str], ImagePick] = {}
    rows = ImagePick.objects.filter(scene__in=scenes).select_related("image__image").order_by("pk")
    for pick in rows:
        newest[pick.scene_id, pick.role] = pick
    for (scene, role), pick in newest.items():
        is_shown = pick.image_id not in hidden
        if pick.image is not None and is_shown and pick.image.image.taken_down_at is None:
            found.picks[scene][role] = pick.image.pk
    return found


def picked_images(rows: Iterable[QueuedScene]) -> dict[int, Image]:
    """Return the image files of the scenes' picks, by the key of the candidate; one query."""
    keys = [key for row in rows for key in row.picks.values()]
    found = GeneratedImage.objects.filter(pk__in=keys).select_related("image")
    return {row.pk: row.image for row in found}


def count_steps(rows: Iterable[QueuedScene]) -> Counter[ImageStep]:
    """Return how many scenes wait for what."""
    return Counter(row.step for row in rows)


def missing_images(project: Project, candidates: int) -> list[tuple[PromptSet, dict[str, int]]]:
    """Return the approved prompts whose roles miss candidates, with the number that each role misses.

    Edits are extra candidates, so they do not count. Images that were taken down are missing again, and so are
    hypotheses that were drawn beside a premise that is no longer picked.
    """
    prompts = approved_prompts(project).values()
    images = GeneratedImage.objects.filter(
        prompt_set__in=[row.pk for row in prompts], parent=None, image__taken_down_at=None
    )
    progress = _read_progress([row.scene_id for row in prompts])
    keys = [picks[PREMISE] for picks in progress.picks.values() if PREMISE in picks]
    picked = GeneratedImage.objects.filter(pk__in=keys).select_related("image")
    premises = {row.scene_id: row for row in picked}
    drawn = Counter(
        (row.prompt_set_id, row.role)
        for row in images.only("scene", "prompt_set", "role", "parent", "parameters")
        if row.scene_id not in premises or not row.is_beside_other_premise(premises[row.scene_id])
    )
    found = []
    for row in prompts:
        missing = {role: max(0, candidates - drawn[row.pk, role]) for role in ROLES}
        if any(missing.values()):
            found.append((row, missing))
    return found


def edit_runs(project: Project, images: Iterable[int]) -> list[ModelRun]:
    """Return the newest runs that draw one more candidate from one of these candidates, newest first."""
    keys = set(images)
    rows = ModelRun.objects.filter(project=project, purpose=RunPurpose.IMAGES, job__task=EDIT_IMAGE)
    recent = rows.select_related("job").order_by("-pk")[:200]
    return [row for row in recent if row.parameters.get("image") in keys][:MAX_EDITS_LISTED]
