"""Say which of two images is more plausible beside a third, and why (Ventura et al. 2025 §4.1, E.2, fig. 16)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.answers.text import TextError, clean_line, has_visible_text
from hits.domain.images.image_facts import ImageFacts
from hits.domain.images.image_triplets import (
    HYPOTHESES,
    PREMISE,
    ROLES,
    Hypothesis,
    hypothesis_order,
    image_for_page,
)
from hits.domain.states import Purpose
from hits.hints.card import Hint, HintRule
from hits.hints.explanations import EXPLANATION_RULES, find_explanation_hints
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema
from validation.domain.judging.triplet_shapes import Shape
from validation.kinds.triplet_plausibility.shapes import (
    ASKED,
    CERTAINTY,
    CHOICE,
    RATINGS,
    WHY,
    find_image_problem,
    find_text_problem,
    rated_hypotheses,
)

EQUAL = "equal"
MAX_WHY = 600
MAX_TEXT = 1000
CERTAINTY_TEXTS: Mapping[str, str] = {
    "uncertain": "not certain",
    "somewhat": "fairly certain",
    "certain": "certain",
}
_NOT_ASKED = "this task does not ask for it: leave it out"
_MISSING: Mapping[str, str] = {
    CHOICE: "choose one of the two",
    WHY: "say why it is plausible",
    CERTAINTY: "say how certain you are",
}


class Images(Schema):
    """The ids of the images that a unit shows, and only of these."""

    premise: int | None = None
    h1: int | None = None
    h2: int | None = None


class Texts(Schema):
    """The descriptions that a unit of the shape ``texts`` shows."""

    premise: str | None = Field(default=None, max_length=MAX_TEXT)
    h1: str | None = Field(default=None, max_length=MAX_TEXT)
    h2: str | None = Field(default=None, max_length=MAX_TEXT)


class Unit(Schema):
    """An image triplet in one of four shapes; ``item``, ``triplet``, ``scene`` and ``gold`` never reach the page.

    ``scene`` is the first one of the texts, before any revision. Units with the same ``triplet`` or ``scene``, such
    as the two pairs of a triplet, go to different people. ``gold`` is the more plausible hypothesis, 1 or 2.
    """

    item: str = Field(min_length=1, max_length=64)
    triplet: str = Field(min_length=1, max_length=64)
    show: Literal["triplet", "pair", "hypotheses_only", "texts"]
    images: Images = Field(default=Images(), validate_default=True)
    texts: Texts = Field(default=Texts(), validate_default=True)
    cannot_tell: bool = False
    gold: int | None = Field(default=None, ge=1, le=2)
    scene: str = Field(default="", max_length=64)

    @field_validator("images")
    @classmethod
    def _check_images(cls, images: Images, info: ValidationInfo) -> Images:
        problem = find_image_problem(info.data["show"], images.model_dump()) if "show" in info.data else ""
        if problem:
            raise ValueError(problem)
        return images

    @field_validator("texts")
    @classmethod
    def _check_texts(cls, texts: Texts, info: ValidationInfo) -> Texts:
        problem = find_text_problem(info.data["show"], texts.model_dump()) if "show" in info.data else ""
        if problem:
            raise ValueError(problem)
        return texts


class Ratings(Schema):
    """How likely each hypothesis is beside the premise: 1 very unlikely to 5 very likely."""

    h1: int | None = Field(default=None, ge=1, le=5)
    h2: int | None = Field(default=None, ge=1, le=5)


class Answer(Schema):
    """A choice with its reason, its certainty, and a rating of each hypothesis, as far as the shape asks for them."""

    choice: Literal["h1", "h2", "equal"] | None = None
    why: str = Field(default="", max_length=4 * MAX_WHY)
    certainty: Literal["certain", "somewhat", "uncertain"] | None = None
    ratings: Ratings = Ratings()

    @model_validator(mode="after")
    def _check_content(self) -> "Answer":
        if self.choice is None and self.ratings == Ratings():
            raise ValueError("has neither a choice nor a rating: answer the questions of the page")
        return self


class TripletPlausibility(HitKind):
    """Three workers choose the more plausible hypothesis of an image triplet, in two orders."""

    name: ClassVar[str] = "triplet_plausibility"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Say which of two images is more plausible, and why"
    description: ClassVar[str] = (
        "Look at an image, decide which of two others goes with it more plausibly, and say why."
    )
    keywords: ClassVar[str] = "image, picture, plausible, reasoning, explanation, comparison"
    paper: ClassVar[str] = "Ventura et al. 2025 §4.1, §E.2"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    launches_from_units: ClassVar[bool] = True
    scope_field: ClassVar[str] = "triplet"
    # Whoever saw a triplet in one shape, and returned it, knows it in every other.
    reveals: ClassVar[tuple[str, ...]] = ("triplet", "scene")
    blind_to: ClassVar[tuple[str, ...]] = ("triplet", "scene")
    is_single_attempt: ClassVar[bool] = True
    # A description would tell what a generator was asked to draw.
    page_facts: ClassVar[frozenset[str]] = frozenset()
    arms: ClassVar[int] = 2
    reward_cents: ClassVar[int] = 38
    redundancy: ClassVar[int] = 3
    expected_seconds: ClassVar[int] = 90
    duration_seconds: ClassVar[int] = 20 * 60
    unit_word: ClassVar[tuple[str, str]] = ("triplet", "triplets")
    hint_rules: ClassVar[tuple[HintRule, ...]] = EXPLANATION_RULES
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "“Image 2, because the floor is the same colour.”",
            "good": "“The ball is missing from the shelf and the lamp lies beside it: somebody threw the ball "
            "indoors and hit the lamp.”",
            "why": "the weak text compares how the images look. The good one says what happened between them.",
            "picture": "triplet_plausibility/lamp.svg",
            "alt": "Three drawings. Context: a broken lamp on the floor. Image 1: a child holds a ball and looks "
            "down. Image 2: a child reads in an armchair.",
        },
    )

    def image_ids(self, unit: Payload) -> list[int]:
        """Return the ids of the images that the unit shows: premise, h1, h2."""
        found = (unit["images"].get(role) for role in ROLES)
        return [image for image in found if image is not None]

    def subject(self, unit: Payload) -> str:
        """Return the key of the triplet, whatever the unit shows of it."""
        return f"triplet-{unit['triplet']}"

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return what the shape shows, the hypotheses in the order of the arm. Nothing in it depends on the gold."""
        return {
            "show": unit["show"],
            "premise": _tile(unit, PREMISE, images),
            "slots": [{"id": role, **(_tile(unit, role, images) or {})} for role in _order(unit, seed, arm)],
            "asked": list(ASKED[unit["show"]]),
            "cannot_tell": unit["cannot_tell"] and CHOICE in ASKED[unit["show"]],
            "max_characters": MAX_WHY,
        }

    def shown(self, unit: Payload, seed: str, arm: int | None = None) -> dict[str, Any]:
        """Return ``{"order": [...]}``: the hypotheses as the page shows them, from left to right."""
        return {"order": _order(unit, seed, arm)}

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Require what the shape asks for, and nothing else; the answer has only these fields."""
        assert isinstance(answer, Answer)
        asked = ASKED[unit["show"]]
        given, errors = answer.model_dump(), []
        try:
            why = clean_line(answer.why, maximum=MAX_WHY)
            given[WHY] = why if has_visible_text(why) else ""
        except TextError as error:
            errors.append(FieldError(WHY, str(error)))
        for name, missing in _MISSING.items():
            if name not in asked:
                errors += [FieldError(name, _NOT_ASKED)] if given[name] else []
            elif not given[name]:
                errors.append(FieldError(name, missing))
        if CHOICE in asked and given[CHOICE] == EQUAL and not unit["cannot_tell"]:
            errors.append(FieldError(CHOICE, "this task has no “equally plausible”: choose one of the two"))
        rated = rated_hypotheses(unit)
        errors += _rating_errors(rated, given[RATINGS])
        normalized = {name: given[name] for name in asked}
        if RATINGS in asked:
            normalized[RATINGS] = {role: given[RATINGS][role] for role in rated}
        return normalized, errors

    def own_hints(
        self,
        unit: Payload,
        images: ImagesById,
        draft: Payload,
        earlier: Sequence[tuple[Payload, Payload]] = (),
    ) -> list[Hint]:
        """Return the hints on the reason; only a worker who reads descriptions can repeat one."""
        why = draft.get(WHY)
        if not isinstance(why, str) or WHY not in ASKED[unit["show"]]:
            return []
        return find_explanation_hints(why, descriptions=[text for text in unit["texts"].values() if text])

    def evidence(self, unit: Payload, answer: Payload) -> dict[str, Any]:
        """Return the images or texts by role, and the answer in words, for staff."""
        return {
            "tiles": [
                {
                    "role": role,
                    "image": unit["images"].get(role),
                    "text": unit["texts"].get(role),
                    "is_chosen": answer.get(CHOICE) == role,
                    "rating": (answer.get(RATINGS) or {}).get(role),
                }
                for role in ROLES
                if unit["images"].get(role) is not None or unit["texts"].get(role)
            ],
            "listed": list(HYPOTHESES),
            "is_equal": answer.get(CHOICE) == EQUAL,
            "why": answer.get(WHY, ""),
            "certainty": CERTAINTY_TEXTS.get(answer.get(CERTAINTY) or "", ""),
        }

    def unit_rows(self, unit: Payload) -> list[EvidenceRow]:
        """Return the triplet and the shape; the gold answer would lead a reviewer's eye."""
        return [EvidenceRow("Triplet", unit["triplet"]), EvidenceRow("Shown", unit["show"].replace("_", " "))]

    def answer_rows(self, unit: Payload, answer: Payload) -> list[EvidenceRow]:
        """Return the answer; hypotheses are numbered as listed, whatever their order on the page."""
        rows = []
        if answer.get(CHOICE):
            rows.append(EvidenceRow("More plausible", _name(answer[CHOICE])))
        if answer.get(WHY):
            rows.append(EvidenceRow("Why", answer[WHY]))
        if answer.get(CERTAINTY):
            rows.append(EvidenceRow("Certainty", CERTAINTY_TEXTS[answer[CERTAINTY]]))
        ratings = answer.get(RATINGS) or {}
        rows += [EvidenceRow(f"Likelihood of {_name(role)}", f"{ratings[role]} of 5") for role in ratings]
        return rows


