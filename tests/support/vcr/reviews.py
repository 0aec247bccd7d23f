"""Work of writers and their reviewers, through the platform's own services."""

from typing import Any

from hits.domain.states import AssignmentStatus
from hits.models import Hit, Image, Submission
from hits.services.launching.launch import PlannedUnit, launch_batch
from tests.support.judging.work import Work
from tests.support.vcr.judged import QUESTION, RATIONALE, RIGHT, review_unit

ADVICE = "Say in your reason what in the photo leads to your answer."


def written(
    work: Work,
    image: Image,
    worker: str,
    *,
    triplets: int = 2,
    status: AssignmentStatus = AssignmentStatus.APPROVED,
) -> Submission:
    """Let a worker write questions about a photo; return the confirmed submission."""
    shown = {name: review_unit(image)[name] for name in ("image", "objects", "objects_sha256", "captions")}
    batch, _ = launch_batch(
        project=work.project,
        kind_name="vcr_qar",
        name="Writing",
        units=[PlannedUnit(f"image-{image.pk}", shown)],
        by=None,
    )
    work.publish(batch)
    row = {"question": QUESTION, "answer": RIGHT, "rationale": RATIONALE, "likelihood": "likely"}
    answer = {"triplets": [row] * triplets, "interest": 1, "objects_sha256": shown["objects_sha256"]}
    return work.answered(Hit.objects.get(unit__batch=batch), worker, answer, status=status)


def review_answer(triplets: int = 2, *, advice: str = ADVICE, **labels: Any) -> dict[str, Any]:
    """Return a review with the same labels of every triplet; ``overall`` is one of them."""
    overall = labels.pop("overall", "keep_advice")
    row = {"question": "good", "answer": "reasonable", "rationale": "explains", "tags": "right", **labels}
    rows = [{"triplet": number, **row} for number in range(1, triplets + 1)]
    return {"triplets": rows, "advice": advice, "overall": overall}
