"""What people and machines grade in a qualifying answer."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExamScore:
    """How many of an exam's questions were answered rightly."""

    right: int
    asked: int


@dataclass(frozen=True, slots=True)
class GradableItem:
    """One piece of an answer that a person grades.

    ``item`` counts an answer's items from 0, ``number`` those of one image from 1; ``image`` is a row key. ``texts``
    are what was written, each under the words that introduce it; ``note`` is a short word beside them.
    """

    item: int
    image: int
    number: int
    texts: Sequence[tuple[str, str]]
    note: str = ""
