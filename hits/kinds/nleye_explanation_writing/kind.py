"""Explain why one of two images is more plausible, and describe the triplet (Ventura et al. 2025 §2.2, §3)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.answers.records import Record
from hits.domain.answers.scene_facets import (
    CATEGORY_TEXTS,
    DIRECTION_TEXTS,
    DURATION_TEXTS,
    Category,
    Direction,
    Duration,
    check_temporal,
)
from hits.domain.answers.text import TextError, clean_line, has_visible_text
from hits.domain.images.image_triplets import (
    HYPOTHESES,
    PREMISE,
    ROLE_NAMES,
    ROLES,
    TripletImages,
    triplet_for_page,
)
from hits.domain.states import Purpose
from hits.hints.card import Hint, HintRule
from hits.hints.explanations import EXPLANATION_RULES, find_explanation_hints
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema

NLEYE_EXPLANATION = "nleye_explanation"
MAX_EXPLANATION = 600
MAX_NOTE = 300
MAX_TEXT = 1000
ALIGNMENT_TEXTS: Mapping[str, str] = {"yes": "all of it", "partly": "partly", "no": "no"}


class Texts(Schema):
    """The texts from which the images were made."""

    premise: str = Field(min_length=1, max_length=MAX_TEXT)
    h1: str = Field(min_length=1, max_length=MAX_TEXT)
    h2: str = Field(min_length=1, max_length=MAX_TEXT)


class Unit(Schema):
    """An image triplet with its texts; ``gold`` (1 or 2) is the more plausible hypothesis, which the page marks.

    ``scene`` is the id of the first scene of the texts, before any revision.
    """

    triplet: str = Field(min_length=1, max_length=64)
    images: TripletImages
    gold: int = Field(ge=1, le=2)
    texts: Texts
    scene: str = Field(default="", max_length=64)


class Alignment(Schema):
    """Whether each image shows its text."""

    premise: Literal["yes", "partly", "no"]
    h1: Literal["yes", "partly", "no"]
    h2: Literal["yes", "partly", "no"]


class Answer(Schema):
    """The explanation, the facets and the alignment of a triplet; only a parallel scene has no duration."""

    explanation: str = Field(min_length=1, max_length=4 * MAX_EXPLANATION)
    category: Category
    direction: Direction
    duration: Duration = ""
    alignment: Alignment
    note: str = Field(default="", max_length=4 * MAX_NOTE)


class ExplanationFields(Schema):
    """The fields of a record: the triplet's id and the answer."""

    triplet: str = Field(min_length=1, max_length=64)
    explanation: str = Field(min_length=1, max_length=MAX_EXPLANATION)
    category: Category
    direction: Direction
    duration: Duration
    alignment: Alignment
    note: str = Field(max_length=MAX_NOTE)


