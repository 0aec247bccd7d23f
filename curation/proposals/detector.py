"""The interface of detectors, and their names in settings, commands and runs. This module loads no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.proposals.boxes import to_boxes
from curation.records import InvalidInput
from hits.domain.images.polygons import Polygon

DEFAULT_LIMIT = 100  # proposals per image (Hessel et al. 2022 §4.2)
CLASSICAL = "classical"
DETECTOR_LABELS = {CLASSICAL: "Selective Search"}  # names on pages; others are shown as they are
HUGGING_FACE_PREFIX = "hf:"
SEGMENTATION_PREFIX = "mask:"
BoxRow = list[float | int | None]


class DetectorUnavailable(InvalidInput):
    """A detector's package or weights are not available; the message says how to get them."""


@dataclass(frozen=True, slots=True)
class DetectedBoxes:
    """The boxes of one image, best first.

    corners: (k, 4) int64 left, top, right, bottom in image pixels, half-open, within the image.
    scores: (k,) float64, never rising; ``None`` if a file gives only an order. labels: k classes; ``None`` if the
    detector has none. polygons: the k outlines, each of several polygons or of none; ``None`` without masks.
    """

    corners: NDArray[np.int64]
    scores: NDArray[np.float64] | None
    labels: tuple[str, ...] | None = None
    polygons: tuple[tuple[Polygon, ...], ...] | None = None

    def rows(self) -> list[BoxRow]:
        """Return ``[[left, top, width, height, score], …]``, the format of database rows."""
        scores = [None] * len(self.corners) if self.scores is None else self.scores.tolist()
        boxes = to_boxes(self.corners).tolist()
        return [[*box, score] for box, score in zip(boxes, scores, strict=True)]


class Detector(Protocol):
    """Proposes boxes that may contain an object; models name its class, and segmentation models outline it.

    ``name`` and ``revision`` are stored with a run. Detectors that agree in both give equal boxes for equal images.
    """

    name: str
    revision: str

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[DetectedBoxes]:
        """Return the boxes of each RGB image, at most the detector's limit."""
        ...


def validate_detector_name(name: str) -> str:
    """Return a detector's name unchanged.

    Raises:
        DetectorUnavailable: the name is unknown.
    """
    if name == CLASSICAL or is_model_name(name):
        return name
    raise DetectorUnavailable(
        f"detector {name!r} is not known; use {CLASSICAL}, or {HUGGING_FACE_PREFIX} with a hub id such as "
        f"{HUGGING_FACE_PREFIX}hustvl/yolos-tiny or with a folder of saved weights"
    )


def is_model_name(name: str) -> bool:
    """Return whether a detector is a learned model, which names the classes of its boxes."""
    prefixes = (HUGGING_FACE_PREFIX, SEGMENTATION_PREFIX)
    return any(name.startswith(prefix) and len(name) > len(prefix) for prefix in prefixes)
