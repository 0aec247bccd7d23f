"""Store the records of confirmed answers; unreadable answers are marked and can be read again later."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits import registry
from hits.domain.answers.records import Record as PlainRecord
from hits.domain.answers.records import RecordError
from hits.domain.answers.storable_json import replace_unstorable
from hits.domain.hashing import instance_id
from hits.domain.states import Purpose
from hits.models import Assignment, Batch, Record, RecordImage, Submission
from hits.selectors.records import unreadable_assignments
from hits.services import audit

logger = logging.getLogger(__name__)
MAX_RECORD_ERROR = 400  # characters


@dataclass(frozen=True, slots=True)
class RereadCounts:
    """Assignments of a batch that could be read this time, and those that still cannot."""

    read: int
    unreadable: int


def store_records_if_missing(assignment: Assignment) -> bool:
    """Store the records of a confirmed assignment, unless they exist; return whether they could be read.

    The reason is stored on the assignment of an unreadable answer; other assignments are not affected.
    """
    submission = assignment.submission
    assert submission is not None
    kind = registry.get_kind(submission.kind)
    if kind.purpose is not Purpose.COLLECTING or submission.records.exists():
        return True  # training, judging and grading give no records
    try:
        found = kind.read_records(assignment.hit.unit.payload, submission.answer)
    except RecordError as error:
        logger.warning("Assignment %s: its records cannot be read: %s", assignment.pk, error)
        assignment.record_error = replace_unstorable(str(error))[:MAX_RECORD_ERROR]
        assignment.save(update_fields=["record_error"])
        return False
    _write_records(assignment.hit.unit.batch, submission, found)
    if assignment.record_error is not None:
        assignment.record_error = None
        assignment.save(update_fields=["record_error"])
    return True


def _write_records(batch: Batch, submission: Submission, found: Sequence[PlainRecord]) -> None:
    written = Record.objects.bulk_create(
        Record(
            project_id=batch.project_id,
            type=record.type,
            instance_id=instance_id(str(submission.pk), record.index),
            submission=submission,
            index=record.index,
            image_id=record.images[0] if record.images else None,
            fields=dict(record.fields),
            bonus=record.bonus,
        )
        for record in found
    )
    RecordImage.objects.bulk_create(
        RecordImage(record=row, image_id=image, position=position)
        for row, record in zip(written, found, strict=True)
        if len(record.images) > 1
        for position, image in enumerate(record.images)
    )


def reread_records(*, batch: Batch, by: AbstractBaseUser | None) -> RereadCounts:
    """Read the unreadable records again, after the kind was fixed. Repeatable."""
    read = failed = 0
    for pk in list(unreadable_assignments(batch).values_list("pk", flat=True)):
        with transaction.atomic():
            rows = Assignment.objects.select_for_update(of=("self",))
            assignment = rows.select_related("submission", "hit__unit__batch").get(pk=pk)
            if store_records_if_missing(assignment):
                read += 1
            else:
                failed += 1
    if read or failed:
        audit.record(
            project=batch.project,
            actor=by,
            action="batch.read_records",
            subject=batch.pk,
            read=read,
            unreadable=failed,
        )
    return RereadCounts(read, failed)
