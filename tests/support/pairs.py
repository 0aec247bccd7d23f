"""Make observation pairs as rows, without a worker."""

from typing import Any

from curation.models import Pair
from hits.models import Image


def pair_row(*, image: Image, clue: str, inference: str, confidence: int, boxes: Any, **more: Any) -> Pair:
    """Return an unsaved pair on ``image``; ``more`` are the record's own columns."""
    return Pair(
        project_id=image.project_id,
        type=Pair.TYPE,
        image=image,
        fields={"clue": clue, "inference": inference, "confidence": confidence, "boxes": boxes},
        **more,
    )
