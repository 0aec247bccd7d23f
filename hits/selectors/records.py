"""Read collected records, for the apps above. Only confirmed work is returned.

Confirmed means that the marketplace shows the submission's id and hash (``SubmissionMatch.MATCHED``).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet

from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.models import Assignment, Batch, Project, Record, RecordImage, Worker

APPROVED = (AssignmentStatus.APPROVED,)
CHUNK_SIZE = 5_000  # keys per query
NOT_REJECTED = (AssignmentStatus.SUBMITTED, AssignmentStatus.APPROVED)


Key = TypeVar("Key", str, int, UUID)
Row = TypeVar("Row", bound=Record)


def id_chunks(ids: Sequence[Key]) -> Iterator[Sequence[Key]]:
    """Yield the ids in chunks, since databases limit the parameters of a query."""
    for start in range(0, len(ids), CHUNK_SIZE):
        yield ids[start : start + CHUNK_SIZE]


def not_rejected_records(project: Project, record_type: str) -> "QuerySet[Record]":
    """Return confirmed, not rejected records of a type whose images are all available, oldest first."""
    return exclude_taken_down_images(
        filter_confirmed(Record.objects.all(), project, record_type, NOT_REJECTED)
    )


def approved_records(project: Project, record_type: str) -> "QuerySet[Record]":
    """Return confirmed, approved records of a type whose images are all available, oldest first."""
    return exclude_taken_down_images(filter_confirmed(Record.objects.all(), project, record_type))


def approved_records_on_taken_down_images(project: Project, record_type: str) -> "QuerySet[Record]":
    """Return approved records of a type that have an image that was taken down."""
    return filter_taken_down_records(filter_confirmed(Record.objects.all(), project, record_type))


def filter_confirmed(
    rows: "QuerySet[Row]",
    project: Project,
    record_type: str,
    statuses: Iterable[AssignmentStatus] = APPROVED,
) -> "QuerySet[Row]":
    """Filter ``rows`` of ``Record`` or a proxy to a project's confirmed records of a type."""
    return rows.filter(
        project=project,
        type=record_type,
        submission__assignment__match=SubmissionMatch.MATCHED,
        submission__assignment__status__in=[status.value for status in statuses],
    )


def exclude_taken_down_images(rows: "QuerySet[Row]") -> "QuerySet[Row]":
    """Exclude records with an image that was taken down; oldest first, with image and author loaded."""
    remaining = rows.filter(image__taken_down_at__isnull=True).exclude(
        pk__in=_record_ids_with_taken_down_image()
    )
    return remaining.select_related("image", "submission__attempt__worker").order_by("pk")


def filter_taken_down_records(rows: "QuerySet[Row]") -> "QuerySet[Row]":
    """Filter records to those with an image that was taken down."""
    return rows.filter(Q(image__taken_down_at__isnull=False) | Q(pk__in=_record_ids_with_taken_down_image()))


def image_ids_by_record(records: Collection[Record]) -> dict[int, tuple[int, ...]]:
    """Return each record's image ids in their order, by record id; one query per 5,000 records."""
    image_ids = {row.pk: (() if row.image_id is None else (row.image_id,)) for row in records}
    ordered_ids: dict[int, list[int]] = defaultdict(list)
    for chunk in id_chunks(list(image_ids)):
        rows = RecordImage.objects.filter(record__in=chunk).order_by("record", "position")
        for record, image in rows.values_list("record_id", "image_id"):
            ordered_ids[record].append(image)
    return image_ids | {record: tuple(images) for record, images in ordered_ids.items()}


def is_simulated(record: Record) -> bool:
    """Return whether a script simulated the record's submission."""
    return record.submission is not None and record.submission.simulated


def record_author(record: Record) -> Worker | None:
    """Return the worker who wrote a record; ``None`` for an imported record."""
    return None if record.submission is None else record.submission.attempt.worker


def _record_ids_with_taken_down_image() -> "QuerySet[RecordImage, Any]":
    """Return the ids of records with several images of which one was taken down."""
    return RecordImage.objects.filter(image__taken_down_at__isnull=False).values("record")


def unreadable_assignments(batch: Batch) -> "QuerySet[Assignment]":
    """Return a batch's confirmed assignments whose records could not be read, oldest first."""
    rows = Assignment.objects.filter(hit__unit__batch=batch, record_error__isnull=False)
    return rows.select_related("worker").order_by("submitted_at", "pk")


def records_by_instance_id(project: Project, ids: Iterable[str]) -> dict[str, Record]:
    """Return records of the project by published id, confirmed or not, with image and author loaded."""
    rows = Record.objects.filter(project=project).select_related("image", "submission__attempt__worker")
    chunks = (rows.filter(instance_id__in=chunk) for chunk in id_chunks(list(ids)))
    return {row.instance_id: row for chunk in chunks for row in chunk}


def authors_by_instance_id(project: Project, ids: Iterable[str]) -> dict[str, Worker]:
    """Return the authors of records of the project by published id; ids without a record or author are left out."""
    authors = {key: record_author(row) for key, row in records_by_instance_id(project, ids).items()}
    return {key: author for key, author in authors.items() if author is not None}


def approved_instance_ids(project: Project, record_type: str, ids: Sequence[str]) -> set[str]:
    """Return which published ids are of approved records whose images are all available."""
    rows = approved_records(project, record_type).order_by()
    chunks = (rows.filter(instance_id__in=chunk) for chunk in id_chunks(ids))
    return {key for chunk in chunks for key in chunk.values_list("instance_id", flat=True)}