def _name(choice: Any) -> str:
    return "both equally" if choice == EQUAL else f"hypothesis {HYPOTHESES.index(choice) + 1}"


def _order(unit: Payload, seed: str, arm: int | None) -> list[Hypothesis]:
    """Return the shown hypotheses in the order of the arm."""
    shown = unit["texts"] if unit["show"] == Shape.TEXTS else unit["images"]
    return [role for role in hypothesis_order(arm, seed) if shown.get(role) is not None]


def _tile(unit: Payload, role: str, images: Mapping[int, ImageFacts]) -> dict[str, Any] | None:
    """Return a role's image or text for the page; ``None`` if the shape does not show it."""
    image, text = unit["images"].get(role), unit["texts"].get(role)
    if image is not None:
        return {"image": image_for_page(images[image])}
    return {"text": text} if text is not None else None


def _rating_errors(rated: Sequence[str], ratings: Mapping[str, int | None]) -> list[FieldError]:
    missing = [
        FieldError(f"{RATINGS}.{role}", "say how likely it is") for role in rated if ratings[role] is None
    ]
    unasked = [role for role in HYPOTHESES if role not in rated and ratings[role] is not None]
    return missing + [FieldError(f"{RATINGS}.{role}", _NOT_ASKED) for role in unasked]


KIND = TripletPlausibility()
