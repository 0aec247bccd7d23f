"""Review another worker's submission and write advice to its author (Zellers et al. 2019 §B.3)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.answers.triplets import MAX_TRIPLETS, TRIPLET_TEXTS, WrittenTriplet
from hits.domain.images.image_facts import ImageFacts
from hits.domain.images.objects_unit import ObjectsUnit, object_marks, objects_for_page
from hits.domain.images.unit_objects import check_unit_text, object_names
from hits.domain.states import Purpose
from hits.domain.tagged_text import display_text
from hits.kind import FieldError, HitKind, Schema
from validation.kinds.work_review.advice import MAX_CHARACTERS, MAX_SENTENCES, MIN_WORDS, clean_advice
from validation.kinds.work_review.scales import (
    ANSWER_TEXTS,
    OVERALL_TEXTS,
    QUESTION_TEXTS,
    RATIONALE_TEXTS,
    TAGS_TEXTS,
    AnswerVerdict,
    Overall,
    QuestionVerdict,
    RationaleVerdict,
    TagsVerdict,
)


class Triplet(WrittenTriplet):
    """One question with answer and rationale, and the record that it is."""

    record: str = Field(min_length=1, max_length=64)


class Unit(ObjectsUnit):
    """A snapshot of one submission: what its author saw, and what the author wrote."""

    submission: str = Field(min_length=1, max_length=64)
    triplets: list[Triplet] = Field(min_length=1, max_length=MAX_TRIPLETS)

    @field_validator("triplets")
    @classmethod
    def _check_texts(cls, triplets: list[Triplet], info: ValidationInfo) -> list[Triplet]:
        for number, triplet in enumerate(triplets if "objects" in info.data else [], start=1):
            for name, text in triplet.texts().items():
                try:
                    check_unit_text(text, info.data["objects"])
                except ValueError as error:
                    raise ValueError(f"triplet {number}, {name}: {error}") from error
        return triplets


class TripletReview(Schema):
    """Four labels of one triplet; ``triplet`` is its number in the unit, from 1."""

    triplet: int = Field(ge=1, le=MAX_TRIPLETS)
    question: QuestionVerdict = Field(strict=False)
    answer: AnswerVerdict = Field(strict=False)
    rationale: RationaleVerdict = Field(strict=False)
    tags: TagsVerdict = Field(strict=False)


class Answer(Schema):
    """The review of every triplet, advice to the author, and what should become of the work."""

    triplets: list[TripletReview] = Field(max_length=10 * MAX_TRIPLETS)
    advice: str = Field(max_length=10 * MAX_CHARACTERS)
    overall: Overall = Field(strict=False)


class WorkReview(HitKind):
    """An experienced worker reviews one submission of another one."""

    name: ClassVar[str] = "work_review"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Review another person's questions about a photo, and advise them"
    description: ClassVar[str] = (
        "Read the questions, answers and reasons that another person wrote about a photo. "
        "Judge them, and write advice that this person reads."
    )
    keywords: ClassVar[str] = "photo, image, review, advice, question, reasoning"
    paper: ClassVar[str] = "Zellers et al. 2019 §B.3"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    reward_cents: ClassVar[int] = 40
    redundancy: ClassVar[int] = 1
    expected_seconds: ClassVar[int] = 115
    duration_seconds: ClassVar[int] = 30 * 60
    unit_word: ClassVar[tuple[str, str]] = ("submission", "submissions")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "“Good work, keep going, I like your questions a lot.”",
            "good": "“In your second reason you repeat the answer. Say what in the photo shows that *person 2* "
            "waits, such as the packed *suitcase 3*.”",
            "why": "praise helps nobody to write the next question. Good advice names the text, what it lacks, and "
            "what would mend it.",
        },
        {
            "weak": "The question “What is *person 1* wearing?” judged as **good**.",
            "good": "The same question judged as **too plain**, since a look is enough to answer it. “What does "
            "*person 1* do?” is **too generic**: it could stand below any photo. “What did *person 1* eat "
            "yesterday?” **cannot be told from the picture**.",
            "why": "the author learns from the difference.",
        },
    )

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the one image's id."""
        return [unit["image"]]

    def unit_for_page(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return what the author saw and wrote; neither the submission's id nor the records."""
        return {
            **objects_for_page(unit, images),
            "triplets": [
                {
                    "number": number,
                    "likelihood": row["likelihood"],
                    **{name: row[name] for name in TRIPLET_TEXTS},
                }
                for number, row in enumerate(unit["triplets"], start=1)
            ],
            "limits": {"words": MIN_WORDS, "sentences": MAX_SENTENCES, "characters": MAX_CHARACTERS},
        }

    def marks(self, unit: Mapping[str, Any], answer: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the numbered boxes of the objects."""
        return object_marks(unit)

    def evidence(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return each triplet with its labels as people read them."""
        reviews = {row["triplet"]: row for row in answer["triplets"]}
        return {
            "objects": object_names(unit["objects"]),
            "triplets": [
                {"texts": row, "labels": _describe_review(reviews[number])}
                for number, row in enumerate(unit["triplets"], start=1)
                if number in reviews
            ],
            "overall": OVERALL_TEXTS[Overall(answer["overall"])],
        }

    def answer_rows(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[EvidenceRow]:
        """Return the labels of each question, the advice and the verdict."""
        names = object_names(unit["objects"])
        questions = {
            number: display_text(row["question"], names)
            for number, row in enumerate(unit["triplets"], start=1)
        }
        rows = [
            EvidenceRow(questions.get(row["triplet"], ""), "; ".join(_describe_review(row)))
            for row in answer["triplets"]
        ]
        overall = OVERALL_TEXTS[Overall(answer["overall"])]
        return [*rows, EvidenceRow("Advice", answer["advice"]), EvidenceRow("Overall", overall)]

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Require a review of every triplet, once, and advice of the required length."""
        assert isinstance(answer, Answer)
        count = len(unit["triplets"])
        given = {row.triplet: row.model_dump(mode="json") for row in answer.triplets}
        errors = []
        if sorted(row.triplet for row in answer.triplets) != list(range(1, count + 1)):
            errors.append(FieldError("triplets", f"judge each of the {count} questions once"))
        advice, problem = clean_advice(answer.advice)
        if problem:
            errors.append(FieldError("advice", problem))
        normalized = {
            "triplets": [given[number] for number in sorted(given)],
            "advice": advice,
            "overall": answer.overall.value,
        }
        return normalized, errors


def _describe_review(row: Mapping[str, Any]) -> list[str]:
    return [
        f"Question: {QUESTION_TEXTS[QuestionVerdict(row['question'])]}",
        f"Answer: {ANSWER_TEXTS[AnswerVerdict(row['answer'])]}",
        f"Reason: {RATIONALE_TEXTS[RationaleVerdict(row['rationale'])]}",
        f"Objects: {TAGS_TEXTS[TagsVerdict(row['tags'])]}",
    ]


KIND = WorkReview()
