"""Say what is the same and what is different on two photos: two images, and records of two types."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from hits.domain.answers.records import Record
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import FieldError, HitKind, Schema

LONGEST = 200


class Unit(Schema):
    """Two photos, by id."""

    left: int
    right: int


class Answer(Schema):
    """What both show, and what only one does."""

    same: str = Field(min_length=1, max_length=LONGEST)
    different: str = Field(min_length=1, max_length=LONGEST)


class Likeness(Schema):
    """What both photos show."""

    text: str


class Difference(Schema):
    """What one of the photos shows alone, and how many words say so."""

    text: str
    words: int


class TwoPhotos(HitKind):
    """One worker compares two photos."""

    name: ClassVar[str] = "two_photos"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Compare two photos"
    description: ClassVar[str] = "Say what is the same and what is different."
    keywords: ClassVar[str] = "photo"
    paper: ClassVar[str] = "No paper: a kind of the tests"
    purpose: ClassVar[Purpose] = Purpose.COLLECTING
    launches_from_units: ClassVar[bool] = True
    reward_cents: ClassVar[int] = 50
    expected_seconds: ClassVar[int] = 60
    page_facts: ClassVar[frozenset[str]] = frozenset()  # nothing that is written about a photo
    unit_word: ClassVar[tuple[str, str]] = ("pair of photos", "pairs of photos")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    record_types: ClassVar[Mapping[str, type[Schema]]] = {"likeness": Likeness, "difference": Difference}

    @property
    def takes_photos(self) -> bool:
        """Photos are asked about in pairs."""
        return True

    def plan_units(self, photos: Sequence[int]) -> list[dict[str, Any]]:
        """Return each photo with the next one; a last one without a neighbour is left out."""
        pairs = zip(photos[::2], photos[1::2], strict=False)
        return [{"left": left, "right": right} for left, right in pairs]

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return both images."""
        return [unit["left"], unit["right"]]

    def unit_for_page(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return both images."""
        return {"images": [images[unit[side]].as_page_dict() for side in ("left", "right")]}

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Refuse one text in both fields."""
        tidy = {name: text.strip() for name, text in answer.model_dump().items()}
        if tidy["same"] == tidy["different"]:
            return tidy, [FieldError("different", "is the same text; write what differs")]
        return tidy, []

    def records(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Record]:
        """Return a likeness of both photos, and a difference."""
        both = (unit["left"], unit["right"])
        different = {"text": answer["different"], "words": len(answer["different"].split())}
        return [
            Record("likeness", 1, both, {"text": answer["same"]}),
            Record("difference", 2, both, different),
        ]


KIND = TwoPhotos()
