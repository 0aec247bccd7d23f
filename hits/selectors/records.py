"""Read what was collected and judged, for the apps above. Only confirmed work is ever returned.

Confirmed means that the marketplace shows the submission's id and hash (``Match.MATCHED``); *accepted* work is
approved. Records are asked for by their type.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Q, QuerySet

from hits.domain.states import AssignmentStatus, Match
from hits.models import Assignment, Batch, Project, Record, RecordImage, Unit, Worker

APPROVED = (AssignmentStatus.APPROVED,)
AT_ONCE = 5_000  # keys in one query
NOT_REJECTED = (AssignmentStatus.SUBMITTED, AssignmentStatus.APPROVED)


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


Row = TypeVar("Row", bound=Record)


def not_rejected(project: Project, record_type: str) -> "QuerySet[Record]":
    """Return confirmed records of a type whose work was not rejected, with every image still there, oldest first."""
    return there(confirmed(Record.objects.all(), project, record_type, NOT_REJECTED))


def accepted(project: Project, record_type: str) -> "QuerySet[Record]":
    """Return confirmed records of a type whose work was approved, with every image still there, oldest first."""
    return there(confirmed(Record.objects.all(), project, record_type))


def confirmed_on_withdrawn_images(project: Project, record_type: str) -> "QuerySet[Record]":
    """Return approved records of a type that are left out because one of their images was taken down."""
    return on_withdrawn_images(confirmed(Record.objects.all(), project, record_type))


def confirmed(
    rows: "QuerySet[Row]",
    project: Project,
    record_type: str,
    statuses: Iterable[AssignmentStatus] = APPROVED,
) -> "QuerySet[Row]":
    """Narrow ``rows``, of ``Record`` or a proxy of it, to a project's confirmed records of a type."""
    return rows.filter(
        project=project,
        type=record_type,
        submission__assignment__match=Match.MATCHED,
        submission__assignment__status__in=[status.value for status in statuses],
    )


def there(rows: "QuerySet[Row]") -> "QuerySet[Row]":
    """Leave out records with an image that was taken down; the rest comes oldest first, with image and author."""
    left = rows.filter(image__withdrawn_at__isnull=True).exclude(pk__in=_with_withdrawn_image())
    return left.select_related("image", "submission__attempt__worker").order_by("pk")


def on_withdrawn_images(rows: "QuerySet[Row]") -> "QuerySet[Row]":
    """Narrow records to those with an image that was taken down."""
    return rows.filter(Q(image__withdrawn_at__isnull=False) | Q(pk__in=_with_withdrawn_image()))


def images_of(records: Collection[Record]) -> dict[int, tuple[int, ...]]:
    """Return the row keys of each record's images in their order, by the record's key; one query for 5,000."""
    found = {row.pk: (() if row.image_id is None else (row.image_id,)) for row in records}
    several: dict[int, list[int]] = defaultdict(list)
    keys = list(found)
    for start in range(0, len(keys), AT_ONCE):
        rows = RecordImage.objects.filter(record__in=keys[start : start + AT_ONCE]).order_by(
            "record", "position"
        )
        for record, image in rows.values_list("record_id", "image_id"):
            several[record].append(image)
    return found | {record: tuple(images) for record, images in several.items()}


def is_simulated(record: Record) -> bool:
    """Tell whether a script made the record up."""
    return record.submission is not None and record.submission.simulated


def author_of(record: Record) -> Worker | None:
    """Return who wrote a record; nobody here wrote one that was imported."""
    return None if record.submission is None else record.submission.attempt.worker


def _with_withdrawn_image() -> "QuerySet[RecordImage, Any]":
    """Return the keys of records of several images of which one was taken down."""
    return RecordImage.objects.filter(image__withdrawn_at__isnull=False).values("record")


def unreadable(batch: Batch) -> "QuerySet[Assignment]":
    """Return a batch's confirmed assignments whose records could not be read, oldest first."""
    rows = Assignment.objects.filter(hit__unit__batch=batch, record_error__isnull=False)
    return rows.select_related("worker").order_by("submitted_at", "pk")


def judgments(
    *,
    kind: str,
    project: Project | None = None,
    batch: Batch | None = None,
    statuses: Iterable[AssignmentStatus] = NOT_REJECTED,
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


def by_instance_ids(project: Project, ids: Iterable[str]) -> dict[str, Record]:
    """Return records of the project by their published id, confirmed or not, with image and author."""
    rows = Record.objects.filter(project=project, instance_id__in=list(ids))
    return {row.instance_id: row for row in rows.select_related("image", "submission__attempt__worker")}