class NleyeExplanationWriting(HitKind):
    """One worker writes the gold explanation of an image triplet and says what kind of triplet it is."""

    name: ClassVar[str] = "nleye_explanation_writing"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Explain why one of two images is more plausible"
    description: ClassVar[str] = (
        "See three images, one of them marked as right. Say why it is right, and whether the images show their texts."
    )
    keywords: ClassVar[str] = "image, picture, explanation, reasoning, writing"
    paper: ClassVar[str] = "Ventura et al. 2025 §2.2, §3"
    purpose: ClassVar[Purpose] = Purpose.COLLECTING
    families: ClassVar[frozenset[str]] = frozenset({"nleye"})
    launches_from_units: ClassVar[bool] = True
    scope_field: ClassVar[str] = "triplet"
    # The page marks the more plausible image, so its workers know the answer for every triplet of the scene.
    reveals: ClassVar[tuple[str, ...]] = ("triplet", "scene")
    page_facts: ClassVar[frozenset[str]] = frozenset()
    reward_cents: ClassVar[int] = 65
    redundancy: ClassVar[int] = 1
    expected_seconds: ClassVar[int] = 150
    duration_seconds: ClassVar[int] = 25 * 60
    unit_word: ClassVar[tuple[str, str]] = ("triplet", "triplets")
    record_word: ClassVar[tuple[str, str]] = ("explanation", "explanations")
    record_types: ClassVar[Mapping[str, type[Schema]]] = {NLEYE_EXPLANATION: ExplanationFields}
    hint_rules: ClassVar[tuple[HintRule, ...]] = EXPLANATION_RULES
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "“Image 1 shows a child with a ball, and image 2 does not.”",
            "good": "“A ball thrown indoors easily hits things on a shelf, so the child with the ball has broken the "
            "lamp.” · physical · backward · short",
            "why": "the weak text describes an image and names it by its number. The good one says what happened and "
            "what people know about it. The hypothesis comes first and causes the premise, within seconds.",
            "picture": "nleye_explanation_writing/lamp.svg",
            "alt": "Three drawings. Context: a broken lamp on the floor. Image 1, marked as right: a child holds a "
            "ball. Image 2: a child reads in an armchair.",
        },
    )

    def image_ids(self, unit: Payload) -> list[int]:
        """Return the ids of the images: premise, h1, h2."""
        return [unit["images"][role] for role in ROLES]

    def subject(self, unit: Payload) -> str:
        """Return the key of the triplet."""
        return f"triplet-{unit['triplet']}"

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the images with the right one marked, their texts, and the facets."""
        names = {PREMISE: 0, "h1": 1, "h2": 2}
        return {
            "show": "triplet",
            **triplet_for_page(unit["images"], images, right=_right(unit)),
            "texts": [{"role": role, "number": names[role], "text": unit["texts"][role]} for role in ROLES],
            "max_characters": MAX_EXPLANATION,
        }

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Check the texts, and that direction and duration fit; return texts on one line."""
        assert isinstance(answer, Answer)
        given, errors = answer.model_dump(), []
        for name, maximum in (("explanation", MAX_EXPLANATION), ("note", MAX_NOTE)):
            try:
                given[name] = clean_line(given[name], maximum=maximum)
            except TextError as error:
                errors.append(FieldError(name, str(error)))
        if not has_visible_text(given["explanation"]):
            errors.append(FieldError("explanation", "say why the image is right"))
        problem = check_temporal(answer.direction, answer.duration)
        if problem:
            errors.append(FieldError("duration", problem))
        return given, errors

    def records(self, unit: Payload, answer: Payload) -> list[Record]:
        """Return one record: the triplet's id and the whole answer."""
        fields = {"triplet": unit["triplet"], **answer}
        return [Record(NLEYE_EXPLANATION, 1, images=tuple(self.image_ids(unit)), fields=fields)]

    def own_hints(
        self,
        unit: Payload,
        images: ImagesById,
        draft: Payload,
        earlier: Sequence[tuple[Payload, Payload]] = (),
    ) -> list[Hint]:
        """Return the hints on the explanation."""
        text = draft.get("explanation")
        descriptions = [unit["texts"][role] for role in ROLES]
        return find_explanation_hints(text, descriptions=descriptions) if isinstance(text, str) else []

    def evidence(self, unit: Payload, answer: Payload) -> dict[str, Any]:
        """Return the images with texts and alignment, the right one marked, for staff."""
        return {
            "tiles": [
                {
                    "role": role,
                    "image": unit["images"][role],
                    "text": unit["texts"][role],
                    "is_right": role == _right(unit),
                    "alignment": ALIGNMENT_TEXTS[answer["alignment"][role]],
                }
                for role in ROLES
            ],
            "listed": list(HYPOTHESES),
            "facets": [answer[name] for name in ("category", "direction", "duration") if answer[name]],
        }

    def unit_rows(self, unit: Payload) -> list[EvidenceRow]:
        """Return the triplet and its texts."""
        texts = [EvidenceRow(ROLE_NAMES[role], unit["texts"][role]) for role in ROLES]
        return [EvidenceRow("Triplet", unit["triplet"]), *texts]

    def answer_rows(self, unit: Payload, answer: Payload) -> list[EvidenceRow]:
        """Return the explanation, the facets with their definitions, and the alignment."""
        rows = [
            EvidenceRow("Explanation", answer["explanation"]),
            EvidenceRow("Category", f"{answer['category']}: {CATEGORY_TEXTS[answer['category']]}"),
            EvidenceRow("Direction", f"{answer['direction']}: {DIRECTION_TEXTS[answer['direction']]}"),
        ]
        if answer["duration"]:
            rows.append(
                EvidenceRow("Duration", f"{answer['duration']}: {DURATION_TEXTS[answer['duration']]}")
            )
        rows += [
            EvidenceRow(f"{ROLE_NAMES[role]} shows its text", ALIGNMENT_TEXTS[answer["alignment"][role]])
            for role in ROLES
        ]
        return rows + ([EvidenceRow("Note", answer["note"])] if answer["note"] else [])


def _right(unit: Payload) -> str:
    return HYPOTHESES[unit["gold"] - 1]


KIND = NleyeExplanationWriting()
