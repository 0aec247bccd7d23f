"""Boxes as arrays: rounding to pixels, corners and sizes, removal of duplicates."""

import numpy as np
from numpy.typing import NDArray

from validation.domain.agreement.box_agreement import iou_matrix

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def to_corners(boxes: NDArray[np.number]) -> FloatArray:
    """Return left, top, right, bottom of (k, 4) left, top, width, height."""
    boxes = np.asarray(boxes, dtype=np.float64).reshape(-1, 4)
    return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)


def to_boxes(corners: IntArray) -> IntArray:
    """Return left, top, width, height of (k, 4) left, top, right, bottom."""
    return np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)


def round_to_pixels(corners: FloatArray, *, width: int, height: int) -> IntArray:
    """Return (k, 4) corners rounded to whole pixels and clipped to the image.

    A box that is outside or thinner than half a pixel gets no area.
    """
    inside = np.clip(np.asarray(corners, dtype=np.float64).reshape(-1, 4), 0, [width, height, width, height])
    return np.rint(inside).astype(np.int64)


def find_distinct_boxes(corners: IntArray) -> NDArray[np.intp]:
    """Return the indices of the boxes that have an area and do not repeat an earlier box, in order."""
    with_area = np.flatnonzero((corners[:, 2] > corners[:, 0]) & (corners[:, 3] > corners[:, 1]))
    first = np.unique(corners[with_area], axis=0, return_index=True)[1]
    return with_area[np.sort(first)]


def suppress_overlaps(corners: IntArray, *, max_overlap: float, limit: int) -> NDArray[np.intp]:
    """Greedy non-maximum suppression: return the indices of up to ``limit`` boxes.

    corners: (k, 4), best first, each with an area. A selected box suppresses later boxes whose IoU with it is above
    ``max_overlap``.
    """
    candidates = np.arange(len(corners))
    selected: list[int] = []
    while len(candidates) and len(selected) < limit:
        selected.append(int(candidates[0]))
        best, others = corners[candidates[:1]], corners[candidates]
        overlap = iou_matrix(best.astype(np.float64), others.astype(np.float64))[0]
        overlap[0] = np.inf
        candidates = candidates[overlap <= max_overlap]
    return np.array(selected, dtype=np.intp)
