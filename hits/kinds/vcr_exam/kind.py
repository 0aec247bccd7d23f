"""Qualify for writing questions: an exam, and one question with answer and reason (Zellers et al. 2019 §B.3)."""

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
from hits.domain.answers.evidence import EvidenceRow
from hits.domain.answers.exam import ExamRule, ExamScore, GradableItem
from hits.domain.answers.triplets import (
    WrittenTriplet,
    clean_triplet,
    count_missing_mentions,
    describe_missing_mentions,
    display_triplet,
    page_limits,
    triplet_row,
)
from hits.domain.images.objects_unit import OTHER_OBJECTS_MESSAGE, ObjectsUnit, object_marks, objects_for_page
from hits.domain.images.unit_objects import object_names
from hits.domain.states import Purpose
from hits.hints.card import Hint, HintRule
from hits.hints.triplet_drafts import read_triplet_card, read_triplet_page
from hits.hints.triplets import TRIPLET_RULES, find_triplet_hints
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema
from hits.kinds.vcr_exam.questions import DRAWINGS, QUESTIONS

PASS_SHARE = 0.8


class Question(ChoiceQuestion):
    """One exam question, perhaps about a drawing of this kind."""

    picture: str = Field(default="", pattern=rf"^(?:{'|'.join(DRAWINGS)})?$")


class Unit(ObjectsUnit):
    """One image with its objects, to write about, and the exam's questions."""

    questions: list[Question] = Field(default_factory=list, max_length=MAX_QUESTIONS)

    @field_validator("questions")
    @classmethod
    def _check_question_ids(cls, questions: list[Question]) -> list[Question]:
        check_question_ids(questions)
        return questions


class Answer(Schema):
    """The choices, one triplet, and the object list that the page showed."""

    exam: list[Choice] = Field(default_factory=list, max_length=2 * MAX_QUESTIONS)
    triplet: WrittenTriplet
    objects_sha256: str = Field(max_length=64)


