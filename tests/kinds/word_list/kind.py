"""Write two words that belong to a topic: no image at all."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from hits.domain.answers.records import Record
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import HitKind, Schema


class Unit(Schema):
    """A topic."""

    topic: str = Field(min_length=1, max_length=80)


class Answer(Schema):
    """Two words."""

    first: str = Field(min_length=1, max_length=40)
    second: str = Field(min_length=1, max_length=40)


class Word(Schema):
    """A word and the topic that it belongs to."""

    topic: str
    word: str


class WordList(HitKind):
    """One worker writes two words."""

    name: ClassVar[str] = "word_list"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Write two words"
    description: ClassVar[str] = "Write two words that belong to a topic."
    keywords: ClassVar[str] = "words"
    paper: ClassVar[str] = "No paper: a kind of the tests"
    purpose: ClassVar[Purpose] = Purpose.COLLECTING
    launches_from_units: ClassVar[bool] = True
    reward_cents: ClassVar[int] = 20
    expected_seconds: ClassVar[int] = 40
    unit_word: ClassVar[tuple[str, str]] = ("topic", "topics")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    record_types: ClassVar[Mapping[str, type[Schema]]] = {"word": Word}

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return nothing: a topic has no image."""
        return []

    def unit_for_page(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the topic."""
        return {"topic": unit["topic"]}

    def records(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Record]:
        """Return each word."""
        return [
            Record("word", index, fields={"topic": unit["topic"], "word": answer[name]})
            for index, name in enumerate(("first", "second"), start=1)
        ]


KIND = WordList()
