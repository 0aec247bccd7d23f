"""Qualify by pairs about three photos, which people grade (Hessel et al. 2022 §A.1)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, field_validator

from hits.domain.answers.choice_questions import (
    MAX_QUESTIONS,
    Choice,
    ChoiceQuestion,
    check_question_ids,
    clean_choices,
    questions_for_page,
    score_choices,
)
from hits.domain.answers.exam import ExamRule, ExamScore, GradableItem
from hits.domain.answers.text import MAX_CLUE, MAX_INFERENCE
from hits.domain.states import Purpose
from hits.hints.card import Card, HintRule
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema
from hits.observing import kind as observing
from hits.observing.pairs import Confidence

PHOTOS = 3
PAIRS = 3
MAX_DESCRIPTION = 400
MAX_SENTENCES = 2
# A full stop after three letters or fewer may end an abbreviation (Mr., p.m., St.), so it is not counted. A low
# count does no harm.
_SENTENCE_END_PATTERN = re.compile(r"(?:[.!?…]*[!?…][.!?…]*|(?<=[^\W_]{4})\.+|(?<=\d)\.+)(?=[\"'”’)]*\s+\S)")
# The page has cards of different photos and no boxes, so rules that compare cards and rules about boxes do not apply.
HINT_RULES = tuple(
    rule
    for rule in observing.HINT_RULES
    if rule in {HintRule.PROFANITY, HintRule.PRONOUN, HintRule.REPEATS_CLUE, HintRule.CAPTION_LIKE}
)


class Unit(Schema):
    """Three images, and questions if the researcher adds an exam."""

    images: list[int] = Field(min_length=PHOTOS, max_length=PHOTOS)
    questions: list[ChoiceQuestion] = Field(default_factory=list, max_length=MAX_QUESTIONS)

    @field_validator("images")
    @classmethod
    def _check_images(cls, images: list[int]) -> list[int]:
        if len(set(images)) != len(images):
            raise ValueError("an image occurs twice: choose three different ones")
        return images

    @field_validator("questions")
    @classmethod
    def _check_question_ids(cls, questions: list[ChoiceQuestion]) -> list[ChoiceQuestion]:
        check_question_ids(questions)
        return questions


class Pair(Schema):
    """Clue, inference, confidence. No boxes: workers learn to draw them in training."""

    clue: str = Field(max_length=65_536)
    inference: str = Field(max_length=65_536)
    confidence: int = Field(ge=Confidence.POSSIBLE, le=Confidence.CERTAIN)


class PhotoAnswer(Schema):
    """The description and the pairs of one photo."""

    image: int
    description: str = Field(max_length=65_536)
    pairs: list[Pair] = Field(min_length=PAIRS, max_length=PAIRS)


class Answer(Schema):
    """All three photos, and every question of the exam."""

    images: list[PhotoAnswer] = Field(max_length=2 * PHOTOS)
    exam: list[Choice] = Field(default_factory=list, max_length=2 * MAX_QUESTIONS)


class SherlockQualification(HitKind):
    """Nine pairs about three photos, graded by people: eight reasonable pairs qualify in the paper."""

    name: ClassVar[str] = "sherlock_qualification"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Qualify: write what three photos let you work out"
    description: ClassVar[str] = (
        "Write three clues for each of three photos, and what they tell you. Good answers lead to training."
    )
    keywords: ClassVar[str] = "photo, image, clue, reasoning, writing, qualification"
    paper: ClassVar[str] = "Hessel et al. 2022 §A.1"
    purpose: ClassVar[Purpose] = Purpose.QUALIFYING
    reward_cents: ClassVar[int] = 200
    redundancy: ClassVar[int] = 9
    expected_seconds: ClassVar[int] = 480
    duration_seconds: ClassVar[int] = 45 * 60
    hint_rules: ClassVar[tuple[HintRule, ...]] = HINT_RULES
    exam_rule: ClassVar[ExamRule] = ExamRule(items=PHOTOS * PAIRS, needed=8, photos=PHOTOS)
    record_word: ClassVar[tuple[str, str]] = ("pair", "pairs")
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "the umbrella *by the door* · “There is an umbrella in the hall.”",
            "good": "the puddle *under the umbrella by the door* · “Somebody came in from the rain a few minutes "
            "ago.” · certain",
            "why": "anybody can see the umbrella, so the first text is a caption and not an inference. The puddle "
            "tells what happened before: the umbrella still drips, so it was used just now.",
            "picture": "sherlock_qualification/hall.svg",
            "alt": "A drawing of a hall: a closed umbrella leans beside the door in a puddle of its own, one coat "
            "hangs on a hook, and a letter lies on the mat.",
        },
        {
            "weak": "the full cup *on the café table* · “The two guests will never speak to each other again.”",
            "good": "the coat *over the chair by the full cup* · “The guest who sits here has only stepped away for "
            "a moment.” · likely",
            "why": "nothing in the picture suggests a quarrel, so nobody would agree with the first text. Somebody "
            "who leaves a coat and hot coffee behind means to be back soon. A reasonable thought needs no proof.",
            "picture": "sherlock_qualification/table.svg",
            "alt": "A drawing of a café table with two chairs: on the left a steaming cup, and a red coat over the "
            "empty chair; on the right a cup that has been drunk up. A phone lies between them, its screen lit.",
        },
    )
    unit_word: ClassVar[tuple[str, str]] = ("set of photos", "sets of photos")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer

    def image_ids(self, unit: Payload) -> list[int]:
        """Return the three images' ids in the order of the page."""
        return list(unit["images"])

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return photos, questions without their right choice, and limits."""
        return {
            "photos": [images[image].as_page_dict() for image in unit["images"]],
            "pairs": list(range(1, PAIRS + 1)),
            "questions": questions_for_page(unit["questions"]),
            "limits": {
                "description": MAX_DESCRIPTION,
                "sentences": MAX_SENTENCES,
                "clue": MAX_CLUE,
                "inference": MAX_INFERENCE,
            },
        }

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Check photos, texts and questions; return the normalized answer, in the unit's order, and its problems."""
        assert isinstance(answer, Answer)
        photos, errors = _clean_photos(unit["images"], answer.images)
        exam, more = clean_choices(unit["questions"], answer.exam)
        return {"images": photos, "exam": exam}, errors + more

    def gradable_items(self, unit: Payload, answer: Payload) -> list[GradableItem]:
        """Return all nine pairs, photo by photo."""
        return [
            GradableItem(
                item=PAIRS * position + number - 1,
                image=photo["image"],
                number=number,
                texts=(("I spy", pair["clue"]), ("It might indicate that", pair["inference"])),
                note=Confidence(pair["confidence"]).name.lower(),
                note_label="Confidence",
                caption=("Worker’s description", photo["description"]),
                question="Is this a reasonable inference from the clue?",
            )
            for position, photo in enumerate(answer["images"])
            for number, pair in enumerate(photo["pairs"], start=1)
        ]

    def exam_score(self, unit: Payload, answer: Payload) -> ExamScore:
        """Return how many of the unit's questions were answered correctly."""
        return score_choices(unit["questions"], answer["exam"])

    def hint_cards(self, unit: Payload, images: ImagesById, draft: Payload) -> list[Card]:
        """Return the draft's pairs, numbered 1 to 9 over the photos."""
        rows = draft.get("images")
        return [
            Card(PAIRS * unit["images"].index(row["image"]) + number, *_draft_texts(pair))
            for row in (rows[:PHOTOS] if isinstance(rows, list) else ())
            if isinstance(row, dict) and row.get("image") in unit["images"]
            for number, pair in enumerate(_draft_pairs(row), start=1)
            if isinstance(pair, dict)
        ]


