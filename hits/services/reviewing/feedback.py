"""Store a trainer's feedback. The trainer queue decides whether the worker is ready."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits import registry
from hits.domain.states import Purpose, SubmissionMatch, TrainingOutcome
from hits.models import Assignment, Feedback, Submission
from hits.observing.remarks import MAX_SUMMARY_LENGTH, RemarkError, clean_lines, parse_remarks
from hits.services import audit
from hits.services.errors import Refused


def write_feedback(
    *, submission: Submission, outcome: str, summary: str, remarks: Any, by: AbstractBaseUser | None
) -> Feedback:
    """Store a trainer's feedback on a training submission; the same feedback again is the same row.

    ``remarks`` are rows of ``{"observation", "part", "box", "text"}`` as ``hits.observing.remarks`` reads them. The
    worker sees the outcome, which grants nothing by itself.

    Raises:
        Refused: not a confirmed training submission, an unknown outcome, or an invalid remark; the message names the
            field.
    """
    row = _parse_feedback(submission, outcome, summary, remarks)
    with transaction.atomic():
        # Two presses of one button take turns: the second finds the first one's row.
        Submission.objects.select_for_update().get(pk=submission.pk)
        latest = Feedback.objects.filter(submission=submission).last()
        if latest is not None and row == {name: getattr(latest, name) for name in row}:
            return latest
        feedback = Feedback.objects.create(submission=submission, written_by_id=by.pk if by else None, **row)
        audit.record(
            project=submission.attempt.hit.unit.batch.project,
            actor=by,
            action="feedback.write",
            subject=submission.pk,
            outcome=row["outcome"],
            remarks=len(row["remarks"]),
        )
    return feedback


def _parse_feedback(submission: Submission, outcome: str, summary: str, remarks: Any) -> dict[str, Any]:
    if registry.get_kind(submission.kind).purpose is not Purpose.TRAINING:
        raise Refused("submission: only training tasks get feedback")
    if not Assignment.objects.filter(submission=submission, match=SubmissionMatch.MATCHED).exists():
        raise Refused("submission: the marketplace has not confirmed it yet; wait for the next sync")
    if outcome not in set(TrainingOutcome):
        raise Refused(f"outcome: use {' or '.join(TrainingOutcome)}")
    boxes = {row["index"]: len(row["boxes"]) for row in submission.answer["observations"]}
    try:
        clean_summary = clean_lines(summary, maximum=MAX_SUMMARY_LENGTH, path="summary")
        rows = parse_remarks(remarks, boxes)
    except RemarkError as error:
        raise Refused(str(error)) from error
    if outcome == TrainingOutcome.RETRY and not clean_summary and not rows:
        raise Refused("summary: describe what the worker should do differently, here or in a remark")
    return {"outcome": str(outcome), "summary": clean_summary, "remarks": rows}
