"""The unit of a kind that shows an image with its numbered objects (Zellers et al. 2019, §3 and §B.3)."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from hits.domain.answers.text import TextError, clean_line
from hits.domain.images.image_facts import ImageFacts
from hits.domain.images.unit_objects import MAX_OBJECTS, UnitObject
from hits.domain.schema import Schema

MAX_CAPTIONS = 3
MAX_CAPTION = 300  # characters
MAX_NAMES = 200
MAX_NAME = 80  # characters
OTHER_OBJECTS_MESSAGE = "this answer belongs to another unit's object list: reload the task"
SHA256_PATTERN = r"^[0-9a-f]{64}$"
Caption = Annotated[str, Field(min_length=1, max_length=MAX_CAPTION)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]


class ObjectsUnit(Schema):
    """One image with its objects.

    ``objects_sha256`` names the object list that the objects were taken from. ``captions`` are the texts about the
    clip, in order. ``names`` are names of people and films that should not be used; the page does not show them.
    """

    image: int
    objects: list[UnitObject] = Field(min_length=1, max_length=MAX_OBJECTS)
    objects_sha256: str = Field(pattern=SHA256_PATTERN)
    captions: list[Caption] = Field(default_factory=list, max_length=MAX_CAPTIONS)
    names: list[Name] = Field(default_factory=list, max_length=MAX_NAMES)


def clean_names(lines: Iterable[str], *, maximum: int = MAX_NAMES) -> list[str]:
    """Return names for ``ObjectsUnit.names``, one a line: without empty lines and repetitions, in their order.

    Raises:
        TextError: a name is too long or has control characters, or there are more than ``maximum``.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        try:
            name = clean_line(line, maximum=MAX_NAME)
        except TextError as error:
            raise TextError(f"line {number} {error}") from error
        if name:
            found.setdefault(name.casefold(), name)
    if len(found) > maximum:
        raise TextError(f"there are {len(found)} names: use {maximum} or fewer")
    return list(found.values())


def objects_for_page(unit: Mapping[str, Any], images: Mapping[int, ImageFacts]) -> dict[str, Any]:
    """Return what a page shows of an ``ObjectsUnit``: all but the names that should not be used."""
    return {
        "image": images[unit["image"]].as_page_dict(),
        **{name: unit[name] for name in ("objects", "objects_sha256", "captions")},
    }


def object_marks(unit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the boxes of a unit's objects with their numbers, as ``HitKind.marks`` returns them."""
    return [
        {"index": number, "boxes": [dict(found["box"])], "label": str(found["name"]).capitalize()}
        for number, found in enumerate(unit["objects"], start=1)
    ]


def object_share(found: Mapping[str, Any], *, width: int, height: int) -> float:
    """Return the share of the image that an object's box covers, 0 to 1; sizes in pixels."""
    box = found["box"]
    return float(box["width"] * box["height"]) / (width * height)
