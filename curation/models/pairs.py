"""Sherlock's observation pair: a record with named fields."""

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hits.models import Image, Record
from hits.observing.pairs import OBSERVATION


class Part(StrEnum):
    """The parts of a version of the Sherlock family; the values are used in checksum lists."""

    OBSERVATION = OBSERVATION
    COMPARISON = "comparison"


class Pair(Record):
    """A record of type ``observation``. Querysets address its fields as ``fields__clue`` and so on."""

    TYPE = OBSERVATION
    if TYPE_CHECKING:  # a pair always has a photo
        image: Image
        image_id: int

    class Meta:
        proxy = True

    @property
    def clue(self) -> str:
        """The clue: what the author saw in the boxes."""
        return str(self.fields["clue"])

    @property
    def inference(self) -> str:
        """The inference: what the author concluded from the clue."""
        return str(self.fields["inference"])

    @property
    def confidence(self) -> int:
        """The author's confidence, 1 (possible) to 3 (certain)."""
        return int(self.fields["confidence"])

    @property
    def boxes(self) -> list[dict[str, Any]]:
        """The clue's boxes, in pixels of the image."""
        boxes: list[dict[str, Any]] = self.fields["boxes"]
        return boxes
