"""Learn to write observations: a collecting task that a trainer answers (Sherlock; paper 000 A.1, paper 001 A.1)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hits import observing
from hits.domain.facts import ImageFacts
from hits.domain.observation import ObservationPair
from hits.domain.states import Purpose
from hits.hints.card import Card, Rule
from hits.kind import FieldError, HitKind, Schema

REQUIRED = 3


class SherlockTraining(HitKind):
    """Three observations about one photo, as in the collecting task; kept for the trainer, in no dataset."""

    name: ClassVar[str] = "sherlock_training"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Training: write observations about one photo"
    description: ClassVar[str] = (
        "Learn the task on one photo: find three clues, box them, and say what they tell you. A trainer answers."
    )
    keywords: ClassVar[str] = "photo, image, clue, reasoning, writing, boxes, training"
    paper: ClassVar[str] = "Sherlock: paper 000 A.1; paper 001 A.1"
    purpose: ClassVar[Purpose] = Purpose.TRAINING
    reward_cents: ClassVar[int] = 190
    assignments_per_hit: ClassVar[int] = 9
    usual_seconds: ClassVar[int] = 450
    duration_seconds: ClassVar[int] = 45 * 60
    hint_rules: ClassVar[tuple[Rule, ...]] = observing.HINT_RULES
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "the pan · “Somebody is cooking.”",
            "good": "the pan *boiling over on the lit stove*, and the receiver *off its hook* · “A telephone call "
            "took the cook away from the stove in a hurry.” · likely",
            "why": "that somebody cooks is in the picture. Two things together, each in a box of its own, tell what "
            "happened just before.",
            "picture": "sherlock_training/example.svg",
            "alt": "A drawing of a kitchen: a pan boils over on a lit stove, in a box with the label 1a; the "
            "receiver of the wall telephone hangs by its cord, in a box with the label 1b.",
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
        """Return the image and three cards, none of them for a bonus."""
        return observing.page_unit(images[unit["image"]], required=REQUIRED, maximum=REQUIRED)

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Check numbers, texts and boxes; return the tidied answer and what is wrong."""
        assert isinstance(answer, observing.Answer)
        image = images[unit["image"]]
        return observing.check_observations(answer, image, required=REQUIRED, maximum=REQUIRED)

    def hint_cards(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], draft: Mapping[str, Any]
    ) -> list[Card]:
        """Return the cards as they stand."""
        return observing.hint_cards(draft, images[unit["image"]])

    def observations(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[ObservationPair]:
        """Return the answer's pairs, as the trainer sees them; the purpose keeps them out of every dataset."""
        return observing.pairs_of(answer, required=REQUIRED)


KIND = SherlockTraining()
