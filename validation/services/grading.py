"""Take in grades. They are append-only: the latest of a grader counts, and one that was taken back counts no more."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.states import AssignmentStatus, Match
from hits.models import Assignment
from hits.services.errors import Conflict, Refused
from validation.models import Grade, GradingOutcome, QualificationRound
from validation.selectors.grading import Key, gradable

MAX_NOTE = 500


@dataclass(frozen=True, slots=True)
class Given:
    """One grade as somebody gives it. ``reasonable`` is ``None`` where they take theirs back."""

    key: Key
    reasonable: bool | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class NotKept:
    """A grade that was refused, and why."""

    given: Given
    message: str


def record_many(*, found: QualificationRound, grades: Sequence[Given], by: AbstractBaseUser) -> list[NotKept]:
    """Keep grades in their order; return those that were refused. One bad grade never costs the others."""
    refused = []
    for given in grades:
        try:
            record(found=found, given=given, by=by)
        except Refused as error:
            refused.append(NotKept(given, str(error)))
    return refused


@transaction.atomic
def record(*, found: QualificationRound, given: Given, by: AbstractBaseUser) -> Grade | None:
    """Keep one grade. Repeating the same one writes nothing, and returns ``None``.

    Raises:
        Refused: no such pair in this round, or a note that is too long.
        Conflict: the applicant was answered already.
    """
    note = " ".join(given.note.split())
    if len(note) > MAX_NOTE:
        raise Refused(f"note: has {len(note)} characters; use {MAX_NOTE} or fewer")
    row = _submission(found, given.key)
    assert row.submission is not None
    if GradingOutcome.objects.filter(submission=row.submission).exists():
        raise Conflict(f"{row.worker} was answered already, so grades no longer change")
    values = {"reasonable": given.reasonable, "note": "" if given.reasonable else note}
    mine = Grade.objects.filter(submission=row.submission, item=given.key.item, grader_id=by.pk)
    last = mine.order_by("-pk").first()
    if last is None and given.reasonable is None:
        return None
    if last is not None and (last.reasonable, last.note) == (values["reasonable"], values["note"]):
        return None
    return Grade.objects.create(submission=row.submission, item=given.key.item, grader_id=by.pk, **values)


def _submission(found: QualificationRound, key: Key) -> Assignment:
    # Locked, as an answer locks it: no grade slips in between an outcome and what it was counted from.
    row = (
        Assignment.objects.select_for_update(of=("self",))
        .filter(hit__unit__batch=found.batch_id, submission=key.submission, match=Match.MATCHED)
        .exclude(status=AssignmentStatus.REJECTED)
        .select_related("submission", "worker", "hit__unit")
        .first()
    )
    if row is None or key.item not in {pair.item for pair in gradable(row, found.batch.kind)}:
        raise Refused(f"pair {key}: there is no such pair to grade in this round")
    return row
