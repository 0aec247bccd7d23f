"""The graded parts of a qualifying answer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ExamScore:
    """How many of an exam's questions were answered correctly."""

    right: int
    total: int


@dataclass(frozen=True, slots=True)
class ExamRule:
    """What a qualifying kind's answer has to grade, and what passes by default.

    ``items`` is the number of items that people grade, ``needed`` of which have to be reasonable. ``exam_share`` is
    the share of the exam's questions that need the right answer. ``photos`` is the number of photos that a unit is
    made of; 0 for units that come from a file. ``questions`` are the built-in questions of the exam, in the format of
    a unit.
    """

    items: int = 0
    needed: int = 0
    exam_share: float = 0.0
    photos: int = 0
    questions: Sequence[Mapping[str, Any]] = ()

    def exam_needed(self, questions: int) -> int:
        """Return the number of right answers that are needed to pass an exam of this length."""
        return math.ceil(round(self.exam_share * questions, 6))


@dataclass(frozen=True, slots=True)
class GradableItem:
    """One part of an answer that a person grades.

    ``item`` is its index in the answer, from 0; ``number`` counts the items of one image from 1; ``image`` is a row
    key. ``texts`` are pairs of a label and the written text; ``note`` is a short text beside them, with its label.
    ``caption`` is a text below the image with its label, such as the worker's description. ``marks`` are numbered
    boxes on the image, as ``HitKind.marks`` returns them. ``question`` is what graders are asked.
    """

    item: int
    image: int
    number: int
    texts: Sequence[tuple[str, str]]
    note: str = ""
    note_label: str = ""
    caption: tuple[str, str] = ("", "")
    marks: Sequence[Mapping[str, Any]] = ()
    question: str = ""
