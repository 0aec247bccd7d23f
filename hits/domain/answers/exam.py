"""The graded parts of a qualifying answer."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExamScore:
    """How many of an exam's questions were answered correctly."""

    right: int
    total: int


@dataclass(frozen=True, slots=True)
class GradableItem:
    """One part of an answer that a person grades.

    ``item`` is its index in the answer, from 0; ``number`` counts the items of one image from 1; ``image`` is a row
    key. ``texts`` are pairs of a label and the written text; ``note`` is a short label beside them.
    """

    item: int
    image: int
    number: int
    texts: Sequence[tuple[str, str]]
    note: str = ""
