"""An observation pair: clue, boxes, inference, confidence (Sherlock, paper 000 §3.1)."""

from dataclasses import dataclass
from enum import IntEnum

from hits.domain.geometry import Box


class Confidence(IntEnum):
    """How sure the author is; the published corpus keeps 1.0 to 3.0."""

    POSSIBLE = 1
    LIKELY = 2
    CERTAIN = 3


@dataclass(frozen=True, slots=True)
class ObservationPair:
    """One observation as an answer holds it. ``index`` is 1 to 5; ``boxes`` are image pixels."""

    index: int
    clue: str
    inference: str
    confidence: Confidence
    boxes: tuple[Box, ...]
    bonus: bool = False


@dataclass(frozen=True, slots=True)
class GradedPair:
    """One pair that a person grades. ``item`` counts an answer's pairs from 0; ``number`` its image's, from 1."""

    item: int
    image: int
    number: int
    clue: str
    inference: str
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class ExamScore:
    """How many of an exam's questions were answered rightly."""

    right: int
    asked: int
