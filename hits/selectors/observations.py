"""Read what was collected and judged, for the apps above. Only confirmed work is ever returned.

Confirmed means that the marketplace shows the submission's id and hash (``Match.MATCHED``). *Standing*
work is submitted or approved, so not rejected; *accepted* work is approved.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from hits.domain.states import AssignmentStatus, Match
from hits.models import Assignment, Batch, Observation, Project, Unit

STANDING = (AssignmentStatus.SUBMITTED, AssignmentStatus.APPROVED)


@dataclass(frozen=True, slots=True)
class Judgment:
    """One confirmed answer of a judging kind, with the unit that it judges.

    ``worker`` is the row's key, to tell judges apart; ``status`` is the marketplace's word.
    """

    unit_id: int
    unit_key: str
    unit: dict[str, Any]
    answer: dict[str, Any]
    worker: int
    status: str
    simulated: bool


def standing(project: Project) -> "QuerySet[Observation]":
    """Return confirmed pairs whose work was not rejected, on images that were not taken down."""
    return _observations(project, STANDING)


def accepted(project: Project) -> "QuerySet[Observation]":
    """Return confirmed pairs whose work was approved, on images that were not taken down, oldest first."""
    return _observations(project, (AssignmentStatus.APPROVED,))


def confirmed_on_withdrawn_images(project: Project) -> "QuerySet[Observation]":
    """Return approved pairs that are left out because their image was taken down."""
    return Observation.objects.filter(
        image__project=project,
        image__withdrawn_at__isnull=False,
        submission__assignment__match=Match.MATCHED,
        submission__assignment__status=AssignmentStatus.APPROVED,
    )


def _observations(project: Project, statuses: Iterable[AssignmentStatus]) -> "QuerySet[Observation]":
    return (
        Observation.objects.filter(
            image__project=project,
            image__withdrawn_at__isnull=True,
            submission__assignment__match=Match.MATCHED,
            submission__assignment__status__in=[status.value for status in statuses],
        )
        .select_related("image", "submission__attempt__worker")
        .order_by("pk")
    )


def judgments(
    *,
    kind: str,
    project: Project | None = None,
    batch: Batch | None = None,
    statuses: Iterable[AssignmentStatus] = STANDING,
    keys: Collection[str] | None = None,
) -> Iterator[Judgment]:
    """Yield confirmed answers of a judging kind, in the order in which they were submitted.

    Args:
        kind: the kind's name. project, batch: which work; give at least one. keys: of these units only.
        statuses: which of the marketplace's words count; rejected work counts by no default.
    """
    rows = Assignment.objects.filter(
        match=Match.MATCHED,
        status__in=[status.value for status in statuses],
        hit__unit__batch__kind=kind,
    )
    if project is not None:
        rows = rows.filter(hit__unit__batch__project=project)
    if batch is not None:
        rows = rows.filter(hit__unit__batch=batch)
    if keys is not None:
        rows = rows.filter(hit__unit__key__in=keys)
    rows = rows.select_related("hit__unit", "submission").order_by("submitted_at", "pk")
    for row in rows.iterator(chunk_size=500):
        assert row.submission is not None
        unit = row.hit.unit
        yield Judgment(
            unit_id=unit.pk,
            unit_key=unit.key,
            unit=unit.payload,
            answer=row.submission.answer,
            worker=row.worker_id,
            status=row.status,
            simulated=row.submission.simulated,
        )


def unit_keys(*, kind: str, project: Project) -> set[str]:
    """Return the keys of all units of a kind that were launched in the project."""
    return set(Unit.objects.filter(batch__project=project, batch__kind=kind).values_list("key", flat=True))


def units_of(batch: Batch) -> list[Unit]:
    """Return a batch's units in their order."""
    return list(batch.units.all())


def batches_of_kind(*, kind: str, project: Project) -> list[Batch]:
    """Return the project's batches of one kind, newest first."""
    return list(Batch.objects.filter(project=project, kind=kind))


def by_instance_ids(project: Project, ids: Iterable[str]) -> dict[str, Observation]:
    """Return pairs of the project by their published id, confirmed or not, with image and author."""
    rows = Observation.objects.filter(image__project=project, instance_id__in=list(ids))
    return {row.instance_id: row for row in rows.select_related("image", "submission__attempt__worker")}
