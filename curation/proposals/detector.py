"""What a detector is, and by which names settings, commands and runs know them. Loads no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.proposals.boxes import to_sizes
from curation.records import InvalidInput

DEFAULT_LIMIT = 100  # proposals per image in the paper (000 §4.2)
CLASSICAL = "classical"
HUGGING_FACE_PREFIX = "hf:"
BoxRow = list[float | int | None]


class DetectorUnavailable(InvalidInput):
    """A detector's package or weights cannot be had here; the message says how to get them."""


@dataclass(frozen=True, slots=True)
class DetectedBoxes:
    """Boxes of one picture, best first.

    corners: (k, 4) int64 left, top, right, bottom in image pixels, half-open, within the picture.
    scores: (k,) float64, never rising; ``None`` where a file gives an order alone.
    """

    corners: NDArray[np.int64]
    scores: NDArray[np.float64] | None

    def rows(self) -> list[BoxRow]:
        """Return ``[[left, top, width, height, score], …]`` as rows of the database keep them."""
        scores = [None] * len(self.corners) if self.scores is None else self.scores.tolist()
        boxes = to_sizes(self.corners).tolist()
        return [[*box, score] for box, score in zip(boxes, scores, strict=True)]


class Detector(Protocol):
    """Proposes boxes that may hold something, whatever it is.

    ``name`` and ``revision`` stand in a run's row: equal ones give equal boxes for equal pictures.
    """

    name: str
    revision: str

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[DetectedBoxes]:
        """Return the boxes of each RGB picture, at most as many as the detector was told to give."""
        ...


def check_detector_name(name: str) -> str:
    """Return a detector's name, as it is.

    Raises:
        DetectorUnavailable: no detector is called so.
    """
    if name == CLASSICAL or (name.startswith(HUGGING_FACE_PREFIX) and len(name) > len(HUGGING_FACE_PREFIX)):
        return name
    raise DetectorUnavailable(
        f"detector {name!r} is not known; use {CLASSICAL}, or {HUGGING_FACE_PREFIX} with a hub id such as "
        f"{HUGGING_FACE_PREFIX}hustvl/yolos-tiny or with a folder of saved weights"
    )
