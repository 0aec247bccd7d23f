"""Notify workers by marketplace messages: results of qualification and training tasks, advice, digests.

A message is planned as a call of the outbox, in the transaction of the result: it survives a crash, and is repeated
if the marketplace does not respond. The result does not depend on it.
"""

from django.db import IntegrityError

from hits import registry
from hits.domain.answers.text import shorten_text
from hits.domain.images.geometry import box_labels
from hits.domain.states import BatchState, TrainingOutcome
from hits.domain.workers import notices
from hits.models import Assignment, Batch, Feedback, OutgoingCall, Project
from hits.services.outbox import outbox
from validation.domain.qualification.remarks import remark_rows
from validation.models import GradingOutcome
from validation.selectors.training import training_kinds
from validation.selectors.work_reviews import ADVICE_KEY

MAX_QUOTE = 160  # characters of the work that a message quotes


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


def plan_advice_notice(*, work: Assignment, review: Assignment) -> bool:
    """Plan the message with a review's advice to the author of ``work``; return whether it was not planned before.

    It names neither the reviewer nor the reviewer’s other answers.
    """
    assert work.submission is not None
    assert review.submission is not None
    date = f"{work.submitted_at:%-d %B %Y}"
    return _plan_once(
        work,
        (ADVICE_KEY, review.assignment_id),
        notices.ADVICE,
        work.hit.unit.batch.project.name,
        f"It is about the task that you submitted on {date}: {_describe_work(work)}",
        review.submission.answer["advice"],
    )


def plan_scene_notice(*, work: Assignment, key: tuple[object, ...], outcome: str, quote: str) -> bool:
    """Plan the message with what became of a scene; return whether it was not planned before.

    ``quote`` is the beginning of the scene; ``outcome`` says whether it is used and, if not, why.
    """
    project = work.hit.unit.batch.project
    shown = f"“{shorten_text(quote, MAX_QUOTE)}”"
    return _plan_once(work, key, notices.SCENE_DECIDED, project.name, shown, outcome)


def plan_digest_notice(*, assignment: Assignment, key: tuple[object, ...], text: str) -> bool:
    """Plan a message about a worker's recent work; return whether it was not planned before."""
    project = assignment.hit.unit.batch.project
    return _plan_once(assignment, key, f"Your recent work for {project.name}", text)


def _describe_work(work: Assignment) -> str:
    """Return the first row of a submission as people read it, shortened."""
    assert work.submission is not None
    unit = work.hit.unit
    rows = registry.get_kind(unit.batch.kind).answer_rows(unit.payload, work.submission.answer)
    return f"“{shorten_text(rows[0].label, MAX_QUOTE)}”" if rows else unit.batch.name


def _plan_once(assignment: Assignment, key: tuple[object, ...], subject: str, *paragraphs: str) -> bool:
    try:
        _plan_notice(assignment, subject, *paragraphs, key=key)
    except IntegrityError:
        return False  # another process planned it
    return True


def _plan_notice(
    assignment: Assignment, subject: str, *paragraphs: str, key: tuple[object, ...] = ()
) -> OutgoingCall:
    return outbox.plan_call(
        operation=OutgoingCall.Operation.NOTIFY,
        batch=assignment.hit.unit.batch,
        key=key or ("notify", assignment.assignment_id),
        assignment=assignment,
        args={"subject": subject, "text": notices.join_and_cut_paragraphs(*paragraphs)},
    )


def _has_training(project: Project) -> bool:
    return Batch.objects.filter(project=project, kind__in=training_kinds(), state=BatchState.LIVE).exists()


def _remark_lines(feedback: Feedback) -> list[str]:
    rows = feedback.submission.answer["observations"]
    boxes = {row["index"]: box_labels(len(row["boxes"]), row["index"]) for row in rows}
    return [f"- {target}: {text}" for target, text in remark_rows(feedback.remarks, boxes)]
