"""``manage.py launch_triplets plausibility|pairs|hypotheses-only|texts|explanations|picks|writing --project P``."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from curation.management.triplet_options import (
    Launcher,
    add_round_options,
    find_triplet_project,
    launch_and_publish,
)
from curation.selectors.triplets.answers import pick_spec, plausibility_spec, selection_spec
from curation.services.triplets.explanation_rounds import launch_explanations
from curation.services.triplets.pick_rounds import launch_image_picks
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.triplet_rounds import (
    SHAPE_REWARD_CENTS,
    PlausibilityOptions,
    launch_explanation_writing,
    launch_plausibility,
)
from curation.services.triplets.triplets import EXPLANATION
from hits import registry
from hits.kind import HitKind
from hits.management.base import DeerstalkerCommand
from hits.models import Project
from validation.domain.judging.triplet_shapes import Shape

SHAPES: Mapping[str, Shape] = {
    "plausibility": Shape.TRIPLET,
    "pairs": Shape.PAIR,
    "hypotheses-only": Shape.HYPOTHESES_ONLY,
    "texts": Shape.TEXTS,
}
ROUNDS = (*SHAPES, "explanations", "picks", "writing")


class Command(DeerstalkerCommand):
    """Launch a round about images or triplets, and publish it before returning."""

    help = (
        "Ask workers which hypothesis is more plausible (plausibility, pairs, hypotheses-only, texts), which "
        "explanations are valid (explanations), which candidate is best (picks), or to explain triplets (writing)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("round", choices=ROUNDS)
        add_round_options(parser, checks=True)
        parser.add_argument(
            "--cannot-tell", action="store_true", help="let judges say that both are equally plausible"
        )
        parser.add_argument(
            "--decoys", action="store_true", help="add an explanation of another triplet to each page"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Launch and publish."""
        project = find_triplet_project(options["project"])
        kind, launcher = _round(project, options)
        shape = SHAPES.get(options["round"])
        reward = SHAPE_REWARD_CENTS.get(shape) if shape else None
        launch_and_publish(self, project, kind, launcher, options, reward_cents=reward)


def _round(project: Project, options: dict[str, Any]) -> tuple[HitKind, Launcher]:
    name = options["round"]
    if name in SHAPES:
        chosen = PlausibilityOptions(SHAPES[name], options["cannot_tell"])

        def judge(launch: RoundLaunch) -> Any:
            return launch_plausibility(project=project, options=chosen, launch=launch)

        return plausibility_spec().kind, judge
    if name == "explanations":

        def select(launch: RoundLaunch) -> Any:
            return launch_explanations(project=project, launch=launch, decoys=options["decoys"])

        return selection_spec().kind, select
    if name == "picks":
        return pick_spec().kind, lambda launch: launch_image_picks(project=project, launch=launch)
    kind = registry.kind_that_collects(EXPLANATION)
    return kind, lambda launch: launch_explanation_writing(project=project, launch=launch)
