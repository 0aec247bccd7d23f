"""Polygons cut at the edges of an image."""

from collections.abc import Sequence

from hits.domain.images.polygons import Point, Polygon

_MIN_POINTS = 3


def cut_polygons(
    polygons: Sequence[Sequence[Point]], width: float, height: float
) -> tuple[tuple[Polygon, ...], int]:
    """Cut polygons at the edges of an image.

    Returns:
        The parts inside the image, and the number of polygons that were cut; polygons outside count as cut too.
    """
    inside, cut = [], 0
    for polygon in polygons:
        if all(0 <= x <= width and 0 <= y <= height for x, y in polygon):
            inside.append(tuple(polygon))
            continue
        cut += 1
        part = _clip(list(polygon), width, height)
        if len(part) >= _MIN_POINTS:
            inside.append(tuple(part))
    return tuple(inside), cut


def _clip(points: list[Point], width: float, height: float) -> list[Point]:
    """Return the part of a polygon inside a rectangle (Sutherland and Hodgman 1974, doi:10.1145/360767.360802)."""
    for axis, limit, keeps_below in ((0, 0.0, False), (0, width, True), (1, 0.0, False), (1, height, True)):
        points = _clip_side(points, axis, limit, keeps_below=keeps_below)
    return points


def _clip_side(points: Sequence[Point], axis: int, limit: float, *, keeps_below: bool) -> list[Point]:
    def is_inside(point: Point) -> bool:
        return point[axis] <= limit if keeps_below else point[axis] >= limit

    kept: list[Point] = []
    for index, point in enumerate(points):
        before = points[index - 1]
        if is_inside(point) != is_inside(before):
            kept.append(_crossing(before, point, axis, limit))
        if is_inside(point):
            kept.append(point)
    return kept


def _crossing(start: Point, end: Point, axis: int, limit: float) -> Point:
    share = (limit - start[axis]) / (end[axis] - start[axis])
    other = start[1 - axis] + share * (end[1 - axis] - start[1 - axis])
    return (limit, other) if axis == 0 else (other, limit)
