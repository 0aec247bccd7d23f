"""Save grades in append-only rows: a grader's latest grade counts; a grade can be taken back."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.models import Assignment
from hits.services.errors import Conflict, Refused
from validation.models import Grade, GradingOutcome, QualificationRound
from validation.selectors.grading import PairKey, gradable_pairs

MAX_NOTE_LENGTH = 500  # characters


@dataclass(frozen=True, slots=True)
class GradeInput:
    """A grade to save. ``reasonable`` is ``None`` if the grader takes their grade back."""

    key: PairKey
    reasonable: bool | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RefusedGrade:
    """A refused grade and the reason."""

    grade: GradeInput
    message: str


def save_grades(
    *, qualification_round: QualificationRound, grades: Sequence[GradeInput], by: AbstractBaseUser
) -> list[RefusedGrade]:
    """Save grades in order and return the refused ones; a refused grade does not affect the others."""
    refused = []
    for grade in grades:
        try:
            save_grade(qualification_round=qualification_round, grade=grade, by=by)
        except Refused as error:
            refused.append(RefusedGrade(grade, str(error)))
    return refused


@transaction.atomic
def save_grade(
    *, qualification_round: QualificationRound, grade: GradeInput, by: AbstractBaseUser
) -> Grade | None:
    """Save one grade. The same grade again writes nothing and returns ``None``.

    Raises:
        Refused: the round has no such pair, or the note is too long.
        Conflict: the applicant has a decision already.
    """
    note = " ".join(grade.note.split())
    if len(note) > MAX_NOTE_LENGTH:
        raise Refused(f"note: has {len(note)} characters; use {MAX_NOTE_LENGTH} or fewer")
    row = _gradable_assignment(qualification_round, grade.key)
    assert row.submission is not None
    if GradingOutcome.objects.filter(submission=row.submission).exists():
        raise Conflict(f"{row.worker} has a decision already, so grades no longer change")
    values = {"reasonable": grade.reasonable, "note": "" if grade.reasonable else note}
    own_grades = Grade.objects.filter(submission=row.submission, item=grade.key.item, grader_id=by.pk)
    latest = own_grades.order_by("-pk").first()
    if latest is None and grade.reasonable is None:
        return None
    if latest is not None and (latest.reasonable, latest.note) == (values["reasonable"], values["note"]):
        return None
    return Grade.objects.create(submission=row.submission, item=grade.key.item, grader_id=by.pk, **values)


def _gradable_assignment(qualification_round: QualificationRound, key: PairKey) -> Assignment:
    # Deciding locks this row too, so an outcome counts all stored grades.
    row = (
        Assignment.objects.select_for_update(of=("self",))
        .filter(
            hit__unit__batch=qualification_round.batch_id,
            submission=key.submission,
            match=SubmissionMatch.MATCHED,
        )
        .exclude(status=AssignmentStatus.REJECTED)
        .select_related("submission", "worker", "hit__unit")
        .first()
    )
    if row is None or key.item not in {
        pair.item for pair in gradable_pairs(row, qualification_round.batch.kind)
    }:
        raise Refused(f"pair {key}: there is no such pair to grade in this round")
    return row
