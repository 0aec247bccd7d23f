"""Sherlock's observation pair as curation works with it: a record with names for its fields."""

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hits.models import Image, Record
from hits.observing.pairs import OBSERVATION


class Part(StrEnum):
    """The parts of a version of the Sherlock family; the values stand in seals."""

    OBSERVATION = OBSERVATION
    COMPARISON = "comparison"


class Pair(Record):
    """A record of type ``observation``. Filters and orders name fields as ``fields__clue``."""

    TYPE = OBSERVATION
    if TYPE_CHECKING:  # a pair always has its photo
        image: Image
        image_id: int

    class Meta:
        proxy = True

    @property
    def clue(self) -> str:
        """What was seen."""
        return str(self.fields["clue"])

    @property
    def inference(self) -> str:
        """What was concluded from it."""
        return str(self.fields["inference"])

    @property
    def confidence(self) -> int:
        """How sure the author was, 1 (possible) to 3 (certain)."""
        return int(self.fields["confidence"])

    @property
    def boxes(self) -> list[dict[str, Any]]:
        """The clue's boxes, in pixels of the image."""
        boxes: list[dict[str, Any]] = self.fields["boxes"]
        return boxes
