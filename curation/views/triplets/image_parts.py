"""What the pages of generated images show of scenes, roles and candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curation.evaluation.image_figures import RANDOM_PAIR_DISTANCE, StyleScale
from curation.models import GeneratedImage, PickOrigin, PromptSet, Scene
from curation.selectors.triplets.image_figures import read_figures
from curation.selectors.triplets.image_queue import HYPOTHESES, PREMISE, ImageStep, QueuedScene
from curation.selectors.triplets.images import ROLES, SceneImages
from hits.charts.chart import Chart
from hits.charts.strips import share_strip
from hits.domain.images.image_facts import ImageFacts
from hits.models import Image
from hits.selectors.images.images import image_facts

ROLE_LABELS: Mapping[str, str] = {PREMISE: "Premise", "a": "Hypothesis a", "b": "Hypothesis b"}
STEP_LABELS: Mapping[ImageStep, str] = {
    ImageStep.PROMPTS: "Prompts first",
    ImageStep.PREMISE_IMAGES: "Premise to draw",
    ImageStep.PREMISE_PICK: "Premise to pick",
    ImageStep.HYPOTHESIS_IMAGES: "Hypotheses to draw",
    ImageStep.HYPOTHESIS_PICKS: "Hypotheses to pick",
    ImageStep.READY: "Triplet to build",
    ImageStep.BUILT: "In a triplet",
}
# The modifier of the badge, and its icon.
STEP_BADGES: Mapping[ImageStep, tuple[str, str]] = {
    ImageStep.PROMPTS: ("warn", "lock"),
    ImageStep.PREMISE_IMAGES: ("", "photo"),
    ImageStep.PREMISE_PICK: ("info", "eye"),
    ImageStep.HYPOTHESIS_IMAGES: ("", "photo"),
    ImageStep.HYPOTHESIS_PICKS: ("info", "eye"),
    ImageStep.READY: ("ok", "next"),
    ImageStep.BUILT: ("ok", "ok"),
}
BLOCKS: Mapping[ImageStep, str] = {
    ImageStep.PROMPTS: "Images are drawn from approved prompts, and there are none yet.",
    ImageStep.PREMISE_IMAGES: "The premise is drawn first; it has no image yet.",
    ImageStep.PREMISE_PICK: "Pick the premise; the hypotheses are drawn after that, to match it.",
    ImageStep.HYPOTHESIS_IMAGES: "The premise is picked; its hypotheses have no images yet.",
    ImageStep.HYPOTHESIS_PICKS: "Pick both hypotheses beside the picked premise.",
    ImageStep.READY: "All three images are picked; build the triplet.",
    ImageStep.BUILT: "A triplet shows these three images.",
}
PICK_STEPS = (ImageStep.PREMISE_PICK, ImageStep.HYPOTHESIS_PICKS)
ORIGIN_LABELS: Mapping[str, str] = {
    PickOrigin.QUEUE: "picked here",
    PickOrigin.CROWD: "picked by most workers",
    PickOrigin.FIRST: "taken without a person's look",
}
PARAMETER_LABELS: Mapping[str, str] = {"steps": "Steps", "guidance": "Guidance"}
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class StyleStrip:
    """A distance of style and its bar. All bars of a scene have one scale."""

    distance: float
    strip: Chart


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """A candidate with its picture, and the number of the candidate that it was made from.

    ``style`` is a hypothesis' distance of style from the picked premise; ``None`` without one.
    """

    row: GeneratedImage
    image: ImageFacts
    is_picked: bool
    is_hidden: bool
    parent: int | None
    is_beside_other: bool
    facts: Sequence[tuple[str, str]]
    style: StyleStrip | None


@dataclass(frozen=True, slots=True)
class ShownRole:
    """A role of a scene: its text and prompt, its candidates, and the picked one. ``key`` is its digit key."""

    name: str
    label: str
    key: int
    text: str
    is_plausible: bool
    prompt: str
    candidates: Sequence[ShownCandidate]
    picked: ShownCandidate | None
    origin: str
    waits: bool

    @property
    def hidden(self) -> int:
        """How many candidates are hidden."""
        return sum(row.is_hidden for row in self.candidates)


@dataclass(frozen=True, slots=True)
class ShownScene:
    """A scene of the queue: what it waits for, and per role its picked image or the number of candidates."""

    row: QueuedScene
    label: str
    badge: str
    icon: str
    block: str
    tiles: Sequence[tuple[str, ImageFacts | None, int]]


@dataclass(frozen=True, slots=True)
class StepLink:
    """A filter of the queue with its number of scenes."""

    name: str
    label: str
    count: int
    is_current: bool = False


def show_queue(rows: Sequence[QueuedScene], images: Mapping[int, Image]) -> list[ShownScene]:
    """Return scenes as the queue shows them."""
    found = []
    for row in rows:
        badge, icon = STEP_BADGES[row.step]
        tiles = []
        for role in ROLES:
            image = images.get(row.picks.get(role, 0))
            tiles.append(
                (ROLE_LABELS[role], image_facts(image) if image else None, row.candidates.get(role, 0))
            )
        found.append(ShownScene(row, STEP_LABELS[row.step], badge, icon, BLOCKS[row.step], tiles))
    return found


def show_roles(
    scene: Scene, images: SceneImages, prompts: PromptSet | None, scale: StyleScale
) -> list[ShownRole]:
    """Return the three roles of a scene with their candidates. ``scale`` is that of distances of style."""
    styles = _style_strips(images, scale)
    numbers = {row.pk: row.number for given in images.candidates.values() for row in given}
    found = []
    for key, role in enumerate(ROLES, start=1):
        picked = images.picks.get(role)
        candidates = [
            show_candidate(row, images, is_picked=row == picked, numbers=numbers, style=styles.get(row.pk))
            for row in images.candidates.get(role, ())
        ]
        found.append(
            ShownRole(
                name=role,
                label=ROLE_LABELS[role],
                key=key,
                text=scene.text(role),
                is_plausible=role == scene.plausible,
                prompt=prompts.prompt(role) if prompts else "",
                candidates=candidates,
                picked=next((row for row in candidates if row.is_picked), None),
                origin=ORIGIN_LABELS.get(images.origins.get(role, ""), ""),
                waits=role in HYPOTHESES and PREMISE not in images.picks,
            )
        )
    return found


def _style_strips(images: SceneImages, scale: StyleScale) -> dict[int, StyleStrip]:
    """Return how far each hypothesis is from the picked premise in style, by its key, where both were measured."""
    premise = images.picks.get(PREMISE)
    reference = read_figures(premise) if premise else None
    if reference is None:
        return {}
    distances = {
        row.pk: scale.distance(reference, figures)
        for role in HYPOTHESES
        for row in images.shown(role)
        if (figures := read_figures(row)) is not None
    }
    full = max([RANDOM_PAIR_DISTANCE, *distances.values()])
    return {
        key: StyleStrip(distance, share_strip(distance / full, summary="", kind="meter"))
        for key, distance in distances.items()
    }


def show_candidate(
    row: GeneratedImage,
    images: SceneImages,
    *,
    is_picked: bool,
    numbers: Mapping[int, int],
    style: StyleStrip | None,
) -> ShownCandidate:
    """Return a candidate as pages show it. ``numbers`` are the candidates' numbers by key."""
    premise = images.picks.get(PREMISE)
    return ShownCandidate(
        row=row,
        image=image_facts(row.image),
        is_picked=is_picked,
        is_hidden=row.pk in images.hidden,
        parent=numbers.get(row.parent_id or 0),
        is_beside_other=premise is not None and row.is_beside_other_premise(premise),
        facts=provenance_facts(row, images),
        style=style,
    )


