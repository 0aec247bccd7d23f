"""Say how interesting images are: whether one could ask good questions about them (Zellers et al. 2019 §B.2)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, field_validator

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.hashing import content_sha256
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import FieldError, HitKind, Schema

IMAGES_PER_UNIT = 20
SET_ID_LENGTH = 16
VERDICT_TEXTS: Mapping[int, str] = {-1: "boring", 0: "okay", 1: "interesting"}


class Unit(Schema):
    """A set of images, each judged by itself."""

    set: str = Field(min_length=1, max_length=64)
    images: list[int] = Field(min_length=1, max_length=IMAGES_PER_UNIT)

    @field_validator("images")
    @classmethod
    def _check_distinct(cls, images: list[int]) -> list[int]:
        if len(set(images)) != len(images):
            raise ValueError("an image occurs twice: list each once")
        return images


class ImageVerdict(Schema):
    """The verdict on one image: 1 interesting, 0 okay, -1 boring."""

    image: int
    verdict: int = Field(ge=-1, le=1)


class Answer(Schema):
    """A verdict on every image."""

    verdicts: list[ImageVerdict] = Field(max_length=10 * IMAGES_PER_UNIT)


class ImageInterest(HitKind):
    """Three workers say of each of twenty images whether it is interesting."""

    name: ClassVar[str] = "image_interest"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Say how interesting twenty photos are"
    description: ClassVar[str] = (
        "Look at up to twenty photos, and say of each whether one could ask good questions about it."
    )
    keywords: ClassVar[str] = "photo, image, film, rating, interesting"
    paper: ClassVar[str] = "Zellers et al. 2019 §B.2"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    launches_from_units: ClassVar[bool] = True
    reward_cents: ClassVar[int] = 14
    redundancy: ClassVar[int] = 3
    expected_seconds: ClassVar[int] = 40
    duration_seconds: ClassVar[int] = 15 * 60
    unit_word: ClassVar[tuple[str, str]] = ("set of photos", "sets of photos")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "good": "interesting",
            "why": "somebody holds out a parcel, and the other person steps back. What is in it, why does she not "
            "take it, what will he do now? The picture gives reasons for an answer.",
            "picture": "image_interest/interesting.svg",
            "alt": "A drawing of a doorway: a man holds out a parcel, a woman lifts both hands and steps back, and a "
            "child watches from behind the stairs.",
        },
        {
            "good": "boring",
            "why": "two people are in the picture, but nothing happens. Every question about them would be a guess.",
            "picture": "image_interest/boring.svg",
            "alt": "A drawing of two faces from close by, before a plain wall.",
        },
    )

    @property
    def takes_photos(self) -> bool:
        """Photos are judged in sets."""
        return True

    def plan_units(self, photos: Sequence[int]) -> list[dict[str, Any]]:
        """Return the photos in sets of twenty, in order; the last set may be smaller."""
        starts = range(0, len(photos), IMAGES_PER_UNIT)
        sets = [list(photos[start : start + IMAGES_PER_UNIT]) for start in starts]
        return [{"set": content_sha256(images)[:SET_ID_LENGTH], "images": images} for images in sets]

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the images' ids."""
        return list(unit["images"])

    def unit_for_page(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the images in the unit's order."""
        return {"images": [images[image].as_page_dict() for image in unit["images"]]}

    def unit_rows(self, unit: Mapping[str, Any]) -> list[EvidenceRow]:
        """Return nothing: a unit has only images."""
        return []

    def answer_rows(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[EvidenceRow]:
        """Return the verdict on each image."""
        numbers = {image: number for number, image in enumerate(unit["images"], start=1)}
        return [
            EvidenceRow(f"Photo {numbers[row['image']]}", VERDICT_TEXTS[row["verdict"]])
            for row in answer["verdicts"]
            if row["image"] in numbers
        ]

    def evidence(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the verdicts as texts, each with its image's id."""
        rows = answer.get("verdicts", ())
        return {"verdicts": [{"image": row["image"], "text": VERDICT_TEXTS[row["verdict"]]} for row in rows]}

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Require each image exactly once; return the verdicts in the unit's order."""
        assert isinstance(answer, Answer)
        given = {row.image: row.verdict for row in answer.verdicts}
        ordered = [{"image": image, "verdict": given[image]} for image in unit["images"] if image in given]
        return {"verdicts": ordered}, _find_errors(unit["images"], [row.image for row in answer.verdicts])


def _find_errors(required: Sequence[int], judged: Sequence[int]) -> list[FieldError]:
    errors = [
        FieldError(f"verdicts[{position}].image", f"image {image} is not part of this task")
        for position, image in enumerate(judged)
        if image not in required
    ]
    counts = Counter(judged)
    missing = sum(image not in counts for image in required)
    if missing:
        errors.append(
            FieldError("verdicts", f"{missing} of {len(required)} photos have no verdict: judge every one")
        )
    errors += [
        FieldError("verdicts", f"image {image} is judged {counts[image]} times: judge it once")
        for image in required
        if counts[image] > 1
    ]
    return errors


KIND = ImageInterest()
