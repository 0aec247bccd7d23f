"""Outlines of masks as polygons and back.

A pixel at column x and row y covers the square from (x, y) to (x + 1, y + 1), and belongs to a polygon if its centre
does. Polygons are lists of points, as in the published metadata of VCR (Zellers et al. 2019), whose readers fill
each polygon by itself: so a hole is joined to the outline around it by a cut without width.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from hits.domain.images.polygons import Point, Polygon, simplify

Mask = NDArray[np.bool_]
MIN_IOU = 0.95  # of a mask and its simplified polygons
_TOLERANCES = (0.5, 0.25, 0.0)  # pixels; the first that keeps MIN_IOU is used, and the last is exact
_MAX_DROPPED_SHARE = 0.01  # of a mask's pixels, in its smallest pieces
_MIN_POINTS = 3
_Step = tuple[int, int]


@dataclass(slots=True)
class _Piece:
    """A connected part of a mask: its outline, and the outlines of its holes."""

    outline: list[Point] = field(default_factory=list)
    holes: list[list[Point]] = field(default_factory=list)


def mask_polygons(mask: Mask) -> tuple[Polygon, ...]:
    """Return the outlines of a mask, largest piece first; none for an empty mask.

    Drawn again, they have an IoU of at least 0.95 with the mask. Pieces of together up to 1 % of it are left out.

    Args:
        mask: (h, w).
    """
    if not mask.any():
        return ()
    pieces = _large_pieces(mask)
    for tolerance in _TOLERANCES:
        polygons = tuple(filter(None, (_piece_polygon(piece, tolerance) for piece in pieces)))
        if mask_iou(draw_polygons(polygons, mask.shape[1], mask.shape[0]), mask) >= MIN_IOU:
            break
    return polygons


def draw_polygons(polygons: Sequence[Sequence[Point]], width: int, height: int) -> Mask:
    """Return the pixels whose centres lie in any of the polygons, by the even-odd rule: (height, width)."""
    mask = np.zeros((height, width), dtype=np.bool_)
    for polygon in polygons:
        mask |= _draw_polygon(np.asarray(polygon, dtype=np.float64).reshape(-1, 2), width, height)
    return mask


def mask_iou(first: Mask, second: Mask) -> float:
    """Return the intersection over union of two masks of one shape; 1 if both are empty."""
    union = int((first | second).sum())
    return int((first & second).sum()) / union if union else 1.0


def _large_pieces(mask: Mask) -> list[_Piece]:
    """Return the pieces of a mask, largest first, without the smallest ones."""
    labels, count = ndimage.label(mask)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    order = np.argsort(-sizes, kind="stable")
    behind = sizes.sum() - np.cumsum(sizes[order])  # pixels in smaller pieces
    enough = int(np.flatnonzero(behind <= _MAX_DROPPED_SHARE * sizes.sum())[0]) + 1
    pieces = {int(label) + 1: _Piece() for label in order[:enough]}
    for (column, row), loop in _trace_outlines(mask):
        piece = pieces.get(int(labels[row, column]))
        if piece is None:
            continue
        if _signed_area(loop) > 0:
            piece.outline = loop
        else:
            piece.holes.append(loop)
    return list(pieces.values())


def _trace_outlines(mask: Mask) -> Iterator[tuple[_Step, list[Point]]]:
    """Yield the closed outlines of a mask: a pixel at the outline, and the middles of the pixel edges it follows.

    Outlines run along pixel edges with the mask on their right, so that outer ones turn clockwise. Where two pieces
    touch at a corner, the outline turns right and stays with its piece.
    """
    edges = _directed_edges(mask)
    while edges:
        start, steps = next(iter(edges.items()))
        yield _right_pixel(start, steps[-1]), _follow_outline(edges, start, steps[-1])


def _follow_outline(edges: dict[_Step, list[_Step]], start: _Step, step: _Step) -> list[Point]:
    """Remove one closed outline from the edges, and return the middles of its edges."""
    position, loop = start, []
    while True:
        _remove_edge(edges, position, step)
        loop.append((position[0] + step[0] / 2, position[1] + step[1] / 2))
        position = (position[0] + step[0], position[1] + step[1])
        right, steps = (-step[1], step[0]), edges.get(position, [])
        if position == start and right not in steps:
            return loop
        step = right if right in steps else steps[-1]


def _remove_edge(edges: dict[_Step, list[_Step]], position: _Step, step: _Step) -> None:
    edges[position].remove(step)
    if not edges[position]:
        del edges[position]


def _directed_edges(mask: Mask) -> dict[_Step, list[_Step]]:
    """Return the pixel edges at the border of a mask by their starts: (column, row) of a corner to unit steps."""
    padded = np.pad(mask, 1)
    inner = padded[1:-1, 1:-1]
    sides = [  # the neighbour, the corner where the edge starts, its step
        (padded[:-2, 1:-1], (0, 0), (1, 0)),
        (padded[1:-1, 2:], (1, 0), (0, 1)),
        (padded[2:, 1:-1], (1, 1), (-1, 0)),
        (padded[1:-1, :-2], (0, 1), (0, -1)),
    ]
    edges: dict[_Step, list[_Step]] = {}
    for neighbour, (x, y), step in sides:
        rows, columns = np.nonzero(inner & ~neighbour)
        for column, row in zip((columns + x).tolist(), (rows + y).tolist(), strict=True):
            edges.setdefault((column, row), []).append(step)
    return edges


def _right_pixel(position: _Step, step: _Step) -> _Step:
    """Return the pixel on the right of an edge, as (column, row)."""
    x = position[0] - (step[0] < 0 or step[1] > 0)
    y = position[1] - (step[1] < 0 or step[0] < 0)
    return x, y


def _signed_area(points: Sequence[Point]) -> float:
    """Return twice the area of a polygon, positive if it turns clockwise on a screen."""
    array = np.asarray(points)
    following = np.roll(array, -1, axis=0)
    return float((array[:, 0] * following[:, 1] - following[:, 0] * array[:, 1]).sum())


def _piece_polygon(piece: _Piece, tolerance: float) -> Polygon:
    """Return a piece as one polygon; empty if nothing of it is left."""
    points = list(simplify(piece.outline, tolerance))
    if len(points) < _MIN_POINTS:
        return ()
    for hole in piece.holes:
        ring = list(simplify(hole, tolerance))
        if len(ring) >= _MIN_POINTS:
            points = _join_hole(points, ring)
    return tuple(points)


def _join_hole(points: list[Point], hole: list[Point]) -> list[Point]:
    """Join a hole to the nearest point of a polygon: there, around the hole, and back on the same way."""
    outer, inner = np.asarray(points), np.asarray(hole)
    distances = ((outer[:, None] - inner[None]) ** 2).sum(axis=2)
    here, there = divmod(int(distances.argmin()), len(hole))
    return [*points[: here + 1], *hole[there:], *hole[: there + 1], *points[here:]]


def _draw_polygon(points: NDArray[np.float64], width: int, height: int) -> Mask:
    """Return one polygon by the even-odd rule: each edge flips the pixels whose centres are to its right."""
    flips = np.zeros((height, width + 1), dtype=np.int32)
    for (x1, y1), (x2, y2) in zip(points, np.roll(points, -1, axis=0), strict=True):
        low, high = (y1, y2) if y1 < y2 else (y2, y1)
        first, behind = max(0, math.ceil(low - 0.5)), min(height, math.ceil(high - 0.5))
        if first >= behind:
            continue
        rows = np.arange(first, behind)
        crossings = x1 + (rows + 0.5 - y1) * ((x2 - x1) / (y2 - y1))
        columns = np.clip(np.ceil(crossings - 0.5), 0, width).astype(np.int64)
        flips[rows, columns] += 1
    return np.cumsum(flips[:, :width], axis=1) % 2 == 1
