"""Choose one of four responses to a question about an image (Zellers et al. 2019 §6; appendix C for pilots)."""

from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.images.image_facts import ImageFacts
from hits.domain.images.objects_unit import object_marks
from hits.domain.images.unit_objects import MAX_OBJECTS, UnitObject, check_unit_text, object_names
from hits.domain.states import Purpose
from hits.domain.tagged_text import TaggedText, display_text, dump_segments
from hits.kind import FieldError, HitKind, Schema

CHOICES = 4
RATIONALE = "rationale"
# Williams' square: over its four rows, each choice stands once at each position, and once before each other choice.
ORDERS = ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))
_SEVERAL_MESSAGE = "this task asks for one choice: leave the tick out"


class Choice(Schema):
    """One response, and the record that it was written for."""

    text: TaggedText
    record: str = Field(min_length=1, max_length=64)


class Unit(Schema):
    """One stage of a question; ``label`` and the records never reach the page.

    ``triplet`` is the record of the question. Both stages of a question have it, so they go to different people.
    """

    item: str = Field(min_length=1, max_length=64)
    triplet: str = Field(min_length=1, max_length=64)
    stage: Literal["answer", "rationale"]
    image: int
    objects: list[UnitObject] = Field(max_length=MAX_OBJECTS)
    question: TaggedText
    answer: TaggedText | None = Field(default=None, validate_default=True)
    choices: list[Choice] = Field(min_length=CHOICES, max_length=CHOICES)
    label: int = Field(ge=0, lt=CHOICES)
    several_allowed: bool = False

    @field_validator("question", "answer")
    @classmethod
    def _check_text(cls, text: TaggedText | None, info: ValidationInfo) -> TaggedText | None:
        if text is not None and "objects" in info.data:
            check_unit_text(dump_segments(text), info.data["objects"])
        return text

    @field_validator("answer")
    @classmethod
    def _check_stage(cls, text: TaggedText | None, info: ValidationInfo) -> TaggedText | None:
        if (text is None) == (info.data.get("stage") == RATIONALE):
            raise ValueError("give the right answer in the stage rationale, and none in the stage answer")
        return text

    @field_validator("choices")
    @classmethod
    def _check_choices(cls, choices: list[Choice], info: ValidationInfo) -> list[Choice]:
        for number, choice in enumerate(choices if "objects" in info.data else [], start=1):
            try:
                check_unit_text(dump_segments(choice.text), info.data["objects"])
            except ValueError as error:
                raise ValueError(f"choice {number}: {error}") from error
        return choices


class Answer(Schema):
    """The index of the chosen response in the unit, and whether another one is right, too."""

    choice: int = Field(ge=0, lt=CHOICES)
    several: bool = False


class VcrChoice(HitKind):
    """Five people choose one of four answers, or of four rationales."""

    name: ClassVar[str] = "vcr_choice"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Choose the right one of four answers about a photo"
    description: ClassVar[str] = "Look at a photo, read a question about it, and choose one of four answers."
    keywords: ClassVar[str] = "photo, image, question, multiple choice, reasoning"
    paper: ClassVar[str] = "Zellers et al. 2019 §6, §C"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    launches_from_units: ClassVar[bool] = True
    scope_field: ClassVar[str] = "triplet"
    # A description of the photo, written by people, could give the answer away.
    page_facts: ClassVar[frozenset[str]] = frozenset({"credit"})
    reward_cents: ClassVar[int] = 10
    redundancy: ClassVar[int] = 5
    arms: ClassVar[int] = len(ORDERS)
    expected_seconds: ClassVar[int] = 30
    duration_seconds: ClassVar[int] = 10 * 60
    unit_word: ClassVar[tuple[str, str]] = ("question", "questions")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "“*person 1* wants to paint the wall.” · “They have just met.” · “*person 2* is looking for the "
            "*umbrella 3*.”",
            "good": "“*person 1* keeps *person 2* dry.”",
            "why": "the question is “Why does *person 1* hold the *umbrella 3* so far to the right?” All four are "
            "sentences that somebody wrote. Only one of them fits this photo and this question.",
            "picture": "vcr_choice/example.svg",
            "alt": "A drawing with three numbered boxes: rain falls; person 1 stands half in the rain and holds "
            "umbrella 3 over person 2.",
        },
    )

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the one image's id."""
        return [unit["image"]]

    def unit_for_page(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return image, objects, question and the choices in the order of the arm; neither label nor records."""
        return {
            "image": images[unit["image"]].as_page_dict(),
            "objects": unit["objects"],
            "stage": unit["stage"],
            "question": unit["question"],
            "answer": unit["answer"],
            "choices": [
                {"index": index, "text": unit["choices"][index]["text"]}
                for index in _page_order(unit, seed, arm)
            ],
            "several_allowed": unit["several_allowed"],
        }

    def shown(self, unit: Mapping[str, Any], seed: str, arm: int | None = None) -> dict[str, Any]:
        """Return ``{"order": [...]}``: the indices of the choices from top to bottom."""
        return {"order": _page_order(unit, seed, arm)}

    def marks(self, unit: Mapping[str, Any], answer: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the numbered boxes of the objects."""
        return object_marks(unit)

    def evidence(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the choices for staff, with the right one and the chosen one marked."""
        return {
            "objects": object_names(unit["objects"]),
            "choices": [
                {
                    "text": row["text"],
                    "is_right": index == unit["label"],
                    "is_chosen": index == answer["choice"],
                }
                for index, row in enumerate(unit["choices"])
            ],
            "several": answer.get("several"),
        }

    def answer_rows(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[EvidenceRow]:
        """Return the chosen text, and whether another choice is right, too."""
        names = object_names(unit["objects"])
        chosen = EvidenceRow("Choice", display_text(unit["choices"][answer["choice"]]["text"], names))
        if not unit["several_allowed"]:
            return [chosen]
        return [chosen, EvidenceRow("Another choice is right, too", "yes" if answer["several"] else "no")]

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Refuse a tick that the unit does not offer; an answer has ``several`` only where it was asked."""
        assert isinstance(answer, Answer)
        if unit["several_allowed"]:
            return answer.model_dump(), []
        errors = [FieldError("several", _SEVERAL_MESSAGE)] if answer.several else []
        return {"choice": answer.choice}, errors


def _page_order(unit: Mapping[str, Any], seed: str, arm: int | None) -> list[int]:
    """Return the indices of the choices in the order of an arm.

    The first order is drawn from the item's id, which says nothing about the label; the arms are the rows of a Latin
    square over it. Attempts without an arm have an order of their own.
    """
    first = list(range(CHOICES))
    Random(seed if arm is None else f"item {unit['item']}").shuffle(first)  # noqa: S311 - an order, no secret
    return [first[position] for position in ORDERS[(arm or 0) % len(ORDERS)]]


KIND = VcrChoice()
