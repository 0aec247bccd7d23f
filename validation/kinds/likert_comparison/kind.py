"""Rate candidate inferences for a region of an image (Sherlock; Hessel et al. 2022 §4.3 and supplement E)."""

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar, Final, Literal

from pydantic import Field, field_validator

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.answers.text import MAX_CLUE, MAX_INFERENCE
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import FieldError, HitKind, Schema, UnitBox
from validation.kinds.likert_comparison.ratings import Rating

MAX_CANDIDATES = 20
PER_PAGE: Final = 10


class Candidate(Schema):
    """One inference to rate, with the id of the pair that it was written for."""

    id: str = Field(min_length=1, max_length=64)
    inference: str = Field(min_length=1, max_length=MAX_INFERENCE)


class Unit(Schema):
    """An image, a region and the candidates.

    Judges see ``clue`` and ``reference`` (the inference that was written for the region) if they are given; Hessel et
    al. 2022 mention neither. A page shows ``per_page`` candidates at a time.
    """

    image: int
    boxes: list[UnitBox] = Field(min_length=1)
    clue: str | None = Field(default=None, max_length=MAX_CLUE)
    reference: str | None = Field(default=None, max_length=MAX_INFERENCE)
    candidates: list[Candidate] = Field(min_length=2, max_length=MAX_CANDIDATES)
    per_page: Literal[5, 10] = PER_PAGE
    set: str = Field(min_length=1, max_length=64)

    @field_validator("candidates")
    @classmethod
    def _check_distinct(cls, candidates: list[Candidate]) -> list[Candidate]:
        if len({candidate.id for candidate in candidates}) != len(candidates):
            raise ValueError("a candidate occurs twice: list each id once")
        return candidates


class CandidateRating(Schema):
    """One rating."""

    candidate: str = Field(max_length=64)
    rating: int = Field(ge=Rating.BAD, le=Rating.GOOD)


class Answer(Schema):
    """A rating of every candidate."""

    ratings: list[CandidateRating] = Field(max_length=10 * MAX_CANDIDATES)


class LikertComparison(HitKind):
    """Two workers rate each of ten candidates from 1 to 3."""

    name: ClassVar[str] = "likert_comparison"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Rate ten statements about a photo"
    description: ClassVar[str] = (
        "See a photo with one region marked, and say how well each of ten statements fits that region."
    )
    keywords: ClassVar[str] = "photo, image, rating, statements, reasoning"
    paper: ClassVar[str] = "Hessel et al. 2022 §4.3, §C, §E"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    launches_from_units: ClassVar[bool] = True
    reward_cents: ClassVar[int] = 55
    redundancy: ClassVar[int] = 2
    arms: ClassVar[int] = 2
    expected_seconds: ClassVar[int] = 120
    duration_seconds: ClassVar[int] = 20 * 60
    unit_word: ClassVar[tuple[str, str]] = ("comparison set", "comparison sets")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the one image's id."""
        return [unit["image"]]

    def unit_for_page(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return image, region and the candidates, shuffled by ``seed``."""
        return {
            "image": images[unit["image"]].as_page_dict(),
            "boxes": unit["boxes"],
            "clue": unit["clue"],
            # Units launched before these options lack them.
            "reference": unit.get("reference"),
            "per_page": unit.get("per_page", PER_PAGE),
            "candidates": _arrange_candidates(unit, seed, arm),
        }

    def region(self, unit: Mapping[str, Any]) -> list[UnitBox]:
        """Return the boxes of the region that is rated."""
        return [UnitBox(**box) for box in unit["boxes"]]

    def shown(self, unit: Mapping[str, Any], seed: str, arm: int | None = None) -> dict[str, Any]:
        """Return ``{"order": [...]}``: the candidates' ids from top to bottom, as on the page with this seed."""
        return {"order": [candidate["id"] for candidate in _arrange_candidates(unit, seed, arm)]}

    def answer_rows(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[EvidenceRow]:
        """Return each candidate's text with its rating."""
        texts = {candidate["id"]: candidate["inference"] for candidate in unit["candidates"]}
        return [
            EvidenceRow(
                texts.get(row["candidate"], row["candidate"]),
                f"{row['rating']} ({Rating(row['rating']).name.lower()})",
            )
            for row in answer["ratings"]
        ]

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Require each candidate exactly once; return the ratings in the unit's order."""
        assert isinstance(answer, Answer)
        candidate_ids = [candidate["id"] for candidate in unit["candidates"]]
        errors = _candidate_id_errors(candidate_ids, [item.candidate for item in answer.ratings])
        given = {item.candidate: item.rating for item in answer.ratings}
        # One order for all workers: the stored answer does not reveal the order on the page.
        ordered = [{"candidate": key, "rating": given[key]} for key in candidate_ids if key in given]
        return {"ratings": ordered}, errors


def _arrange_candidates(unit: Mapping[str, Any], seed: str, arm: int | None) -> list[dict[str, Any]]:
    """Return the candidates in the order of an arm: drawn from the set's id, or its reverse.

    Two judges see each candidate at mirrored ranks, so that all mean ranks are equal. Attempts that were made
    before arms existed have none; their order is drawn from their seed.
    """
    candidates = list(unit["candidates"])
    Random(seed if arm is None else f"set {unit['set']}").shuffle(candidates)  # noqa: S311 - an order, no secret
    return candidates[::-1] if arm else candidates


def _candidate_id_errors(required: list[str], rated: list[str]) -> list[FieldError]:
    errors = []
    known = set(required)
    counts = Counter(rated)
    for position, key in enumerate(rated):
        if key not in known:
            errors.append(
                FieldError(f"ratings[{position}].candidate", f"{key!r} is not one of this task's statements")
            )
    missing = [key for key in required if key not in counts]
    if missing:
        errors.append(
            FieldError(
                "ratings", f"{len(missing)} of {len(required)} statements have no rating: rate every one"
            )
        )
    for key in sorted(key for key, count in counts.items() if count > 1 and key in known):
        errors.append(FieldError("ratings", f"statement {key} is rated {counts[key]} times: rate it once"))
    return errors


KIND = LikertComparison()
