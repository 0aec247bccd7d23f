"""Save a trainer's feedback on a training submission, approve it, and update the worker's status; all or nothing."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.states import AssignmentStatus, ReviewVerdict, TrainingOutcome, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.models import Assignment, Feedback
from hits.observing.remarks import MAX_REMARK_LENGTH, RemarkError, clean_lines
from hits.services.errors import Conflict, Refused
from hits.services.reviewing import feedback, review
from hits.services.workers.qualifications import decide_on_worker
from validation.domain.qualification.worker_status import WorkerStatus
from validation.selectors.worker_status import current_status
from validation.services import notices
from validation.services.worker_status import change_worker_status

MAX_SUMMARY_LENGTH = 1000  # characters; MTurk's limit for feedback on an approval
READY_MESSAGE = "A trainer says that you are ready for this project's tasks."
REMARKS_MESSAGE = "Your trainer left remarks on what you wrote; your next training task shows them."


@transaction.atomic
def give_feedback(
    *,
    assignment: Assignment,
    outcome: TrainingOutcome,
    summary: str,
    remarks: Sequence[dict[str, Any]],
    by: AbstractBaseUser,
) -> Feedback:
    """Save feedback on a training submission, approve it, and with ``COMPLETE`` set the worker's status to trained.

    The payment and the grant are only planned. Repeating the same feedback returns the stored one.

    Raises:
        Refused: no text, a remark without a target, or ``COMPLETE`` for a worker who gets no tasks.
        Conflict: somebody else has answered it.
    """
    summary = summary.strip()
    submission = assignment.submission
    if submission is None:
        raise Refused("The marketplace does not list this submission, so it cannot get feedback.")
    # Locks the assignment, so that a second trainer sees the first one's feedback.
    Assignment.objects.select_for_update().get(pk=assignment.pk)
    earlier = Feedback.objects.filter(submission=submission).order_by("-pk").first()
    if len(summary) > MAX_SUMMARY_LENGTH:
        raise Refused(f"summary: has {len(summary)} characters; use {MAX_SUMMARY_LENGTH} or fewer")
    if earlier is not None:
        return _earlier_feedback_if_equal(earlier, outcome, summary, remarks, by)
    if outcome is TrainingOutcome.RETRY and not summary and not remarks:
        raise Refused("summary: write what to do differently, here or in a remark; the worker reads it")
    written = feedback.write_feedback(
        submission=submission, outcome=outcome, summary=summary, remarks=list(remarks), by=by
    )
    _plan_approval_if_undecided(assignment, summary or (REMARKS_MESSAGE if remarks else READY_MESSAGE), by)
    notices.plan_feedback_notice(assignment=assignment, feedback=written)
    if outcome is TrainingOutcome.COMPLETE:
        _grant_trained_qualification(assignment, summary or READY_MESSAGE, by)
    return written


def _earlier_feedback_if_equal(
    earlier: Feedback,
    outcome: TrainingOutcome,
    summary: str,
    remarks: Sequence[dict[str, Any]],
    by: AbstractBaseUser,
) -> Feedback:
    try:
        cleaned = [
            row | {"text": clean_lines(row["text"], maximum=MAX_REMARK_LENGTH, path="text")}
            for row in remarks
        ]
        new_summary = clean_lines(summary, maximum=MAX_SUMMARY_LENGTH, path="summary")
    except RemarkError as error:
        raise Refused(str(error)) from error
    new_values = (outcome.value, new_summary, cleaned, by.pk)
    if (earlier.outcome, earlier.summary, earlier.remarks, earlier.written_by_id) == new_values:
        return earlier
    raise Conflict("Somebody else has just given feedback on this attempt; yours was not saved.")


def _plan_approval_if_undecided(assignment: Assignment, feedback: str, by: AbstractBaseUser) -> None:
    """Plan the payment, unless the submission is approved already, automatically or in the review queue."""
    assignment.refresh_from_db(fields=["status"])
    if assignment.status == AssignmentStatus.SUBMITTED and not assignment.decisions.exists():
        review.decide_assignment(
            assignment=assignment, verdict=ReviewVerdict.APPROVE, by=by, feedback=feedback
        )


def _grant_trained_qualification(assignment: Assignment, reason: str, by: AbstractBaseUser) -> None:
    project, worker = assignment.hit.unit.batch.project, assignment.worker
    current = current_status(worker, project)
    if current.is_excluded:
        raise Refused(
            f"{worker} is {current.status.value} and gets no tasks, so “Ready” has no effect. "
            "Choose “Try again”, or reinstate the worker first."
        )
    decide_on_worker(
        project=project, worker=worker, action=WorkerAction.GRANT, pool=Pool.TRAINED, reason=reason, by=by
    )
    if current.status not in {WorkerStatus.TRAINED, WorkerStatus.ACTIVE}:
        change_worker_status(
            project=project, worker=worker, status=WorkerStatus.TRAINED, reason=reason, by=by
        )
