"""Pick the best of several images of one text (Ventura et al. 2025 §3; its designers picked by themselves)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.hashing import content_sha256
from hits.domain.images.image_triplets import PREMISE, image_for_page, mirrored_order
from hits.domain.states import Purpose
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema

MIN_CANDIDATES = 2
MAX_CANDIDATES = 8
MAX_TEXT = 1000
SLOT_DIGITS = 16
SHOWS_ALL, SAME, BROKEN = "shows_all", "same", "broken"
QUESTIONS: Mapping[str, str] = {
    SHOWS_ALL: "Shows all of the text",
    SAME: "Same people and place as the context",
    BROKEN: "Something is broken",
}
_UNASKED: Mapping[str, str] = {
    SHOWS_ALL: "leave it out: no image was picked",
    SAME: "leave it out: there is no context, or no image was picked",
    BROKEN: "leave it out: no image was picked",
}
_MISSING: Mapping[str, str] = {
    SHOWS_ALL: "say whether the image shows all of the text",
    SAME: "say whether people and place are the same as in the context",
    BROKEN: "say whether something in the image is broken",
}
YesNo = Literal["yes", "no"]


class Unit(Schema):
    """A text, and candidate images of it; ``item``, ``role``, ``scene`` and the images' ids never reach the page.

    ``premise_image`` is the chosen image of the premise, beside which images of hypotheses are picked.
    """

    item: str = Field(min_length=1, max_length=64)
    role: Literal["premise", "a", "b"]
    text: str = Field(min_length=1, max_length=MAX_TEXT)
    premise_image: int | None = Field(default=None, validate_default=True)
    candidates: list[int] = Field(min_length=MIN_CANDIDATES, max_length=MAX_CANDIDATES)
    scene: str = Field(default="", max_length=64)

    @field_validator("premise_image")
    @classmethod
    def _check_premise(cls, image: int | None, info: ValidationInfo) -> int | None:
        if "role" in info.data and (image is None) != (info.data["role"] == PREMISE):
            raise ValueError("give it for the roles a and b, and leave it out for the role premise")
        return image

    @field_validator("candidates")
    @classmethod
    def _check_candidates(cls, candidates: list[int], info: ValidationInfo) -> list[int]:
        if len(set(candidates)) < len(candidates):
            raise ValueError("an image occurs twice: list each once")
        if info.data.get("premise_image") in candidates:
            raise ValueError("the premise's image is no candidate: leave it out")
        return candidates


class Answer(Schema):
    """The best image with three answers about it, or ``none``: exactly one of both.

    ``best`` is the name that the page has for the image; stored answers have its id.
    """

    best: int | str | None = None
    none: bool = False
    shows_all: YesNo | None = None
    same: YesNo | None = None
    broken: YesNo | None = None

    @field_validator("best", mode="before")
    @classmethod
    def _check_best(cls, best: Any) -> Any:
        if best is not None and (isinstance(best, bool) or not isinstance(best, int | str)):
            raise ValueError("name one of the task's images")
        return best

    @model_validator(mode="after")
    def _check_content(self) -> "Answer":
        if (self.best is None) != self.none:
            raise ValueError("pick the best image, or “none of them”: exactly one of both")
        return self


class ImagePick(HitKind):
    """Two workers pick the best of several generated images."""

    name: ClassVar[str] = "image_pick"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Pick the image that shows a text best"
    description: ClassVar[str] = (
        "Read a text, and pick the one of several images that shows it best, if there is one."
    )
    keywords: ClassVar[str] = "image, picture, text, comparison, generated"
    paper: ClassVar[str] = "Ventura et al. 2025 §3"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    launches_from_units: ClassVar[bool] = True
    reveals: ClassVar[tuple[str, ...]] = ("scene",)
    page_facts: ClassVar[frozenset[str]] = frozenset()
    arms: ClassVar[int] = 2
    reward_cents: ClassVar[int] = 32
    redundancy: ClassVar[int] = 2
    expected_seconds: ClassVar[int] = 75
    duration_seconds: ClassVar[int] = 15 * 60
    unit_word: ClassVar[tuple[str, str]] = ("text", "texts")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "image 1, because its light is beautiful",
            "good": "image 2",
            "why": "the text is “A child holds a ball and looks at a broken lamp.” Image 1 has no lamp. Image 2 is "
            "plainer, but shows all that the text says.",
            "picture": "image_pick/ball.svg",
            "alt": "Two drawings. Image 1: a child with a ball before a sunset. Image 2: a child with a ball "
            "beside a broken lamp.",
        },
    )

    def image_ids(self, unit: Payload) -> list[int]:
        """Return the ids of the premise's image, if there is one, and of the candidates."""
        premise = unit["premise_image"]
        return [*([] if premise is None else [premise]), *unit["candidates"]]

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return text, context, and candidates in the order of the arm, by names that tell nothing of their making.

        Ids of images would: they grow in the order of drawing.
        """
        premise = unit["premise_image"]
        return {
            "show": "candidates",
            "text": unit["text"],
            "premise": None if premise is None else {"image": image_for_page(images[premise])},
            "slots": [
                {"id": slot_name(unit, key), "image": image_for_page(images[key])}
                for key in _order(unit, seed, arm)
            ],
            "asked": _asked(unit),
        }

    def shown(self, unit: Payload, seed: str, arm: int | None = None) -> dict[str, Any]:
        """Return ``{"order": [...]}``: the candidates' ids as the page shows them."""
        return {"order": _order(unit, seed, arm)}

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Require a candidate of the unit and the answers about it, or none and no answers."""
        assert isinstance(answer, Answer)
        given = answer.model_dump()
        errors = []
        if answer.best is not None:
            named = {slot_name(unit, key): key for key in unit["candidates"]}
            given["best"] = named.get(str(answer.best), answer.best)
        if answer.best is not None and given["best"] not in unit["candidates"]:
            errors.append(FieldError("best", f"image {answer.best!r} is not one of this task's images"))
        asked = [] if answer.none else _asked(unit)
        errors += [FieldError(name, _MISSING[name]) for name in asked if given[name] is None]
        errors += [
            FieldError(name, _UNASKED[name])
            for name in QUESTIONS
            if name not in asked and given[name] is not None
        ]
        return given, errors

    def evidence(self, unit: Payload, answer: Payload) -> dict[str, Any]:
        """Return the images in the unit's order, the picked one marked, for staff."""
        premise = [] if unit["premise_image"] is None else [unit["premise_image"]]
        return {
            "tiles": [
                *({"image": image, "is_premise": True} for image in premise),
                *({"image": image, "is_chosen": image == answer["best"]} for image in unit["candidates"]),
            ],
            "none": answer["none"],
        }

    def unit_rows(self, unit: Payload) -> list[EvidenceRow]:
        """Return the text and what it is in its scene."""
        return [EvidenceRow("Text", unit["text"]), EvidenceRow("Role", unit["role"])]

    def answer_rows(self, unit: Payload, answer: Payload) -> list[EvidenceRow]:
        """Return the pick and the answers about it."""
        if answer["none"] or answer["best"] not in unit["candidates"]:
            return [EvidenceRow("Best image", "none of them" if answer["none"] else "–")]
        number = unit["candidates"].index(answer["best"]) + 1
        rows = [EvidenceRow(title, answer[name]) for name, title in QUESTIONS.items() if answer[name]]
        return [EvidenceRow("Best image", f"candidate {number} of {len(unit['candidates'])}"), *rows]


def slot_name(unit: Payload, image: int) -> str:
    """Return a page's name for an image; nobody can guess it without the item, which no page is told."""
    return content_sha256({"item": unit["item"], "image": image})[:SLOT_DIGITS]


def _asked(unit: Payload) -> Sequence[str]:
    """Return the questions about a picked image; the premise's image has nothing to be the same as."""
    return [name for name in QUESTIONS if name != SAME or unit["premise_image"] is not None]


def _order(unit: Payload, seed: str, arm: int | None) -> list[int]:
    return mirrored_order(unit["candidates"], arm, f"item {unit['item']}", seed)


KIND = ImagePick()
