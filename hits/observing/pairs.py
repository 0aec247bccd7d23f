"""An observation pair: clue, boxes, inference, confidence (Hessel et al. 2022 §3.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from pydantic import Field

from hits.domain.answers.records import Record
from hits.domain.images.geometry import Box
from hits.kind import Schema, UnitBox

OBSERVATION = "observation"  # the record type, and the part of a sealed version


class Confidence(IntEnum):
    """The author's confidence; 1.0 to 3.0 in the published corpus."""

    POSSIBLE = 1
    LIKELY = 2
    CERTAIN = 3


@dataclass(frozen=True, slots=True)
class ObservationPair:
    """One observation of an answer. ``index`` is 1 to 5; ``boxes`` are in image pixels."""

    index: int
    clue: str
    inference: str
    confidence: Confidence
    boxes: tuple[Box, ...]
    bonus: bool = False

    @classmethod
    def from_fields(cls, index: int, fields: Mapping[str, Any], *, bonus: bool) -> "ObservationPair":
        """Return a pair from the fields of a record, or from an observation of an answer."""
        return cls(
            index=index,
            clue=fields["clue"],
            inference=fields["inference"],
            confidence=Confidence(fields["confidence"]),
            boxes=tuple(Box(**box) for box in fields["boxes"]),
            bonus=bonus,
        )

    def as_record(self, image: int) -> Record:
        """Return the record of the pair on its image."""
        return Record(
            type=OBSERVATION,
            index=self.index,
            images=(image,),
            fields={
                "clue": self.clue,
                "inference": self.inference,
                "confidence": int(self.confidence),
                "boxes": [box.as_dict() for box in self.boxes],
            },
            bonus=self.bonus,
        )


class ObservationFields(Schema):
    """The fields of a record of type ``observation``."""

    clue: str
    inference: str
    confidence: int = Field(ge=Confidence.POSSIBLE, le=Confidence.CERTAIN)
    boxes: list[UnitBox]
