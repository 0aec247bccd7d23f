"""Write observations about one photo (Sherlock; paper 000 §3.1 and A.2, paper 001 A.2)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hits import observing
from hits.domain.facts import ImageFacts
from hits.domain.observation import ObservationPair
from hits.domain.states import Purpose
from hits.hints.card import Card, Rule
from hits.kind import FieldError, HitKind, Schema

REQUIRED = 3
MAXIMUM = 5


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
    hint_rules: ClassVar[tuple[Rule, ...]] = observing.HINT_RULES
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "the book · “There is a book on the bed.”",
            "good": "the book *at the edge of the unmade bed* · "
            "“Someone broke off reading and means to be back soon.” · likely",
            "why": "anybody can see the book. That the lamp still burns and the blanket is thrown back tells what "
            "happened just before the picture, and nobody sees that.",
            "picture": "sherlock_observation/example.svg",
            "alt": "A drawing of a bedroom at night: the blanket of an unmade bed is thrown back, a book lies at its "
            "edge in a box with the number 1, and the lamp beside it still burns.",
        },
    )
    Unit: ClassVar[type[Schema]] = observing.Unit
    Answer: ClassVar[type[Schema]] = observing.Answer

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the one image's id."""
        return [unit["image"]]

    def page_unit(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str
    ) -> dict[str, Any]:
        """Return the image and how many observations are wanted."""
        return observing.page_unit(images[unit["image"]], required=REQUIRED, maximum=MAXIMUM)

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Check numbers, texts and boxes; return the tidied answer and what is wrong."""
        assert isinstance(answer, observing.Answer)
        image = images[unit["image"]]
        return observing.check_observations(answer, image, required=REQUIRED, maximum=MAXIMUM)

    def hint_cards(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], draft: Mapping[str, Any]
    ) -> list[Card]:
        """Return the cards as they stand."""
        return observing.hint_cards(draft, images[unit["image"]])

    def bonus_items(self, answer: Mapping[str, Any]) -> int:
        """Return how many of observations 4 and 5 were written; they are complete or refused."""
        return sum(item["index"] > REQUIRED for item in answer["observations"])

    def observations(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[ObservationPair]:
        """Return the answer's pairs in the order of their numbers."""
        return observing.pairs_of(answer, required=REQUIRED)


KIND = SherlockObservation()
