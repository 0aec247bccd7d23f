"""What judging rounds are made of, as plain data handed down by whoever chose it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RecordToJudge:
    """A collected record. ``images`` are row keys in their order, ``fields`` typed by the record's type."""

    instance_id: str
    index: int
    images: Sequence[int]
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CandidateToRate:
    """One inference of a set: the id of the pair that it was written for, and its text."""

    id: str
    inference: str


@dataclass(frozen=True, slots=True)
class SetToJudge:
    """A comparison set ready for people.

    ``gold`` is the instance id of the region's own pair, whose author must not judge it; boxes are image
    pixels; ``clue`` is ``None`` where judges see the region alone, as in the paper. ``reference`` is the region's own
    inference where judges shall see it; ``per_page`` candidates, 5 or 10, stand on a page.
    """

    id: str
    gold: str
    image_id: int
    boxes: Sequence[dict[str, int]]
    candidates: Sequence[CandidateToRate]
    clue: str | None = None
    reference: str | None = None
    per_page: int = 10


@dataclass(frozen=True, slots=True)
class RegionsToMatch:
    """An image's regions and inferences, both by opaque id; ``truth`` is each inference's own region."""

    id: str
    image_id: int
    regions: Mapping[str, Sequence[Mapping[str, int]]]
    inferences: Mapping[str, str]
    truth: Mapping[str, str]
