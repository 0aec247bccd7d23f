"""Launch judging rounds. Nothing here asks the marketplace: publication is a job."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from hits.models import Batch, Job, Observation, Project
from hits.selectors import observations as collected
from hits.services.errors import Refused
from hits.services.launch import PlannedUnit, Terms, launch_batch
from validation.selectors.judging import COMPARISON, REVIEW


@dataclass(frozen=True, slots=True)
class CandidateToRate:
    """One inference of a set: the id of the pair that it was written for, and its text."""

    id: str
    inference: str


@dataclass(frozen=True, slots=True)
class SetToJudge:
    """A comparison set ready for people.

    ``gold`` is the instance id of the region's own pair, whose author must not judge it; boxes are image
    pixels; ``clue`` is ``None`` where judges see the region alone, as in the paper.
    """

    id: str
    gold: str
    image_id: int
    boxes: Sequence[dict[str, int]]
    candidates: Sequence[CandidateToRate]
    clue: str | None = None


def launch_review(
    *,
    project: Project,
    observations: Iterable[str | Observation],
    by: AbstractBaseUser | None,
    name: str = "",
    terms: Terms | None = None,
    once: str = "",
) -> tuple[Batch, Job]:
    """Launch a review round: each accepted pair is judged by others than its author.

    Args:
        observations: rows or instance ids of accepted pairs of this project.
        once: names the wish to launch; a repeated one gets the first one's batch.

    Raises:
        Refused: nothing to judge, or a pair that is not accepted, confirmed and of this project.
    """
    ids = [item if isinstance(item, str) else item.instance_id for item in observations]
    rows = _accepted(project, ids)
    units = [_review_unit(rows[instance_id]) for instance_id in dict.fromkeys(ids)]
    return launch_batch(
        project=project,
        kind_name=REVIEW,
        name=name or f"Review of {len(units)} pairs",
        units=units,
        by=by,
        terms=terms or Terms(),
        provenance={"observations": len(units)},
        once=once,
    )


def launch_comparison(
    *,
    project: Project,
    sets: Sequence[SetToJudge],
    by: AbstractBaseUser | None,
    name: str = "",
    terms: Terms | None = None,
    provenance: dict[str, Any] | None = None,
    once: str = "",
) -> tuple[Batch, Job]:
    """Launch the rating of comparison sets; the author of each set's own pair may not rate it.

    ``once`` names the wish to launch; a repeated one gets the first one's batch.

    Raises:
        Refused: nothing to judge, or a set whose own pair is not accepted, confirmed and of this project.
    """
    rows = _accepted(project, [item.gold for item in sets])
    units = [_comparison_unit(item, rows[item.gold]) for item in sets]
    return launch_batch(
        project=project,
        kind_name=COMPARISON,
        name=name or f"Ratings of {len(units)} comparison sets",
        units=units,
        by=by,
        terms=terms or Terms(),
        provenance=provenance,
        once=once,
    )


def _accepted(project: Project, ids: Sequence[str]) -> dict[str, Observation]:
    if not ids:
        raise Refused("observations: nothing to judge; approve submissions first")
    wanted = set(ids)
    rows = {row.instance_id: row for row in collected.accepted(project) if row.instance_id in wanted}
    missing = sorted(wanted - set(rows))
    if missing:
        raise Refused(
            f"observation {missing[0]}: only approved pairs of this project on images that were not "
            f"taken down can be judged ({len(missing)} of {len(wanted)} are not)"
        )
    return rows


def _review_unit(row: Observation) -> PlannedUnit:
    return PlannedUnit(
        key=row.instance_id,
        payload={
            "image": row.image_id,
            "observation": row.instance_id,
            "obs_index": row.index,
            "boxes": row.boxes,
            "clue": row.clue,
            "inference": row.inference,
            "confidence": row.confidence,
        },
        excluded=[row.submission.attempt.worker],
    )


def _comparison_unit(item: SetToJudge, gold: Observation) -> PlannedUnit:
    return PlannedUnit(
        key=item.id,
        payload={
            "image": item.image_id,
            "boxes": list(item.boxes),
            "clue": item.clue,
            "candidates": [{"id": c.id, "inference": c.inference} for c in item.candidates],
            "set": item.id,
        },
        excluded=[gold.submission.attempt.worker],
    )
