"""Tick the explanations that link a context to the more plausible image (Ventura et al. 2025 §4.2, E.2, fig. 17)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator, model_validator

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.answers.review_flags import ReviewCheck
from hits.domain.images.image_triplets import (
    HYPOTHESES,
    ROLES,
    Hypothesis,
    TripletImages,
    mirrored_order,
    triplet_for_page,
)
from hits.domain.states import Purpose
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema

MIN_EXPLANATIONS = 2
MAX_EXPLANATIONS = 10
MAX_ID = 20
MAX_TEXT = 2000  # a model's explanation may be long, and is shown whole


class Explanation(Schema):
    """One explanation by an opaque id; nobody is told who wrote it."""

    id: str = Field(min_length=1, max_length=MAX_ID)
    text: str = Field(min_length=1, max_length=MAX_TEXT)


class Unit(Schema):
    """An image triplet, its more plausible hypothesis, and explanations of it.

    ``item``, ``triplet``, ``scene`` (the first one of the texts), ``decoys`` (ids of explanations that are known to
    be wrong), and the triplet and scene that these explain, never reach the page.
    """

    item: str = Field(min_length=1, max_length=64)
    triplet: str = Field(min_length=1, max_length=64)
    images: TripletImages
    right: Hypothesis
    explanations: list[Explanation] = Field(min_length=MIN_EXPLANATIONS, max_length=MAX_EXPLANATIONS)
    decoys: list[str] = Field(default_factory=list, max_length=MAX_EXPLANATIONS)
    scene: str = Field(default="", max_length=64)
    decoy_triplet: str = Field(default="", max_length=64)
    decoy_scene: str = Field(default="", max_length=64)

    @field_validator("explanations")
    @classmethod
    def _check_explanations(cls, explanations: list[Explanation]) -> list[Explanation]:
        if len({row.id for row in explanations}) < len(explanations):
            raise ValueError("an id occurs twice: list each once")
        if len({" ".join(row.text.split()).casefold() for row in explanations}) < len(explanations):
            raise ValueError("two explanations have the same text: merge them")
        return explanations

    @field_validator("decoys")
    @classmethod
    def _check_decoys(cls, decoys: list[str], info: ValidationInfo) -> list[str]:
        known = {row.id for row in info.data.get("explanations", ())}
        foreign = sorted(set(decoys) - known) if "explanations" in info.data else []
        if foreign:
            raise ValueError(f"{foreign[0]!r} is no explanation of this unit: name ids of its explanations")
        return decoys


class Answer(Schema):
    """The ids of the valid explanations, or ``none``: exactly one of both.

    ``not_valid`` are the other ids. The page may leave them out; stored answers have them.
    """

    valid: list[str] = Field(max_length=10 * MAX_EXPLANATIONS)
    none: bool = False
    not_valid: list[str] = Field(default_factory=list, max_length=10 * MAX_EXPLANATIONS)

    @model_validator(mode="after")
    def _check_content(self) -> "Answer":
        if self.none and self.valid:
            raise ValueError("“none of these” and a ticked explanation exclude each other: keep one of both")
        if not self.none and not self.valid:
            raise ValueError("tick each valid explanation, or “none of these”")
        return self


class ExplanationSelection(HitKind):
    """Three workers tick the explanations that link the context to the more plausible image."""

    name: ClassVar[str] = "explanation_selection"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Tick the explanations that link two images"
    description: ClassVar[str] = (
        "See three images, and tick each text that explains how two of them belong together."
    )
    keywords: ClassVar[str] = "image, picture, explanation, reasoning, reading"
    paper: ClassVar[str] = "Ventura et al. 2025 §4.2, §E.2"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    launches_from_units: ClassVar[bool] = True
    # The page marks the more plausible image, so its workers know the answer for every triplet of the scene. A decoy
    # tells the answer for the triplet that it was written about.
    reveals: ClassVar[tuple[str, ...]] = ("triplet", "scene", "decoy_triplet", "decoy_scene")
    page_facts: ClassVar[frozenset[str]] = frozenset()
    arms: ClassVar[int] = 2
    reward_cents: ClassVar[int] = 50
    redundancy: ClassVar[int] = 3
    expected_seconds: ClassVar[int] = 120
    duration_seconds: ClassVar[int] = 20 * 60
    unit_word: ClassVar[tuple[str, str]] = ("triplet", "triplets")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "“Both images have the same wet street, and the colours match.”",
            "good": "“It has begun to rain, and whoever has to go on opens an umbrella to stay dry.”",
            "why": "the good text tells what happens between the images. The weak one compares how they look, which "
            "would be so in many pairs of images.",
            "picture": "explanation_selection/rain.svg",
            "alt": "Three drawings. Context: dark clouds over a street. Image 1: a person lies in a deckchair. "
            "Image 2, marked as right: a person under an umbrella.",
        },
        {
            "weak": "“The person is about to sing in the rain.”",
            "good": "“Somebody saw the clouds before leaving and took an umbrella along.”",
            "why": "nothing in the images speaks of singing. The good text goes back in time, which is fine.",
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
        """Return the images with the right one marked, and the explanations in the order of the arm."""
        texts = {row["id"]: row["text"] for row in unit["explanations"]}
        return {
            "show": "triplet",
            **triplet_for_page(unit["images"], images, right=unit["right"]),
            "explanations": [{"id": key, "text": texts[key]} for key in _order(unit, seed, arm)],
        }

    def shown(self, unit: Payload, seed: str, arm: int | None = None) -> dict[str, Any]:
        """Return ``{"order": [...]}``: the explanations' ids from top to bottom."""
        return {"order": _order(unit, seed, arm)}

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Require ids of the unit, each once; return them in the unit's order, with those that were not ticked."""
        assert isinstance(answer, Answer)
        ids = [row["id"] for row in unit["explanations"]]
        errors = [
            FieldError(f"valid[{position}]", f"{key!r} is not one of this task's texts, or is listed twice")
            for position, key in enumerate(answer.valid)
            if key not in ids or key in answer.valid[:position]
        ]
        ticked = [key for key in ids if key in answer.valid]
        others = [key for key in ids if key not in answer.valid]
        if answer.not_valid and sorted(answer.not_valid) != sorted(others):
            errors.append(FieldError("not_valid", "leave it out, or list each text that is not ticked"))
        return {"valid": ticked, "none": not ticked, "not_valid": others}, errors

    def checks(
        self,
        unit: Payload,
        images: ImagesById,
        answer: Payload,
        *,
        active_seconds: float,
        expected_seconds: int,
    ) -> list[ReviewCheck]:
        """Return the usual checks, and with decoys whether one of them was ticked."""
        found = super().checks(
            unit, images, answer, active_seconds=active_seconds, expected_seconds=expected_seconds
        )
        return [*found, _check_decoys(unit["decoys"], answer["valid"])] if unit["decoys"] else found

    def evidence(self, unit: Payload, answer: Payload) -> dict[str, Any]:
        """Return the images by role and each explanation with the worker's verdict, for staff."""
        return {
            "tiles": [
                {"role": role, "image": unit["images"][role], "is_right": role == unit["right"]}
                for role in ROLES
            ],
            "listed": list(HYPOTHESES),
            "ids": [row["id"] for row in unit["explanations"]],
            "explanations": [
                {
                    "id": row["id"],
                    "text": row["text"],
                    "is_valid": row["id"] in answer["valid"],
                    "is_decoy": row["id"] in unit["decoys"],
                }
                for row in unit["explanations"]
            ],
        }

    def unit_rows(self, unit: Payload) -> list[EvidenceRow]:
        """Return the triplet and the number of explanations."""
        return [
            EvidenceRow("Triplet", unit["triplet"]),
            EvidenceRow("Explanations", str(len(unit["explanations"]))),
        ]

    def answer_rows(self, unit: Payload, answer: Payload) -> list[EvidenceRow]:
        """Return each explanation with the worker's verdict."""
        return [
            EvidenceRow(row["text"], "valid" if row["id"] in answer["valid"] else "not valid")
            for row in unit["explanations"]
        ]


def _order(unit: Payload, seed: str, arm: int | None) -> list[str]:
    ids = [row["id"] for row in unit["explanations"]]
    return mirrored_order(ids, arm, f"item {unit['item']}", seed)


def _check_decoys(decoys: Sequence[str], valid: Sequence[str]) -> ReviewCheck:
    ticked = sum(key in valid for key in decoys)
    if ticked:
        return ReviewCheck(
            False, f"Ticked {ticked} of {len(decoys)} explanations that are wrong on purpose", "decoy"
        )
    return ReviewCheck(True, "No explanation ticked that is wrong on purpose")


KIND = ExplanationSelection()
