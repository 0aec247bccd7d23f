"""Object lists from what a detector found: classes of people, scores, order (Zellers et al. 2019 §B.1)."""

from collections.abc import Collection

from curation.interest.rules import MIN_SCORE
from curation.proposals.detector import DetectedBoxes
from curation.records import InvalidInput
from hits.domain.images.detections import PERSON, DetectedObject, order_objects

# Classes of other vocabularies than COCO's that are people.
PERSON_LABELS = (
    "person",
    "man",
    "woman",
    "boy",
    "girl",
    "child",
    "kid",
    "baby",
    "lady",
    "guy",
    "people",
    "human",
)


def detected_objects(
    found: DetectedBoxes, *, min_score: float = MIN_SCORE, person_labels: Collection[str] = PERSON_LABELS
) -> list[DetectedObject]:
    """Return the objects of one image with a score from ``min_score``, in the order of their list.

    Args:
        found: boxes with scores and labels. person_labels: classes, in lower case, that are called ``person``.

    Raises:
        InvalidInput: the detector gives no scores or classes.
    """
    if found.scores is None or found.labels is None:
        raise InvalidInput("detector: gives no classes; use hf: or mask: with a model")
    outlines = found.polygons or ((),) * len(found.labels)
    rows = zip(found.corners.tolist(), found.scores.tolist(), found.labels, outlines, strict=True)
    return order_objects(
        [
            DetectedObject(
                name=PERSON if label.lower() in person_labels else label,
                box=(float(left), float(top), float(right), float(bottom)),
                score=score,
                polygons=polygons,
            )
            for (left, top, right, bottom), score, label, polygons in rows
            if score >= min_score
        ]
    )