class VcrExam(HitKind):
    """Multiple-choice questions that are graded automatically, and one written triplet that people grade."""

    name: ClassVar[str] = "vcr_exam"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Qualify: ask, answer and explain what is going on in a photo"
    description: ClassVar[str] = (
        "Answer questions about the instructions, and write one question with its answer and reason. "
        "Good answers open the tasks."
    )
    keywords: ClassVar[str] = "photo, image, movie, question, reasoning, writing, qualification"
    paper: ClassVar[str] = "Zellers et al. 2019 §B.3"
    purpose: ClassVar[Purpose] = Purpose.QUALIFYING
    families: ClassVar[frozenset[str]] = frozenset({"vcr"})
    reward_cents: ClassVar[int] = 110
    redundancy: ClassVar[int] = 9
    expected_seconds: ClassVar[int] = 300
    duration_seconds: ClassVar[int] = 45 * 60
    hint_rules: ClassVar[tuple[HintRule, ...]] = TRIPLET_RULES
    exam_rule: ClassVar[ExamRule] = ExamRule(
        items=1, needed=1, exam_share=PASS_SHARE, photos=1, questions=QUESTIONS
    )
    record_word: ClassVar[tuple[str, str]] = ("triplet", "triplets")
    unit_planner: ClassVar[str] = "objects"
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "“What is *person 1* doing?” · “*person 1* runs in the rain.” · “I see that *person 1* runs.”",
            "good": "“Why does *person 1* raise an arm?” · “*person 1* wants the driver of *bus 5* to wait.” · "
            "“*person 1* runs towards the closed door, and people wave to drivers whom they want to stop.” · likely",
            "why": "a look answers the first question, and its reason repeats the answer. The second reason names "
            "what the drawing shows and what everybody knows.",
            "picture": "vcr_exam/bus.svg",
            "alt": DRAWINGS["bus"],
        },
    )

    def image_ids(self, unit: Payload) -> list[int]:
        """Return the id of the image."""
        return [unit["image"]]

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return image, objects, captions, rules, and the questions without their right choices."""
        drawings = {name: {"path": f"{self.name}/{name}.svg", "alt": alt} for name, alt in DRAWINGS.items()}
        questions = questions_for_page(unit["questions"])
        return {
            **objects_for_page(unit, images),
            "questions": [
                {**row, "number": number, "picture": drawings.get(row["picture"])}
                for number, row in enumerate(questions, start=1)
            ],
            "limits": page_limits(),
        }

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Check choices, texts, tags and the object list; return the normalized answer and its problems."""
        assert isinstance(answer, Answer)
        exam, errors = clean_choices(unit["questions"], answer.exam)
        if answer.objects_sha256 != unit["objects_sha256"]:
            errors.append(FieldError("objects_sha256", OTHER_OBJECTS_MESSAGE))
        texts, problems = clean_triplet(answer.triplet.texts(), object_names(unit["objects"]), "triplet")
        missing = count_missing_mentions([texts])
        if missing:
            problems.append(FieldError("triplet", describe_missing_mentions(missing, 1)))
        normalized = {
            "exam": exam,
            "triplet": {**texts, "likelihood": answer.triplet.likelihood},
            "objects_sha256": answer.objects_sha256,
        }
        return normalized, errors + problems

    def gradable_items(self, unit: Payload, answer: Payload) -> list[GradableItem]:
        """Return the triplet, with the numbered objects of its image."""
        texts = display_triplet(answer["triplet"], object_names(unit["objects"]))
        return [
            GradableItem(
                item=0,
                image=unit["image"],
                number=1,
                texts=tuple((name.capitalize(), text) for name, text in texts.items()),
                note=answer["triplet"]["likelihood"],
                note_label="Likelihood",
                caption=("Captions", " ".join(unit["captions"])) if unit["captions"] else ("", ""),
                marks=object_marks(unit),
                question="Are question, answer and rationale reasonable, with the right objects mentioned?",
            )
        ]

    def exam_score(self, unit: Payload, answer: Payload) -> ExamScore:
        """Return how many of the unit's questions were answered correctly."""
        return score_choices(unit["questions"], answer["exam"])

    def marks(self, unit: Payload, answer: Payload | None) -> list[dict[str, Any]]:
        """Return the numbered boxes of the objects."""
        return object_marks(unit)

    @property
    def evidence_templates(self) -> list[str]:
        """The triplet beside its image, and the exam's answers."""
        return [f"{self.name}/evidence.html", "hits/mentions/evidence.html"]

    def evidence(self, unit: Payload, answer: Payload) -> dict[str, Any]:
        """Return the triplet, the objects for its tags, and the exam's questions with the worker's choices."""
        chosen = {row["question"]: row["choice"] for row in answer["exam"]}
        return {
            "triplets": [answer["triplet"]],
            "objects": object_names(unit["objects"]),
            "captions": unit["captions"],
            "exam": [
                {
                    "text": row["text"],
                    "choice": row["choices"][chosen[row["id"]]] if row["id"] in chosen else "",
                    "is_right": chosen.get(row["id"]) == row["right"],
                }
                for row in unit["questions"]
            ],
        }

    def unit_rows(self, unit: Payload) -> list[EvidenceRow]:
        """Return the captions and the number of questions."""
        captions = [EvidenceRow("Caption", caption) for caption in unit["captions"]]
        return [*captions, EvidenceRow("Questions", str(len(unit["questions"])))]

    def answer_rows(self, unit: Payload, answer: Payload) -> list[EvidenceRow]:
        """Return the exam's score, and the triplet as people read it."""
        score = self.exam_score(unit, answer)
        rows = [EvidenceRow("Exam", f"{score.right} of {score.total} right")] if score.total else []
        return [*rows, triplet_row(answer["triplet"], object_names(unit["objects"]))]

    def own_hints(
        self,
        unit: Payload,
        images: ImagesById,
        draft: Payload,
        earlier: Sequence[tuple[Payload, Payload]] = (),
    ) -> list[Hint]:
        """Return the hints on the triplet of a draft."""
        image, triplet = images[unit["image"]], draft.get("triplet")
        if not isinstance(triplet, Mapping):
            return []
        page = read_triplet_page(unit, width=image.width, height=image.height)
        return find_triplet_hints([read_triplet_card(1, triplet, len(unit["objects"]))], page)


KIND = VcrExam()
