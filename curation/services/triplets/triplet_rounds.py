"""Ask workers to explain triplets, and which hypothesis is more plausible.

Who knows more of a triplet than its images never judges its plausibility: the author of its scene is left out here,
and who saw it in another task is left out when the task is accepted (``HitKind.blind_to``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from curation.image_triplets.judged_items import JudgedItem, Shape
from curation.models import ImageTriplet
from curation.selectors.triplets.answers import plausibility_spec
from curation.selectors.triplets.triplets import TripletFacts, TripletState, image_ids, triplet_facts
from curation.services.triplets.round_launch import (
    RoundLaunch,
    Sourced,
    launch_judging_round,
    launched_keys,
)
from curation.services.triplets.triplets import EXPLANATION
from hits import registry
from hits.models import Batch, Job, Project, Worker
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from validation.domain.judging.round_material import TripletToJudge

SHAPE_REWARD_CENTS: Mapping[Shape, int] = {Shape.PAIR: 13, Shape.HYPOTHESES_ONLY: 13}
"""Of shapes that take about 30 seconds instead of the kind's 90."""
_JUDGED_STATES = (TripletState.ALIGNED, TripletState.VALIDATED)


@dataclass(frozen=True, slots=True)
class PlausibilityOptions:
    """What judges see and may answer. ``cannot_tell`` lets them say that both are equally plausible."""

    shape: Shape = Shape.TRIPLET
    cannot_tell: bool = False


def launch_explanation_writing(*, project: Project, launch: RoundLaunch) -> tuple[Batch, Job]:
    """Ask workers to explain each draft triplet, and to check that its images show its texts.

    Raises:
        Refused: no draft triplet is left that nobody was asked about, or the launch is not possible.
    """
    earlier = launch.find_earlier(project)
    if earlier is not None:
        return earlier
    kind = registry.kind_that_collects(EXPLANATION)
    asked = launched_keys(project, kind.name)
    rows = [
        row
        for row in triplet_facts(project)
        if row.state is TripletState.DRAFT and row.triplet.public_id not in asked
    ]
    if not rows:
        raise Refused("triplets: every draft was given to somebody already; build triplets first")
    return launch_batch(
        project=project,
        kind_name=kind.name,
        name=launch.name or f"Explanations of {len(rows)} triplets",
        units=[PlannedUnit(row.triplet.public_id, _explanation_unit(row.triplet)) for row in rows],
        by=launch.by,
        terms=launch.terms_for(project),
        provenance={"triplets": len(rows)},
        idempotency_key=launch.idempotency_key,
    )


def _explanation_unit(triplet: ImageTriplet) -> dict[str, object]:
    return {
        "triplet": triplet.public_id,
        "images": image_ids(triplet),
        "gold": triplet.gold,
        "texts": _texts(triplet),
    }


def launch_plausibility(
    *, project: Project, options: PlausibilityOptions, launch: RoundLaunch
) -> tuple[Batch, Job]:
    """Ask workers which hypothesis is more plausible, for each triplet that has a gold explanation and is aligned.

    Raises:
        Refused: no triplet is left in this shape, or the launch is not possible.
    """
    earlier = launch.find_earlier(project)
    if earlier is not None:
        return earlier
    spec = plausibility_spec()
    asked = launched_keys(project, spec.name)
    facts = [row for row in triplet_facts(project) if row.state in _JUDGED_STATES]
    sources = [
        Sourced(source, _authors(row))
        for row in facts
        for source in _shapes(row.triplet, options)
        if source.id not in asked
    ]
    if not sources:
        shape = options.shape.value.replace("_", " ")
        raise Refused(
            f"triplets: none is left to judge in the shape {shape}; explain and check drafts, or build more"
        )
    return launch_judging_round(
        project=project,
        spec=spec,
        sources=sources,
        launch=launch,
        name=f"Plausibility of {len(sources)} triplets",
        provenance={"shape": options.shape.value, "items": len(sources)},
    )


def _shapes(triplet: ImageTriplet, options: PlausibilityOptions) -> Iterator[TripletToJudge]:
    shape = options.shape
    for hypothesis in ("h1", "h2") if shape is Shape.PAIR else ("",):
        yield TripletToJudge(
            id=JudgedItem(triplet.public_id, shape, hypothesis).id,
            triplet_id=triplet.public_id,
            scene_id=triplet.scene.public_id,
            show=shape.value,
            images=_shown_images(triplet, shape, hypothesis),
            texts=_texts(triplet) if shape is Shape.TEXTS else {},
            gold=triplet.gold,
            cannot_tell=options.cannot_tell,
        )


def _shown_images(triplet: ImageTriplet, shape: Shape, hypothesis: str) -> dict[str, int]:
    roles: dict[Shape, tuple[str, ...]] = {
        Shape.TRIPLET: ("premise", "h1", "h2"),
        Shape.PAIR: ("premise", hypothesis),
        Shape.HYPOTHESES_ONLY: ("h1", "h2"),
        Shape.TEXTS: (),
    }
    images = image_ids(triplet)
    return {role: images[role] for role in roles[shape]}


def _texts(triplet: ImageTriplet) -> dict[str, str]:
    other = "b" if triplet.first == "a" else "a"
    scene = triplet.scene
    return {"premise": scene.premise, "h1": scene.text(triplet.first), "h2": scene.text(other)}


def _authors(row: TripletFacts) -> list[Worker]:
    author = row.triplet.scene.author
    return [] if author is None else [author]
