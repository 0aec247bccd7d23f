"""Ask workers to explain triplets, and which hypothesis is more plausible.

Who knows more of a triplet than its images never judges its plausibility: the author of its scene is left out here,
and who saw it in another task is left out when the task is accepted (``HitKind.blind_to``).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from curation.image_triplets.judged_items import JudgedItem
from curation.models import ImageTriplet
from curation.selectors.triplets.answers import plausibility_spec
from curation.selectors.triplets.scenes import first_scene_ids
from curation.selectors.triplets.triplets import (
    TripletFacts,
    TripletState,
    image_ids,
    shows_three_images,
    triplet_facts,
)
from curation.services.triplets.round_launch import (
    RoundLaunch,
    Sourced,
    launch_judging_round,
    launched_keys,
    one_launch_at_a_time,
)
from curation.services.triplets.triplets import EXPLANATION, take_in_explanations
from hits import registry
from hits.models import Batch, Job, Project, Worker
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from validation.domain.judging.round_material import TripletToJudge
from validation.domain.judging.triplet_shapes import Shape

SHAPE_REWARD_CENTS: Mapping[Shape, int] = {Shape.PAIR: 13, Shape.HYPOTHESES_ONLY: 13}
"""Of shapes that take ``SHORT_SECONDS`` instead of the kind's 90."""
SHORT_SECONDS = 30
MIN_DONORS = 12  # with fewer, one image would stand in many attention checks
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
    with one_launch_at_a_time(project):
        triplets = triplets_to_explain(project)
        if not triplets:
            raise Refused(
                "triplets: there is no draft that nobody was asked about; pick images and build triplets first"
            )
        first = first_scene_ids(project)
        return launch_batch(
            project=project,
            kind_name=kind.name,
            name=launch.name or f"Explanations of {len(triplets)} triplets",
            units=[
                PlannedUnit(row.public_id, _explanation_unit(row, first[row.scene_id])) for row in triplets
            ],
            by=launch.by,
            terms=launch.terms_for(project),
            provenance={"triplets": len(triplets)},
            idempotency_key=launch.idempotency_key,
        )


def triplets_to_explain(project: Project) -> list[ImageTriplet]:
    """Return the draft triplets that nobody was asked to explain, oldest first."""
    asked = launched_keys(project, registry.kind_that_collects(EXPLANATION).name)
    return [
        row.triplet
        for row in triplet_facts(project)
        if row.state is TripletState.DRAFT
        and row.triplet.public_id not in asked
        and shows_three_images(row.triplet)
    ]


def _explanation_unit(triplet: ImageTriplet, first_scene: str) -> dict[str, object]:
    return {
        "triplet": triplet.public_id,
        "images": image_ids(triplet),
        "gold": triplet.gold,
        "texts": _texts(triplet),
        "scene": first_scene,
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
    with one_launch_at_a_time(project):
        take_in_explanations(project)
        sources = plausibility_sources(project, options)
        if not sources:
            shape = options.shape.value.replace("_", " ")
            raise Refused(
                f"triplets: none is left to judge in the shape {shape}; explain and check drafts, or build more"
            )
        return launch_judging_round(
            project=project,
            spec=plausibility_spec(),
            sources=sources,
            launch=launch,
            name=f"Plausibility of {len(sources)} triplets",
            provenance={"shape": options.shape.value, "items": len(sources)},
            donors=_donors(project, options, sources) if launch.rates.attention else (),
        )


def plausibility_sources(project: Project, options: PlausibilityOptions) -> list[Sourced]:
    """Return what a round in this shape asks: one source for each triplet, two in the shape ``pair``.

    A triplet takes part if it has a gold explanation and is aligned, once in each shape.
    """
    asked = launched_keys(project, plausibility_spec().name)
    return [row for row in _all_sources(project, options) if row.source.id not in asked]


def _all_sources(project: Project, options: PlausibilityOptions) -> list[Sourced]:
    first = first_scene_ids(project)
    return [
        Sourced(source, _authors(row), topic=row.facets.domain)
        for row in triplet_facts(project)
        if row.state in _JUDGED_STATES and shows_three_images(row.triplet)
        for source in _shapes(row.triplet, options, first[row.triplet.scene_id])
    ]


def _donors(project: Project, options: PlausibilityOptions, sources: Sequence[Sourced]) -> list[Sourced]:
    """Return what attention checks borrow from: triplets of earlier rounds, and this round's too if those are few."""
    own = {row.source.id for row in sources}
    outside = [row for row in _all_sources(project, options) if row.source.id not in own]
    return outside if len(outside) >= MIN_DONORS else [*outside, *sources]


def _shapes(
    triplet: ImageTriplet, options: PlausibilityOptions, first_scene: str
) -> Iterator[TripletToJudge]:
    shape = options.shape
    for hypothesis in ("h1", "h2") if shape is Shape.PAIR else ("",):
        yield TripletToJudge(
            id=JudgedItem(triplet.public_id, shape, hypothesis).id,
            triplet_id=triplet.public_id,
            scene_id=first_scene,
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
