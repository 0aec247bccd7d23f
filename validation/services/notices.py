"""Notify workers of the result of their qualification or training task by marketplace messages.

A message is planned as a call of the outbox, in the transaction of the result: it survives a crash, and is repeated
if the marketplace does not respond. The result does not depend on it.
"""

from hits.domain.images.geometry import box_labels
from hits.domain.states import BatchState, TrainingOutcome
from hits.domain.workers import notices
from hits.models import Assignment, Batch, Feedback, OutgoingCall, Project
from hits.services.outbox import outbox
from validation.domain.qualification.remarks import remark_rows
from validation.models import GradingOutcome
from validation.selectors.training import training_kinds


def plan_result_notice(*, assignment: Assignment, outcome: GradingOutcome) -> OutgoingCall:
    """Plan the message with the result of a qualification task; call it inside a transaction."""
    project = assignment.hit.unit.batch.project
    if not outcome.passed:
        subject = notices.NOT_PASSED
    elif _has_training(project):
        subject = notices.PASSED_TRAINING_OPEN
    else:
        subject = notices.PASSED
    return _plan_notice(assignment, subject, project.name, outcome.reason)


def plan_feedback_notice(*, assignment: Assignment, feedback: Feedback) -> OutgoingCall:
    """Plan the message with a trainer's feedback and remarks; call it inside a transaction."""
    must_repeat = feedback.outcome == TrainingOutcome.RETRY
    subject = notices.TRAINER_RETRY if must_repeat else notices.TRAINER_READY
    remarks_note = "Your next training task shows the remarks beside your photo." if must_repeat else ""
    lines = _remark_lines(feedback)
    return _plan_notice(
        assignment,
        subject,
        assignment.hit.unit.batch.project.name,
        feedback.summary,
        "\n".join(["Remarks:", *lines]) if lines else "",
        remarks_note if lines else "",
    )


def _plan_notice(assignment: Assignment, subject: str, *paragraphs: str) -> OutgoingCall:
    return outbox.plan_call(
        operation=OutgoingCall.Operation.NOTIFY,
        batch=assignment.hit.unit.batch,
        key=("notify", assignment.assignment_id),
        assignment=assignment,
        args={"subject": subject, "text": notices.join_and_cut_paragraphs(*paragraphs)},
    )


def _has_training(project: Project) -> bool:
    return Batch.objects.filter(project=project, kind__in=training_kinds(), state=BatchState.LIVE).exists()


def _remark_lines(feedback: Feedback) -> list[str]:
    rows = feedback.submission.answer["observations"]
    boxes = {row["index"]: box_labels(len(row["boxes"]), row["index"]) for row in rows}
    return [f"- {target}: {text}" for target, text in remark_rows(feedback.remarks, boxes)]
