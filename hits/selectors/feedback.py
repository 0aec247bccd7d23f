"""Read trainers' feedback."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from hits.domain.states import SubmissionMatch
from hits.models import Feedback, Image, Project, Worker
from hits.selectors.images.images import image_facts


@dataclass(frozen=True, slots=True)
class TrainingFeedback:
    """A trainer's newest feedback on an earlier attempt, with the worker's answer."""

    outcome: str
    summary: str
    remarks: list[dict[str, Any]]
    written_at: datetime
    image: dict[str, Any] | None  # None if the photo has been taken down
    observations: list[dict[str, Any]]

    def as_page_dict(self) -> dict[str, Any]:
        """Return the JSON for the task's page, without the trainer's name."""
        return asdict(self) | {"written_at": self.written_at.isoformat()}


def latest_feedback(worker: Worker, project: Project, kind: str) -> TrainingFeedback | None:
    """Return the newest feedback on the worker's confirmed submissions of one kind, or ``None``; two queries."""
    row = (
        Feedback.objects.filter(
            submission__kind=kind,
            submission__attempt__worker=worker,
            submission__attempt__hit__unit__batch__project=project,
            submission__assignment__match=SubmissionMatch.MATCHED,
        )
        .select_related("submission__attempt__hit__unit")
        .last()
    )
    if row is None:
        return None
    submission = row.submission
    image = Image.objects.filter(units=submission.attempt.hit.unit, taken_down_at__isnull=True).first()
    return TrainingFeedback(
        outcome=row.outcome,
        summary=row.summary,
        remarks=row.remarks,
        written_at=row.written_at,
        image=image_facts(image).as_page_dict() if image else None,
        observations=submission.answer["observations"],
    )
