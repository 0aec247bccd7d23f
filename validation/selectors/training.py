"""Training submissions that wait for a trainer, and what a worker was told before."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from hits import registry
from hits.domain.states import AssignmentStatus, Match, Purpose
from hits.models import Assignment, Feedback, Project, Worker
from hits.selectors.review import Looked, Queue, looked_at, queue_of

PHRASES = 8
_RECENT = 60  # feedback rows that ready-made phrases are taken from


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier attempt of the same worker, with what the trainer wrote (``None``: nobody has yet)."""

    number: int
    look: Looked
    feedback: Feedback | None


def kinds() -> list[str]:
    """Return the names of the kinds whose work a trainer answers."""
    return list(registry.with_purpose(Purpose.TRAINING))


def unanswered(project: Project) -> "QuerySet[Assignment]":
    """Return the confirmed training submissions without feedback, oldest first; rejected ones need none."""
    rows = _attempts(project).filter(submission__feedback=None)
    return rows.exclude(status=AssignmentStatus.REJECTED).order_by("submitted_at", "id")


def waiting_in(project: Project) -> int:
    """Return how many training submissions of a project wait for a trainer."""
    return unanswered(project).count()


def queue_at(project: Project, wanted: int | None) -> Queue:
    """Return the trainer's queue around ``wanted``, or around its first entry when that is not waiting."""
    return queue_of(unanswered(project), wanted)


def by_id(project: Project, pk: int) -> Assignment | None:
    """Return a confirmed training assignment of the project, answered or not, or ``None``."""
    rows = _attempts(project).select_related("hit__unit__batch__project", "worker", "submission")
    return rows.filter(pk=pk).first()


def earlier_attempts(assignment: Assignment, project: Project) -> list[Earlier]:
    """Return the worker's attempts before this one, the latest first, each with its feedback."""
    rows = _attempts(project).filter(worker=assignment.worker, submitted_at__lte=assignment.submitted_at)
    looks = looked_at(rows.exclude(pk=assignment.pk).order_by("submitted_at", "id"))
    written = _latest_feedback([look.assignment for look in looks])
    numbered = [
        Earlier(number, look, written.get(look.assignment.pk)) for number, look in enumerate(looks, start=1)
    ]
    return numbered[::-1]


def phrases(project: Project) -> list[str]:
    """Return the remarks that the project's trainers wrote last, each once, the newest first."""
    rows = Feedback.objects.filter(submission__attempt__hit__unit__batch__project=project).order_by("-pk")
    texts = (row["text"] for remarks in rows.values_list("remarks", flat=True)[:_RECENT] for row in remarks)
    return list(dict.fromkeys(texts))[:PHRASES]


def feedback_for(worker: Worker, project: Project) -> "QuerySet[Feedback]":
    """Return all that trainers wrote to a worker in the project, oldest first."""
    rows = Feedback.objects.filter(
        submission__attempt__worker=worker, submission__attempt__hit__unit__batch__project=project
    )
    return rows.select_related("written_by", "submission__assignment").order_by("pk")


def _attempts(project: Project) -> "QuerySet[Assignment]":
    return Assignment.objects.filter(
        hit__unit__batch__project=project, hit__unit__batch__kind__in=kinds(), match=Match.MATCHED
    )


def _latest_feedback(assignments: Sequence[Assignment]) -> dict[int, Feedback]:
    rows = Feedback.objects.filter(submission__assignment__in=assignments).select_related(
        "written_by", "submission__assignment"
    )
    return {row.submission.assignment.pk: row for row in rows.order_by("pk")}
