"""Request audits of a project's triplets, and the search for scenes that repeat others."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import SceneTwins, TripletAudit
from curation.selectors.jobs import AUDIT_TRIPLETS, SCENE_TWINS
from curation.selectors.triplets.scenes import scenes
from curation.selectors.triplets.triplets import available_triplets
from curation.services.options import check_at_least
from hits.models import Job, Project
from hits.services.errors import Refused
from hits.services.jobs import jobs

MIN_SWAPS = 500
MIN_SCENES = 2


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """How triplets are audited. encoder: of image features; empty for the built-in one. swaps: of the permutation."""

    encoder: str = ""
    swaps: int = MIN_SWAPS

    def __post_init__(self) -> None:
        check_at_least("swaps", self.swaps, MIN_SWAPS)


def request_triplet_audit(
    *, project: Project, options: AuditOptions, by: AbstractBaseUser | None, queue: bool = True
) -> Job:
    """Start an audit of the triplets that are not dropped; return its job.

    Raises:
        Refused: there are no triplets.
        Conflict: an audit of this project is running.
    """
    if not available_triplets(project).order_by().exists():
        raise Refused("triplets: there are none to audit; build triplets first")
    with transaction.atomic():
        row = TripletAudit.objects.create(project=project, created_by_id=by.pk if by else None)
        row.job = jobs.enqueue(
            task=AUDIT_TRIPLETS,
            title="Audit triplets for shortcuts",
            project=project,
            by=by,
            exclusive_key=f"triplet-audit:{project.pk}",
            resumable=True,
            queue=queue,
            audit=row.pk,
            options=asdict(options),
        )
        row.save(update_fields=["job"])
    return row.job


def request_scene_twins(*, project: Project, by: AbstractBaseUser | None, queue: bool = True) -> Job:
    """Start the search for the most similar other scene of each scene; return its job.

    Raises:
        Refused: there are fewer than two scenes.
        Conflict: a search is running.
    """
    if scenes(project).order_by().count() < MIN_SCENES:
        raise Refused("scenes: there are fewer than two to compare")
    with transaction.atomic():
        row = SceneTwins.objects.create(project=project, created_by_id=by.pk if by else None, encoder="")
        row.job = jobs.enqueue(
            task=SCENE_TWINS,
            title="Find scenes that repeat others",
            project=project,
            by=by,
            exclusive_key=f"scene-twins:{project.pk}",
            resumable=True,
            queue=queue,
            twins=row.pk,
        )
        row.save(update_fields=["job"])
    return row.job


def store_audit(*, audit: TripletAudit, figures: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
    """Store what an audit found."""
    TripletAudit.objects.filter(pk=audit.pk).update(figures=dict(figures), provenance=dict(provenance))


def store_twins(
    *, row: SceneTwins, encoder: str, revision: str, twins: Mapping[str, tuple[str, float]]
) -> None:
    """Store the most similar other scene of each scene."""
    SceneTwins.objects.filter(pk=row.pk).update(
        encoder=encoder[:80],
        revision=revision[:120],
        twins={key: list(found) for key, found in twins.items()},
    )
