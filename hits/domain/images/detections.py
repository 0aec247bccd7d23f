"""Detected objects of an image. Their order is part of the data, because tags of texts are indices into it.

Layout of the published metadata: the readme of VCR 1.0 (Zellers et al. 2019).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hits.domain.hashing import content_sha256
from hits.domain.images.polygons import Polygon, simplify_to_limit

PERSON = "person"
PAGE_POLYGON_POINTS = 200
PAGE_POLYGON_TOLERANCE = 0.5  # pixels


@dataclass(frozen=True, slots=True)
class DetectedObject:
    """One object: its class, its box ``(x1, y1, x2, y2)`` in pixels, its score in [0, 1], and its outline.

    ``polygons`` may be several, or none: then the box is drawn.
    """

    name: str
    box: tuple[float, float, float, float]
    score: float
    polygons: tuple[Polygon, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the object as stored in an object list."""
        return {
            "name": self.name,
            "box": list(self.box),
            "score": self.score,
            "polygons": [[list(point) for point in polygon] for polygon in self.polygons],
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "DetectedObject":
        """Return a stored object."""
        x1, y1, x2, y2 = raw["box"]
        polygons = tuple(tuple((x, y) for x, y in polygon) for polygon in raw["polygons"])
        return cls(raw["name"], (x1, y1, x2, y2), raw["score"], polygons)


def order_objects(objects: Sequence[DetectedObject]) -> list[DetectedObject]:
    """Return new detections in the order that their list keeps for ever: by descending score, ties by box."""
    return sorted(objects, key=lambda found: (-found.score, found.box, found.name))


def objects_sha256(objects: Sequence[DetectedObject]) -> str:
    """Return the hash of an object list; units and triplets name the list that they were written with by it."""
    return content_sha256([found.as_json() for found in objects])


def is_person(name: str) -> bool:
    """Return whether a class is the class of people."""
    return name == PERSON


def page_objects(objects: Sequence[DetectedObject], *, width: int, height: int) -> list[dict[str, Any]]:
    """Return the objects as a unit shows them, in the same order.

    Boxes are whole pixels within the image, and polygons have at most 200 points.

    Args:
        objects: the image's object list.
        width, height: size of the image in pixels.
    """
    return [
        {
            "name": found.name,
            "box": _page_box(found.box, width, height),
            "polygons": [
                [[round(x), round(y)] for x, y in _page_polygon(polygon)] for polygon in found.polygons
            ],
        }
        for found in objects
    ]


def _page_polygon(polygon: Polygon) -> Polygon:
    return simplify_to_limit(polygon, tolerance=PAGE_POLYGON_TOLERANCE, most=PAGE_POLYGON_POINTS)


def _page_box(box: Sequence[float], width: int, height: int) -> dict[str, int]:
    left, top = min(max(math.floor(box[0]), 0), width - 1), min(max(math.floor(box[1]), 0), height - 1)
    right, bottom = min(max(math.ceil(box[2]), left + 1), width), min(max(math.ceil(box[3]), top + 1), height)
    return {"left": left, "top": top, "width": right - left, "height": bottom - top}
