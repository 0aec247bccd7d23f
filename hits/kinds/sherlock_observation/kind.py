"""Write observations about one photo (Sherlock; paper 000 §3.1 and A.2, paper 001 A.2)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from hits.domain.facts import ImageFacts
from hits.domain.geometry import Box, BoxError, parse_box
from hits.domain.observation import Confidence, ObservationPair
from hits.domain.states import Purpose
from hits.domain.text import MAX_CLUE, MAX_INFERENCE, TextError, clean_line
from hits.kind import FieldError, HitKind, Schema

REQUIRED = 3
MAXIMUM = 5
MAX_BOXES = 20


class Unit(Schema):
    """One image to be worked on, by id."""

    image: int


class Observation(Schema):
    """One card of the page. Boxes stay plain here: ``check_answer`` names the box that is wrong."""

    index: int = Field(ge=1, le=MAXIMUM)
    clue: str = Field(max_length=65_536)
    inference: str = Field(max_length=65_536)
    confidence: int = Field(ge=Confidence.POSSIBLE, le=Confidence.CERTAIN)
    boxes: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_BOXES)


class Answer(Schema):
    """Three required observations, two more for a bonus."""

    observations: list[Observation] = Field(min_length=1, max_length=MAXIMUM)


class SherlockObservation(HitKind):
    """Collects observation pairs: clue, boxes, inference, confidence."""

    name: ClassVar[str] = "sherlock_observation"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Write observations about one photo"
    description: ClassVar[str] = (
        "Find three clues in a photo, box them, and say what they tell you. Two more earn a bonus."
    )
    keywords: ClassVar[str] = "photo, image, clue, reasoning, writing, boxes"
    paper: ClassVar[str] = "Sherlock: paper 000 §3.1 and A.2; paper 001 A.2"
    purpose: ClassVar[Purpose] = Purpose.COLLECTING
    reward_cents: ClassVar[int] = 110
    bonus_cents: ClassVar[int] = 15
    max_bonus_items: ClassVar[int] = MAXIMUM - REQUIRED
    usual_seconds: ClassVar[int] = 300
    duration_seconds: ClassVar[int] = 30 * 60
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the one image's id."""
        return [unit["image"]]

    def page_unit(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str
    ) -> dict[str, Any]:
        """Return the image and how many observations are wanted."""
        return {
            "image": images[unit["image"]].as_page(),
            "required": REQUIRED,
            "maximum": MAXIMUM,
            "limits": {"clue": MAX_CLUE, "inference": MAX_INFERENCE, "boxes": MAX_BOXES},
        }

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Check numbers, texts and boxes; return the tidied answer and what is wrong."""
        assert isinstance(answer, Answer)
        image = images[unit["image"]]
        errors = _check_indices([item.index for item in answer.observations])
        tidy = []
        for position, item in enumerate(answer.observations):
            row, found = _check_observation(item, image, f"observations[{position}]")
            tidy.append(row)
            errors += found
        return {"observations": sorted(tidy, key=lambda row: row["index"])}, errors

    def bonus_items(self, answer: Mapping[str, Any]) -> int:
        """Return how many of observations 4 and 5 were written; they are complete or refused."""
        return sum(item["index"] > REQUIRED for item in answer["observations"])

    def observations(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[ObservationPair]:
        """Return the answer's pairs in the order of their numbers."""
        return [
            ObservationPair(
                index=item["index"],
                clue=item["clue"],
                inference=item["inference"],
                confidence=Confidence(item["confidence"]),
                boxes=tuple(Box(**box) for box in item["boxes"]),
                bonus=item["index"] > REQUIRED,
            )
            for item in answer["observations"]
        ]


def _check_indices(indices: list[int]) -> list[FieldError]:
    errors = []
    missing = sorted(set(range(1, REQUIRED + 1)) - set(indices))
    if missing:
        wanted = ", ".join(str(index) for index in missing)
        errors.append(
            FieldError("observations", f"observation {wanted} is missing: complete 1 to {REQUIRED}")
        )
    for index in sorted({index for index in indices if indices.count(index) > 1}):
        errors.append(FieldError("observations", f"observation {index} stands twice: send it once"))
    return errors


def _check_observation(
    item: Observation, image: ImageFacts, path: str
) -> tuple[dict[str, Any], list[FieldError]]:
    errors: list[FieldError] = []
    row: dict[str, Any] = {"index": item.index, "confidence": item.confidence, "boxes": []}
    for field, maximum in (("clue", MAX_CLUE), ("inference", MAX_INFERENCE)):
        try:
            row[field] = clean_line(getattr(item, field), maximum=maximum)
        except TextError as error:
            errors.append(FieldError(f"{path}.{field}", str(error)))
            continue
        if not row[field]:
            errors.append(FieldError(f"{path}.{field}", f"observation {item.index} needs a {field}"))
    for number, raw in enumerate(item.boxes):
        try:
            box = parse_box(raw, image_width=image.width, image_height=image.height)
        except BoxError as error:
            errors.append(FieldError(f"{path}.boxes[{number}]", str(error)))
        else:
            row["boxes"].append(box.as_dict())
    return row, errors


KIND = SherlockObservation()
