"""Pick one of three words, shown in one of three orders; each worker may open it only once."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import FieldError, HitKind, Schema


class Unit(Schema):
    """Three words."""

    words: list[str] = Field(min_length=3, max_length=3)


class Answer(Schema):
    """One of them."""

    pick: str


class ThreeOrders(HitKind):
    """Three workers pick a word, each from another order."""

    name: ClassVar[str] = "three_orders"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Pick a word"
    description: ClassVar[str] = "Pick one of three words."
    keywords: ClassVar[str] = "words"
    paper: ClassVar[str] = "No paper: a kind of the tests"
    purpose: ClassVar[Purpose] = Purpose.COLLECTING
    launches_from_units: ClassVar[bool] = True
    reward_cents: ClassVar[int] = 20
    redundancy: ClassVar[int] = 3
    expected_seconds: ClassVar[int] = 20
    arms: ClassVar[int] = 3
    is_single_attempt: ClassVar[bool] = True
    unit_word: ClassVar[tuple[str, str]] = ("triple of words", "triples of words")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return nothing: words have no image."""
        return []

    def unit_for_page(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the words in the arm's order."""
        return {"words": _turned(unit["words"], arm)}

    def shown(self, unit: Mapping[str, Any], seed: str, arm: int | None = None) -> dict[str, Any]:
        """Return the words in the arm's order."""
        return {"words": _turned(unit["words"], arm)}

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Refuse a word that was not shown."""
        tidy = answer.model_dump()
        known = tidy["pick"] in unit["words"]
        return tidy, [] if known else [FieldError("pick", "is none of the three words; write one of them")]


def _turned(words: list[str], arm: int | None) -> list[str]:
    first = arm or 0
    return words[first:] + words[:first]


KIND = ThreeOrders()
