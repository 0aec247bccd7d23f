"""The objects of an image in a unit: the schema of what ``detections.page_objects`` returns.

Kinds whose texts tag objects share it. The order of objects is part of the unit, because tags are indices into it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import Field

from hits.domain.images.detections import PAGE_POLYGON_POINTS
from hits.domain.schema import Schema, UnitBox
from hits.domain.tagged_text import Segments, TaggedTextError, check_segments

MAX_OBJECTS = 200  # more boxes on one image cannot be told apart
MAX_OBJECT_NAME = 60
MAX_POLYGONS = 200  # of one object
Listed = TypeVar("Listed")
PolygonPoint = Annotated[list[int], Field(min_length=2, max_length=2)]
PagePolygon = Annotated[list[PolygonPoint], Field(min_length=1, max_length=PAGE_POLYGON_POINTS)]


class UnitObject(Schema):
    """One object: its class, its box, and its outline as polygons of ``[x, y]`` points; without any, its box."""

    name: str = Field(min_length=1, max_length=MAX_OBJECT_NAME)
    box: UnitBox
    polygons: list[PagePolygon] = Field(default_factory=list, max_length=MAX_POLYGONS)


def objects_of_unit(objects: Sequence[Listed]) -> Sequence[Listed]:
    """Return the objects of an image's list that a unit holds: the first 200.

    Leaving out the others changes no object's number. No worker has seen them, so that no text may have their tags.
    """
    return objects[:MAX_OBJECTS]


def object_names(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the class of each object of a unit, in order."""
    return [found["name"] for found in objects]


def check_unit_text(text: Segments, objects: Sequence[Any]) -> None:
    """Check a text of a unit: it is not empty, and every tag is one of the unit's objects.

    Raises:
        ValueError: it is empty, or a segment is wrong; the message names the segment and what to do.
    """
    try:
        if not check_segments(list(text), len(objects)):
            raise ValueError("is empty; write a text")
    except TaggedTextError as error:
        raise ValueError(str(error)) from error