def provenance_facts(row: GeneratedImage, images: SceneImages) -> list[tuple[str, str]]:
    """Return what is known of an image's origin as labels and texts; what nobody knows says so."""
    seconds = "not told" if row.seconds is None else f"{row.seconds:.1f} s"
    facts = [
        ("Generator", row.generator),
        ("Model", row.model or UNKNOWN),
        ("Revision", row.revision),
        ("Licence", row.licence or UNKNOWN),
        ("Seed", "not told" if row.seed is None else str(row.seed)),
        ("Size", f"{row.image.width} × {row.image.height} px"),
        *(
            (label, str(row.parameters[name]))
            for name, label in PARAMETER_LABELS.items()
            if name in row.parameters
        ),
        ("Drawn beside", _beside(row, images)),
        ("Strength", "" if row.strength is None else f"{row.strength:g}"),
        ("Edited region", f"{len(row.mask)} box{'es' if len(row.mask) != 1 else ''}" if row.mask else ""),
        ("Time", seconds),
    ]
    return [(label, text) for label, text in facts if text]


def _beside(row: GeneratedImage, images: SceneImages) -> str:
    """Return which candidate was the reference image; empty if there was none."""
    reference = row.parameters.get("reference")
    if not reference:
        return ""
    for role, candidates in images.candidates.items():
        for candidate in candidates:
            if candidate.image.sha256 == reference:
                return f"{ROLE_LABELS[role].lower()} No. {candidate.number}"
    return "an image that is no longer available"
