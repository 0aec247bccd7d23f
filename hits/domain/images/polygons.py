"""Outlines of objects as polygons in pixels of the image."""

import math
from collections.abc import Sequence

Point = tuple[float, float]
Polygon = tuple[Point, ...]


def simplify(polygon: Sequence[Point], tolerance: float) -> Polygon:
    """Return a closed polygon without the points that are within ``tolerance`` pixels of the simplified outline.

    Source: Douglas and Peucker 1973, doi:10.3138/FM57-6770-U75U-7727. The outline is cut at its first point and at
    the point that is farthest from it, and both halves are simplified.
    """
    points = list(polygon)
    if len(points) <= 3:  # noqa: PLR2004
        return tuple(points)
    farthest = max(range(len(points)), key=lambda i: math.dist(points[0], points[i]))
    if farthest == 0:
        return tuple(points[:1])
    first = _simplify_line(points[: farthest + 1], tolerance)
    second = _simplify_line([*points[farthest:], points[0]], tolerance)
    return tuple(first[:-1] + second[:-1])


def simplify_to_limit(polygon: Sequence[Point], *, tolerance: float, most: int) -> Polygon:
    """Return the polygon simplified, with a tolerance that is doubled until it has at most ``most`` points."""
    found = simplify(polygon, tolerance)
    while len(found) > most:
        tolerance *= 2
        found = simplify(polygon, tolerance)
    return found


def _simplify_line(points: Sequence[Point], tolerance: float) -> list[Point]:
    """Return an open line simplified; a stack instead of recursion, because outlines have thousands of points."""
    kept = {0, len(points) - 1}
    pending = [(0, len(points) - 1)]
    while pending:
        start, end = pending.pop()
        distance, index = max(
            ((_distance_to_segment(points[i], points[start], points[end]), i) for i in range(start + 1, end)),
            default=(0.0, start),
        )
        if distance > tolerance:
            kept.add(index)
            pending += [(start, index), (index, end)]
    return [points[i] for i in sorted(kept)]


def _distance_to_segment(point: Point, start: Point, end: Point) -> float:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = dx * dx + dy * dy
    if length == 0:
        return math.dist(point, start)
    share = min(max(((point[0] - start[0]) * dx + (point[1] - start[1]) * dy) / length, 0.0), 1.0)
    return math.dist(point, (start[0] + share * dx, start[1] + share * dy))
