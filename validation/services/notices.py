"""Tell workers what came of their qualification task or their training, as messages of the marketplace.

A message is planned in the transaction of the answer that it tells of, as a call of the outbox: it survives a kill,
and a marketplace that does not answer gets it later. Nothing of the answer depends on it.
"""

from hits.domain.images.geometry import labels
from hits.domain.states import BatchState, TrainingOutcome
from hits.domain.workers import notices
from hits.models import Assignment, Batch, Feedback, OutgoingCall, Project
from hits.services.outbox import outbox
from validation.domain.qualification.remarks import lines_of
from validation.models import GradingOutcome
from validation.selectors.training import kinds


def plan_result(*, assignment: Assignment, outcome: GradingOutcome) -> OutgoingCall:
    """Plan the message with the result of a qualification task; inside the caller's transaction."""
    project = assignment.hit.unit.batch.project
    if not outcome.passed:
        subject = notices.NOT_PASSED
    elif _has_training(project):
        subject = notices.PASSED_TRAINING_OPEN
    else:
        subject = notices.PASSED
    return _plan(assignment, subject, project.name, outcome.reason)


def plan_answer(*, assignment: Assignment, feedback: Feedback) -> OutgoingCall:
    """Plan the message with a trainer's answer and its remarks; inside the caller's transaction."""
    again = feedback.outcome == TrainingOutcome.AGAIN
    subject = notices.TRAINER_AGAIN if again else notices.TRAINER_READY
    shown = "Your next training task shows the remarks beside your photo." if again else ""
    lines = _remark_lines(feedback)
    return _plan(
        assignment,
        subject,
        assignment.hit.unit.batch.project.name,
        feedback.summary,
        "\n".join(["Remarks:", *lines]) if lines else "",
        shown if lines else "",
    )


def _plan(assignment: Assignment, subject: str, *paragraphs: str) -> OutgoingCall:
    return outbox.plan(
        operation=OutgoingCall.Operation.NOTIFY,
        batch=assignment.hit.unit.batch,
        key=("notify", assignment.assignment_id),
        assignment=assignment,
        args={"subject": subject, "text": notices.text_of(*paragraphs)},
    )


def _has_training(project: Project) -> bool:
    return Batch.objects.filter(project=project, kind__in=kinds(), state=BatchState.LIVE).exists()


def _remark_lines(feedback: Feedback) -> list[str]:
    rows = feedback.submission.answer["observations"]
    boxes = {row["index"]: labels(len(row["boxes"]), row["index"]) for row in rows}
    return [f"- {where}: {what}" for where, what in lines_of(feedback.remarks, boxes)]
