"""Write down what a trainer answers. Whether the worker is ready is the trainer desk's matter, not ours."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits import registry
from hits.domain.states import Match, Purpose, TrainingOutcome
from hits.models import Assignment, Feedback, Submission
from hits.observing.remarks import MAX_SUMMARY, RemarkError, clean, parse_remarks
from hits.services import audit
from hits.services.errors import Refused


def write(
    *, submission: Submission, outcome: str, summary: str, remarks: Any, by: AbstractBaseUser | None
) -> Feedback:
    """Keep a trainer's answer to a training submission; the same answer again is the same row.

    ``remarks`` are rows of ``{"observation", "part", "box", "text"}`` as ``hits.observing.remarks`` reads them. The
    outcome is told to the worker and grants nothing by itself.

    Raises:
        Refused: not a confirmed training submission, an unknown outcome, or a remark that cannot be kept;
            the message names the field.
    """
    row = _checked(submission, outcome, summary, remarks)
    with transaction.atomic():
        # Two presses of one button come one after the other: the second finds what the first wrote.
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


def _checked(submission: Submission, outcome: str, summary: str, remarks: Any) -> dict[str, Any]:
    if registry.get(submission.kind).purpose is not Purpose.TRAINING:
        raise Refused("submission: only training tasks are answered with feedback")
    if not Assignment.objects.filter(submission=submission, match=Match.MATCHED).exists():
        raise Refused("submission: the marketplace has not confirmed it yet; wait for the next check")
    if outcome not in set(TrainingOutcome):
        raise Refused(f"outcome: use {' or '.join(TrainingOutcome)}")
    boxes = {row["index"]: len(row["boxes"]) for row in submission.answer["observations"]}
    try:
        told = clean(summary, maximum=MAX_SUMMARY, path="summary")
        rows = parse_remarks(remarks, boxes)
    except RemarkError as error:
        raise Refused(str(error)) from error
    if outcome == TrainingOutcome.AGAIN and not told and not rows:
        raise Refused("summary: say what to do differently, here or in a remark")
    return {"outcome": str(outcome), "summary": told, "remarks": rows}
