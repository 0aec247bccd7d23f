"""Judge another worker's observation pair (Sherlock; Hessel et al. 2022, supplement A.3 and figure 5)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from hits.domain.answers.text import MAX_CLUE, MAX_INFERENCE
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import FieldError, HitKind, Schema, UnitBox
from validation.kinds.observation_review.scales import BoxFit, Interest, Reasonableness


class Unit(Schema):
    """One pair, and the image that it is about."""

    image: int
    observation: str = Field(pattern=r"^[0-9a-f]{32}$")
    obs_index: int = Field(ge=1)
    boxes: list[UnitBox] = Field(min_length=1)
    clue: str = Field(min_length=1, max_length=MAX_CLUE)
    inference: str = Field(min_length=1, max_length=MAX_INFERENCE)
    confidence: int = Field(ge=1, le=3)


class Answer(Schema):
    """One label on each of the three scales. Fields are not strict: JSON has strings, not enum members."""

    boxes: BoxFit = Field(strict=False)
    reasonable: Reasonableness = Field(strict=False)
    interesting: Interest = Field(strict=False)


class ObservationReview(HitKind):
    """Three workers, not the author, judge one pair."""

    name: ClassVar[str] = "observation_review"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Judge one observation about a photo"
    description: ClassVar[str] = (
        "Look at a photo with a clue in boxes and what somebody concluded from it. Answer three questions."
    )
    keywords: ClassVar[str] = "photo, image, rating, review, reasoning"
    paper: ClassVar[str] = "Hessel et al. 2022 §A.3, fig. 5"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    launches_from_units: ClassVar[bool] = True
    reward_cents: ClassVar[int] = 40
    redundancy: ClassVar[int] = 3
    expected_seconds: ClassVar[int] = 90
    duration_seconds: ClassVar[int] = 15 * 60
    unit_word: ClassVar[tuple[str, str]] = ("pair", "pairs")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the one image's id."""
        return [unit["image"]]

    def unit_for_page(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the image and the pair, without its author."""
        return {
            "image": images[unit["image"]].as_page_dict(),
            "obs_index": unit["obs_index"],
            "boxes": unit["boxes"],
            "clue": unit["clue"],
            "inference": unit["inference"],
            "confidence": unit["confidence"],
        }

    def marks(self, unit: Mapping[str, Any], answer: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the pair's boxes under its own index."""
        return [{"index": unit["obs_index"], "boxes": unit["boxes"], "label": "Region"}]

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Return the three labels as strings; the schema has checked everything."""
        return answer.model_dump(mode="json"), []


KIND = ObservationReview()