def count_sentences(text: str) -> int:
    """Return the number of sentences in a normalized text; abbreviations may make it too low, never too high."""
    return len(_SENTENCE_END_PATTERN.findall(text)) + 1 if text else 0


def _clean_photos(
    image_ids: Sequence[int], photos: Sequence[PhotoAnswer]
) -> tuple[list[dict[str, Any]], list[FieldError]]:
    errors = []
    checked: dict[int, dict[str, Any]] = {}
    for position, photo in enumerate(photos):
        path = f"images[{position}]"
        if photo.image not in image_ids:
            errors.append(FieldError(f"{path}.image", "is not one of this task's photos"))
        elif photo.image in checked:
            errors.append(FieldError(f"{path}.image", "occurs twice: write about each photo once"))
        else:
            checked[photo.image], found = _clean_photo(photo, path, image_ids.index(photo.image) + 1)
            errors += found
    missing = [str(number) for number, image in enumerate(image_ids, start=1) if image not in checked]
    if missing:
        errors.append(
            FieldError("images", f"photo {', '.join(missing)} is missing: write about all {PHOTOS}")
        )
    return [checked[image] for image in image_ids if image in checked], errors


def _clean_photo(photo: PhotoAnswer, path: str, number: int) -> tuple[dict[str, Any], list[FieldError]]:
    description, errors = observing.clean_required_line(
        photo.description,
        maximum=MAX_DESCRIPTION,
        path=f"{path}.description",
        missing_message=f"photo {number} needs a description of one or two sentences",
    )
    if count_sentences(description) > MAX_SENTENCES:
        message = f"has {count_sentences(description)} sentences: use one or two"
        errors.append(FieldError(f"{path}.description", message))
    pairs = []
    for index, pair in enumerate(photo.pairs):
        row: dict[str, Any] = {"confidence": pair.confidence}
        for field, maximum, label in (
            ("clue", MAX_CLUE, "a clue"),
            ("inference", MAX_INFERENCE, "an inference"),
        ):
            row[field], found = observing.clean_required_line(
                getattr(pair, field),
                maximum=maximum,
                path=f"{path}.pairs[{index}].{field}",
                missing_message=f"pair {index + 1} of photo {number} needs {label}",
            )
            errors += found
        pairs.append(row)
    return {"image": photo.image, "description": description, "pairs": pairs}, errors


def _draft_pairs(row: Payload) -> list[Any]:
    pairs = row.get("pairs")
    return pairs[:PAIRS] if isinstance(pairs, list) else []


def _draft_texts(pair: Payload) -> tuple[str, str]:
    return observing.drafted_text(pair, "clue"), observing.drafted_text(pair, "inference")


KIND = SherlockQualification()
