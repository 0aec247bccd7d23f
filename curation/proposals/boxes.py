"""Boxes as arrays: whole pixels, their corners and sizes, and which of them say nothing new."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from validation.domain.agreement.box_agreement import iou_matrix

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def corners_of(boxes: NDArray[np.number]) -> FloatArray:
    """Return left, top, right, bottom of (k, 4) left, top, width, height."""
    boxes = np.asarray(boxes, dtype=np.float64).reshape(-1, 4)
    return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)


def sizes_of(corners: IntArray) -> IntArray:
    """Return left, top, width, height of (k, 4) left, top, right, bottom."""
    return np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)


def whole_pixels(corners: FloatArray, *, width: int, height: int) -> IntArray:
    """Return (k, 4) corners at the nearest whole pixels, cut at the picture's edges.

    A box that is outside or thinner than half a pixel is left with no area.
    """
    inside = np.clip(np.asarray(corners, dtype=np.float64).reshape(-1, 4), 0, [width, height, width, height])
    return np.rint(inside).astype(np.int64)


def distinct(corners: IntArray) -> NDArray[np.intp]:
    """Return the rows that have an area and were not there before, in their order."""
    solid = np.flatnonzero((corners[:, 2] > corners[:, 0]) & (corners[:, 3] > corners[:, 1]))
    first = np.unique(corners[solid], axis=0, return_index=True)[1]
    return solid[np.sort(first)]


def suppress(corners: IntArray, *, over: float, limit: int) -> NDArray[np.intp]:
    """Greedy non-maximum suppression: return up to ``limit`` rows, of which no two have an IoU above ``over``.

    corners: (k, 4), best first, each with an area. A row gives way to an earlier one only.
    """
    left = np.arange(len(corners))
    kept: list[int] = []
    while len(left) and len(kept) < limit:
        kept.append(int(left[0]))
        overlap = iou_matrix(corners[left[:1]].astype(np.float64), corners[left].astype(np.float64))[0]
        overlap[0] = np.inf
        left = left[overlap <= over]
    return np.array(kept, dtype=np.intp)
