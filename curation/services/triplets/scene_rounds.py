"""Ask workers to write scenes, and others to review them. Publication on the marketplace is a job."""

from collections.abc import Mapping, Sequence

from curation.image_triplets.quotas import spread_quotas
from curation.models import Scene
from curation.selectors.triplets.scenes import (
    SCENE,
    SceneState,
    first_scene_ids,
    review_spec,
    scene_outcomes,
    scenes,
)
from curation.selectors.triplets.settings import offered_domains, triplet_settings
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.round_launch import (
    RoundLaunch,
    Sourced,
    launch_judging_round,
    launched_keys,
    one_launch_at_a_time,
)
from curation.services.triplets.scenes import take_in_scenes
from hits import registry
from hits.domain.answers.scene_facets import Category
from hits.kind import HitKind
from hits.models import Batch, Job, Project, Unit
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from validation.domain.judging.round_material import SceneToReview

MAX_SCENES = 10_000


def scene_kind() -> HitKind:
    """Return the kind whose workers write scenes."""
    return registry.kind_that_collects(SCENE)


def launch_scenes(
    *, project: Project, count: int, quotas: Mapping[Category, int], launch: RoundLaunch
) -> tuple[Batch, Job]:
    """Launch ``count`` tasks to write one scene each; ``quotas`` of them ask for a scene of a category.

    Raises:
        Refused: the count or a quota is out of range, or the launch is not possible.
    """
    earlier = launch.find_earlier(project)
    if earlier is not None:
        return earlier
    if not 1 <= count <= MAX_SCENES:
        raise Refused(f"count: use 1 to {MAX_SCENES:,} scenes")
    with refuse_invalid_input():
        categories = spread_quotas(count, quotas)
    with one_launch_at_a_time(project):
        domains = offered_domains(triplet_settings(project))
        start = _next_number(project)
        units = [
            {"number": start + index, "category": category, "domains": domains}
            for index, category in enumerate(categories)
        ]
        return launch_batch(
            project=project,
            kind_name=scene_kind().name,
            name=launch.name or f"{count} scenes",
            units=[PlannedUnit(f"scene-{unit['number']}", unit) for unit in units],
            by=launch.by,
            terms=launch.terms_for(project),
            provenance={"scenes": count, "quotas": dict(quotas)},
            idempotency_key=launch.idempotency_key,
        )


def _next_number(project: Project) -> int:
    """Return the number of the next scene task; numbers are unique in a project."""
    return Unit.objects.filter(batch__project=project, batch__kind=scene_kind().name).count() + 1


def launch_scene_review(
    *, project: Project, launch: RoundLaunch, chosen: Sequence[Scene] | None = None
) -> tuple[Batch, Job]:
    """Launch a review of scenes by other workers, never by their authors; by default, of all open ones.

    Raises:
        Refused: there is no scene to review, or the launch is not possible.
    """
    earlier = launch.find_earlier(project)
    if earlier is not None:
        return earlier
    with one_launch_at_a_time(project):
        take_in_scenes(project)
        rows = list(chosen) if chosen is not None else reviewable_scenes(project)
        if not rows:
            raise Refused(
                "scenes: no open scene is left that nobody was asked to review; collect or import scenes"
            )
        first = first_scene_ids(project)
        return launch_judging_round(
            project=project,
            spec=review_spec(),
            sources=[
                Sourced(
                    SceneToReview(
                        row.public_id, row.premise, row.hypothesis_a, row.hypothesis_b, first[row.pk]
                    ),
                    [row.author] if row.author else [],
                )
                for row in rows
            ],
            launch=launch,
            name=f"Review of {len(rows)} scenes",
            provenance={"scenes": len(rows)},
        )


def reviewable_scenes(project: Project) -> list[Scene]:
    """Return the open scenes that no review round has, oldest first."""
    outcomes = scene_outcomes(project)
    asked = launched_keys(project, review_spec().name)
    return [
        row
        for row in scenes(project).select_related("author")
        if outcomes[row.pk].state is SceneState.OPEN and row.public_id not in asked
    ]
