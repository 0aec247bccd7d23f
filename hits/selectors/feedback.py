"""Read what trainers wrote."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hits.domain.states import Match
from hits.models import Feedback, Image, Project, Worker
from hits.selectors.images.images import facts


@dataclass(frozen=True, slots=True)
class Answered:
    """The newest answer to an earlier attempt: the trainer's words, and the worker's own work beside them."""

    outcome: str
    summary: str
    remarks: list[dict[str, Any]]
    written_at: datetime
    image: dict[str, Any] | None  # none when the photo was taken down since
    observations: list[dict[str, Any]]

    def as_page(self) -> dict[str, Any]:
        """Return what a task's page is told; who wrote it stays out."""
        return {
            "outcome": self.outcome,
            "summary": self.summary,
            "remarks": self.remarks,
            "written_at": self.written_at.isoformat(),
            "image": self.image,
            "observations": self.observations,
        }


def latest(worker: Worker, project: Project, kind: str) -> Answered | None:
    """Return the newest feedback on the worker's confirmed submissions of one kind, or ``None``; two queries."""
    row = (
        Feedback.objects.filter(
            submission__kind=kind,
            submission__attempt__worker=worker,
            submission__attempt__hit__unit__batch__project=project,
            submission__assignment__match=Match.MATCHED,
        )
        .select_related("submission__attempt__hit__unit")
        .last()
    )
    if row is None:
        return None
    submission = row.submission
    image = Image.objects.filter(units=submission.attempt.hit.unit, withdrawn_at__isnull=True).first()
    return Answered(
        outcome=row.outcome,
        summary=row.summary,
        remarks=row.remarks,
        written_at=row.written_at,
        image=facts(image).as_page() if image else None,
        observations=submission.answer["observations"],
    )
