"""Review a written scene: which hypothesis fits, and whether the idea is good (Ventura et al. 2025 §3)."""

from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar, Literal

from pydantic import Field

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.answers.scene_facets import MAX_CHARACTERS
from hits.domain.answers.text import TextError, clean_line
from hits.domain.states import Purpose
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema

CANNOT_DECIDE = "cannot_tell"  # the stored label
MAX_LIKE = 200
MISSING_LIKE = "say which scene, film or test it repeats"
SPARE_LIKE = "leave it empty, or answer that you have seen the scene before"
PLAUSIBLE_TEXTS: Mapping[str | int, str] = {
    "a": "hypothesis a",
    "b": "hypothesis b",
    CANNOT_DECIDE: "cannot tell",
}
_YES_NO_TEXTS = {"yes": "yes", "no": "no"}


class Unit(Schema):
    """One scene, without its author, its facets and what its author calls more plausible.

    ``scene`` is the id of the first scene of which this one is a revision; it never reaches the page.
    """

    item: str = Field(min_length=1, max_length=64)
    premise: str = Field(min_length=1, max_length=MAX_CHARACTERS)
    a: str = Field(min_length=1, max_length=MAX_CHARACTERS)
    b: str = Field(min_length=1, max_length=MAX_CHARACTERS)
    scene: str = Field(default="", max_length=64)


class Answer(Schema):
    """Four judgments; ``like`` names what the scene repeats, if it was seen before."""

    plausible: Literal["a", "b", "cannot_tell"]
    needs_premise: Literal["yes", "no"]
    drawable: Literal["yes", "no"]
    seen: Literal["yes", "no"]
    like: str = ""


class SceneReview(HitKind):
    """Three workers, never the author, judge one scene."""

    name: ClassVar[str] = "scene_review"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Judge a scene in three short texts"
    description: ClassVar[str] = (
        "Read the descriptions of three pictures. Say which of two goes with the first, and whether the idea is good."
    )
    keywords: ClassVar[str] = "reading, scene, picture, plausible, rating, review"
    paper: ClassVar[str] = "Ventura et al. 2025 §3, table 16"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    launches_from_units: ClassVar[bool] = True
    is_single_attempt: ClassVar[bool] = True
    # Who knows a scene may not judge images of it, or of a revision, later.
    reveals: ClassVar[tuple[str, ...]] = ("item", "scene")
    arms: ClassVar[int] = 2
    reward_cents: ClassVar[int] = 25
    redundancy: ClassVar[int] = 3
    expected_seconds: ClassVar[int] = 60
    duration_seconds: ClassVar[int] = 15 * 60
    unit_word: ClassVar[tuple[str, str]] = ("scene", "scenes")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "good": "1 · the premise is needed · pictures can show it · new",
            "why": "the premise is “An empty bird cage with an open door stands in a living room.” The hypotheses "
            "are (1) “A small yellow bird sits on a *curtain rod*.” and (2) “A small yellow bird sits in a *nest*.” "
            "Without the cage, nobody could know.",
            "picture": "scene_review/example.svg",
            "alt": "Three drawings. Above, an empty bird cage with an open door. Below on the left, a yellow bird on "
            "a curtain rod; below on the right, a yellow bird in a nest.",
        },
        {
            "good": "2 · the premise is not needed · pictures can show it · new",
            "why": "the premise is “A cook puts on an apron.” The hypotheses are (1) “An elephant plays the piano in "
            "a kitchen.” and (2) “The cook cuts onions.” Whatever the premise shows, everybody chooses the onions.",
        },
    )

    def image_ids(self, unit: Payload) -> list[int]:
        """Return nothing: a scene is judged as texts."""
        return []

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the premise, and the hypotheses in the order of the arm; never the item's id."""
        return {
            "premise": unit["premise"],
            "hypotheses": [{"id": name, "text": unit[name]} for name in _order(seed, arm)],
            "max_like": MAX_LIKE,
        }

    def shown(self, unit: Payload, seed: str, arm: int | None = None) -> dict[str, Any]:
        """Return ``{"order": ["b", "a"]}``: the hypotheses from first to second."""
        return {"order": list(_order(seed, arm))}

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Require what the scene repeats where it was seen before, and nothing where it was not."""
        assert isinstance(answer, Answer)
        errors = []
        try:
            like = clean_line(answer.like, maximum=MAX_LIKE)
        except TextError as error:
            return answer.model_dump() | {"like": ""}, [FieldError("like", str(error))]
        if answer.seen == "yes" and not like:
            errors.append(FieldError("like", MISSING_LIKE))
        if answer.seen == "no" and like:
            errors.append(FieldError("like", SPARE_LIKE))
        return answer.model_dump() | {"like": like}, errors

    def unit_rows(self, unit: Payload) -> list[EvidenceRow]:
        """Return the three texts."""
        return [
            EvidenceRow("Premise", unit["premise"]),
            EvidenceRow("Hypothesis a", unit["a"]),
            EvidenceRow("Hypothesis b", unit["b"]),
        ]

    def answer_rows(self, unit: Payload, answer: Payload) -> list[EvidenceRow]:
        """Return the four judgments, and what the scene repeats."""
        rows = [
            EvidenceRow("More plausible", PLAUSIBLE_TEXTS[answer["plausible"]]),
            EvidenceRow("Needs the premise", _YES_NO_TEXTS[answer["needs_premise"]]),
            EvidenceRow("Can be drawn", _YES_NO_TEXTS[answer["drawable"]]),
            EvidenceRow("Seen before", _YES_NO_TEXTS[answer["seen"]]),
        ]
        return [*rows, EvidenceRow("Like", answer["like"])] if answer["like"] else rows


def _order(seed: str, arm: int | None) -> tuple[str, str]:
    """Return the hypotheses in the order of an arm. Which is a was drawn for the scene, so it says nothing.

    Attempts without an arm have an order of their own.
    """
    swapped = Random(seed).random() < 1 / 2 if arm is None else arm % 2 == 1  # noqa: S311 - an order, no secret
    return ("b", "a") if swapped else ("a", "b")


KIND = SceneReview()
