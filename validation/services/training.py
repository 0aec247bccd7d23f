"""A trainer's answer to a training submission: feedback, pay, and perhaps trust, all or nothing."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.states import AssignmentStatus, TrainingOutcome, Verdict, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.models import Assignment, Feedback
from hits.observing.remarks import MAX_REMARK_LENGTH, RemarkError, clean_text
from hits.services.errors import Conflict, Refused
from hits.services.reviewing import feedback, review
from hits.services.workers.qualifications import decide_on_worker
from validation.domain.qualification.worker_status import WorkerStatus
from validation.selectors.worker_status import current_status
from validation.services import notices
from validation.services.worker_status import change_worker_status

MAX_SUMMARY = 1000  # as much as the marketplace carries beside an approval
READY = "A trainer says that you are ready for this project's tasks."
SEE_REMARKS = "Your trainer left remarks on what you wrote; your next training task shows them."


@transaction.atomic
def give_feedback(
    *,
    assignment: Assignment,
    outcome: TrainingOutcome,
    summary: str,
    remarks: Sequence[dict[str, Any]],
    by: AbstractBaseUser,
) -> Feedback:
    """Write feedback to a training submission, approve it, and with ``COMPLETE`` say that the worker is trained.

    Nothing leaves yet: the payment and the grant are planned. Repeating the same answer returns the first one.

    Raises:
        Refused: nothing is said, a remark hangs on nothing, or a worker who gets no tasks is called ready.
        Conflict: somebody else answered it.
    """
    summary = summary.strip()
    submission = assignment.submission
    if submission is None:
        raise Refused("The marketplace does not show this submission as ours, so there is nothing to answer.")
    # Two trainers answer one after the other: the second sees what the first one wrote.
    Assignment.objects.select_for_update().get(pk=assignment.pk)
    earlier = Feedback.objects.filter(submission=submission).order_by("-pk").first()
    if len(summary) > MAX_SUMMARY:
        raise Refused(f"summary: has {len(summary)} characters; use {MAX_SUMMARY} or fewer")
    if earlier is not None:
        return _matching_feedback(earlier, outcome, summary, remarks, by)
    if outcome is TrainingOutcome.RETRY and not summary and not remarks:
        raise Refused("summary: say what to do differently, here or in a remark; the worker reads it")
    written = feedback.write_feedback(
        submission=submission, outcome=outcome, summary=summary, remarks=list(remarks), by=by
    )
    _approve(assignment, summary or (SEE_REMARKS if remarks else READY), by)
    notices.plan_feedback_notice(assignment=assignment, feedback=written)
    if outcome is TrainingOutcome.COMPLETE:
        _grant_trained(assignment, summary or READY, by)
    return written


def _matching_feedback(
    earlier: Feedback,
    outcome: TrainingOutcome,
    summary: str,
    remarks: Sequence[dict[str, Any]],
    by: AbstractBaseUser,
) -> Feedback:
    try:
        cleaned = [
            row | {"text": clean_text(row["text"], maximum=MAX_REMARK_LENGTH, path="text")} for row in remarks
        ]
        new_values = (outcome.value, clean_text(summary, maximum=MAX_SUMMARY, path="summary"), cleaned, by.pk)
    except RemarkError as error:
        raise Refused(str(error)) from error
    if (earlier.outcome, earlier.summary, earlier.remarks, earlier.written_by_id) == new_values:
        return earlier
    raise Conflict("This attempt was answered just now; what you wrote here was not stored.")


def _approve(assignment: Assignment, feedback: str, by: AbstractBaseUser) -> None:
    """Plan the payment, unless the marketplace's clock or somebody on the review desk came first."""
    assignment.refresh_from_db(fields=["status"])
    if assignment.status == AssignmentStatus.SUBMITTED and not assignment.decisions.exists():
        review.decide_assignment(assignment=assignment, verdict=Verdict.APPROVE, by=by, feedback=feedback)


def _grant_trained(assignment: Assignment, reason: str, by: AbstractBaseUser) -> None:
    project, worker = assignment.hit.unit.batch.project, assignment.worker
    current = current_status(worker, project)
    if current.is_excluded:
        raise Refused(
            f"{worker} is {current.status.value} and gets no tasks, so “Ready” would mean nothing. "
            "Choose “Try once more”, or reinstate the worker first."
        )
    decide_on_worker(
        project=project, worker=worker, action=WorkerAction.GRANT, pool=Pool.TRAINED, reason=reason, by=by
    )
    if current.status not in {WorkerStatus.TRAINED, WorkerStatus.ACTIVE}:
        change_worker_status(
            project=project, worker=worker, status=WorkerStatus.TRAINED, reason=reason, by=by
        )
