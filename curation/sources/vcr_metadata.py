"""Read the published metadata of an image: boxes, outlines and names of its objects.

The layout (readme of VCR 1.0, Zellers et al. 2019; the files also have ``names``): ``boxes`` is
``[[x1, y1, x2, y2, score], …]``, ``segms`` has a list of polygons ``[[x, y], …]`` for each object, perhaps several or
none, ``names`` has the class of each object, and ``width`` and ``height`` are the image's pixels.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from curation.records import InvalidInput
from curation.sources import fields
from curation.sources.json_stream import parse_json
from curation.sources.records import SourceRegion
from hits.domain.images.detections import DetectedObject
from hits.domain.images.polygons import Polygon

MAX_METADATA_BYTES = 1 << 26
CORNERS, CORNERS_AND_SCORE = 4, 5
_MIN_POINTS = 3  # polygons with fewer have no area


@dataclass(frozen=True, slots=True)
class ImageMetadata:
    """An image's published size in pixels, and its objects in published order."""

    width: int
    height: int
    objects: tuple[SourceRegion, ...]


def object_fields(objects: Sequence[DetectedObject]) -> dict[str, Any]:
    """Return the fields of an image's metadata that describe its objects, as published."""
    return {
        "boxes": [[*found.box, found.score] for found in objects],
        "segms": [[[list(point) for point in polygon] for polygon in found.polygons] for found in objects],
        "names": [found.name for found in objects],
    }


def read_metadata(path: Path, location: str, names: Sequence[str] | None = None) -> ImageMetadata:
    """Return the content of a metadata file. For the arguments see ``parse_metadata``.

    Raises:
        InvalidInput: the file cannot be read, or is malformed.
    """
    try:
        if path.stat().st_size > MAX_METADATA_BYTES:
            raise InvalidInput(f"{location}: is too large for an image's metadata; get the published file")
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{location}: cannot be read; get the published file again") from error
    return parse_metadata(fields.require_object(parse_json(text, location), location), location, names)


def parse_metadata(
    record: Mapping[str, Any], location: str, names: Sequence[str] | None = None
) -> ImageMetadata:
    """Return an image's metadata.

    Args:
        location: of the record, for messages. names: the classes that an annotation file states; they replace
            missing names, and must equal given ones.

    Raises:
        InvalidInput: a field is missing or malformed, or boxes, names and outlines differ in number.
    """
    boxes = fields.require_list(record, "boxes", location)
    classes = _object_names(record, names, location)
    if len(classes) != len(boxes):
        counts = f"{len(boxes)} boxes and {len(classes)} names"
        raise InvalidInput(f"{location}: has {counts}; get the published file again")
    objects = [
        _parse_object(index, box, name, f"{location}, box {index}")
        for index, (box, name) in enumerate(zip(boxes, classes, strict=True))
    ]
    outlines = _outlines(record, len(boxes), location)
    objects = [replace(item, polygons=found) for item, found in zip(objects, outlines, strict=True)]
    width, height = (
        fields.require_integer(record, name, location, minimum=1) for name in ("width", "height")
    )
    return ImageMetadata(width, height, tuple(objects))


def _object_names(record: Mapping[str, Any], objects: Sequence[str] | None, location: str) -> Sequence[str]:
    if "names" not in record:
        if objects is None:
            raise InvalidInput(
                f"{location}: has no names; give the annotation files, which have the same objects"
            )
        return objects
    names = fields.require_list(record, "names", location)
    if not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"{location}: names must be a list of texts")
    cleaned = [fields.clean_text(name) for name in names]
    if objects is not None and list(objects) != cleaned:
        raise InvalidInput(
            f"{location}: its names differ from the objects of the annotation files; use files of one release"
        )
    return cleaned


def _outlines(record: Mapping[str, Any], count: int, location: str) -> list[tuple[Polygon, ...]]:
    """Return the polygons of each object; none if the record has no outlines."""
    if record.get("segms") is None:
        return [()] * count
    segms = fields.require_list(record, "segms", location)
    if len(segms) != count:
        raise InvalidInput(
            f"{location}: has {count} boxes and {len(segms)} segms; get the published file again"
        )
    return [_parse_polygons(raw, f"{location}, segms {index}") for index, raw in enumerate(segms)]


def _parse_polygons(raw: Any, location: str) -> tuple[Polygon, ...]:
    """Return an object's polygons. An empty mask has none, and polygons without an area are left out."""
    if raw is None:
        return ()
    if not isinstance(raw, list) or not all(isinstance(polygon, list) for polygon in raw):
        raise InvalidInput(
            f"{location}: is {json.dumps(raw)[:40]}; it must be a list of polygons [[x, y], …]"
        )
    polygons = (tuple(_parse_point(point, location) for point in polygon) for polygon in raw)
    return tuple(polygon for polygon in polygons if len(polygon) >= _MIN_POINTS)


def _parse_point(raw: Any, location: str) -> tuple[float, float]:
    if not isinstance(raw, list) or len(raw) != 2:  # noqa: PLR2004 - x and y
        raise InvalidInput(f"{location}: {json.dumps(raw)[:40]} is not a point; polygons are [[x, y], …]")
    x, y = (fields.require_number(value, "a coordinate", location) for value in raw)
    return x, y


def _parse_object(index: int, box: Any, name: str, location: str) -> SourceRegion:
    if not isinstance(box, list) or len(box) not in {CORNERS, CORNERS_AND_SCORE}:
        raise InvalidInput(f"{location}: is {json.dumps(box)[:40]}; it must be [x1, y1, x2, y2, score]")
    left, top, right, bottom = (fields.require_number(edge, "an edge", location) for edge in box[:CORNERS])
    score = fields.require_number(box[CORNERS], "its score", location) if len(box) > CORNERS else None
    return SourceRegion(str(index), (left, top, right, bottom), name, score)
