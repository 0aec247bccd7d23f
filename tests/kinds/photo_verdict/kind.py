"""Judge a difference: one choice without an order, any number of faults, and a reason in one's own words."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import HitKind, Schema


class Unit(Schema):
    """One photo and the difference that somebody saw on it."""

    item: str = Field(min_length=1, max_length=64)
    image: int
    text: str = Field(min_length=1, max_length=200)


class Answer(Schema):
    """A choice, faults, and why."""

    about: Literal["people", "things", "place"]
    faults: list[Literal["vague", "wrong", "rude"]] = Field(max_length=3)
    why: str = Field(min_length=1, max_length=200)


class PhotoVerdict(HitKind):
    """Two workers judge a text about a photo."""

    name: ClassVar[str] = "photo_verdict"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Judge a text about a photo"
    description: ClassVar[str] = "Say what a text is about, and what is wrong with it."
    keywords: ClassVar[str] = "photo"
    paper: ClassVar[str] = "No paper: a kind of the tests"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    launches_from_units: ClassVar[bool] = True
    reward_cents: ClassVar[int] = 30
    redundancy: ClassVar[int] = 2
    expected_seconds: ClassVar[int] = 40
    unit_word: ClassVar[tuple[str, str]] = ("text", "texts")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the image."""
        return [unit["image"]]

    def unit_for_page(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return photo and text."""
        return {"images": [images[unit["image"]].as_page_dict()], "text": unit["text"]}


KIND = PhotoVerdict()
