"""Read training submissions that wait for a trainer, and earlier feedback to a worker."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from hits import registry
from hits.domain.states import AssignmentStatus, Purpose, SubmissionMatch
from hits.models import Assignment, Feedback, Project, Worker
from hits.selectors.review import AssignmentReview, QueueWindow, build_queue_window, load_reviews

MAX_PHRASES = 8
_MAX_FEEDBACK_ROWS = 60  # newest ones, from which phrases are taken


@dataclass(frozen=True, slots=True)
class EarlierAttempt:
    """An earlier attempt of the same worker with its feedback, if any."""

    number: int
    attempt: AssignmentReview
    feedback: Feedback | None


def training_kinds() -> list[str]:
    """Return the names of the training kinds."""
    return list(registry.kinds_with_purpose(Purpose.TRAINING))


def attempts_without_feedback(project: Project) -> "QuerySet[Assignment]":
    """Return the confirmed training submissions without feedback, oldest first, without rejected ones."""
    rows = _attempts(project).filter(submission__feedback=None)
    return rows.exclude(status=AssignmentStatus.REJECTED).order_by("submitted_at", "id")


def count_attempts_without_feedback(project: Project) -> int:
    """Return the number of training submissions that wait for a trainer."""
    return attempts_without_feedback(project).count()


def training_queue(project: Project, selected: int | None) -> QueueWindow:
    """Return the trainer's queue around ``selected``, or around its first entry if that is not in the queue."""
    return build_queue_window(attempts_without_feedback(project), selected)


def find_attempt(project: Project, pk: int) -> Assignment | None:
    """Return a confirmed training assignment of the project, answered or not, or ``None``."""
    rows = _attempts(project).select_related("hit__unit__batch__project", "worker", "submission")
    return rows.filter(pk=pk).first()


def earlier_attempts(assignment: Assignment, project: Project) -> list[EarlierAttempt]:
    """Return the worker's attempts before this one with their feedback, latest first."""
    rows = _attempts(project).filter(worker=assignment.worker, submitted_at__lte=assignment.submitted_at)
    attempts = load_reviews(rows.exclude(pk=assignment.pk).order_by("submitted_at", "id"))
    feedback = _latest_feedback([attempt.assignment for attempt in attempts])
    numbered = [
        EarlierAttempt(number, attempt, feedback.get(attempt.assignment.pk))
        for number, attempt in enumerate(attempts, start=1)
    ]
    return numbered[::-1]


def recent_remarks(project: Project) -> list[str]:
    """Return the distinct remarks that the project's trainers wrote last, newest first."""
    rows = Feedback.objects.filter(submission__attempt__hit__unit__batch__project=project).order_by("-pk")
    texts = (
        row["text"]
        for remarks in rows.values_list("remarks", flat=True)[:_MAX_FEEDBACK_ROWS]
        for row in remarks
    )
    return list(dict.fromkeys(texts))[:MAX_PHRASES]


def feedback_for(worker: Worker, project: Project) -> "QuerySet[Feedback]":
    """Return all feedback to a worker in the project, oldest first."""
    rows = Feedback.objects.filter(
        submission__attempt__worker=worker, submission__attempt__hit__unit__batch__project=project
    )
    return rows.select_related("written_by", "submission__assignment").order_by("pk")


def _attempts(project: Project) -> "QuerySet[Assignment]":
    return Assignment.objects.filter(
        hit__unit__batch__project=project,
        hit__unit__batch__kind__in=training_kinds(),
        match=SubmissionMatch.MATCHED,
    )


def _latest_feedback(assignments: Sequence[Assignment]) -> dict[int, Feedback]:
    rows = Feedback.objects.filter(submission__assignment__in=assignments).select_related(
        "written_by", "submission__assignment"
    )
    return {row.submission.assignment.pk: row for row in rows.order_by("pk")}
