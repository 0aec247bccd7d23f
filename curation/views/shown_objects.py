"""Photos with their numbered objects, as pages show them."""

from collections.abc import Sequence
from dataclasses import dataclass

from curation.models import ObjectSet
from hits.domain.images.detections import DetectedObject, page_objects
from hits.domain.images.image_facts import ImageFacts
from hits.selectors.images.images import image_facts

COLOURS = 5
LABELS_ACROSS = 30  # labels that would fit side by side along the photo's longer side


@dataclass(frozen=True, slots=True)
class ShownObject:
    """An object with its number, counted from 1, its outline as an SVG path, and its label in pixels of the photo.

    ``box`` is drawn if there is no outline.
    """

    number: int
    name: str
    score: float
    colour: int
    outline: str
    box: dict[str, int]
    x: float
    y: float
    width: float
    height: float
    text_x: float
    text_y: float
    text_size: float


@dataclass(frozen=True, slots=True)
class ShownPhoto:
    """A photo with an object list."""

    image: ImageFacts
    object_set: ObjectSet
    objects: Sequence[ShownObject]


def show_photo(found: ObjectSet) -> ShownPhoto:
    """Return a photo with the objects of a list, in their order."""
    image = image_facts(found.image)
    objects = [DetectedObject.from_json(raw) for raw in found.detections]
    on_page = page_objects(objects, width=image.width, height=image.height)
    shown = [
        _show_object(number, item.score, drawn["name"], drawn["box"], drawn["polygons"], image)
        for number, (item, drawn) in enumerate(zip(objects, on_page, strict=True), start=1)
    ]
    return ShownPhoto(image, found, shown)


def _show_object(
    number: int,
    score: float,
    name: str,
    box: dict[str, int],
    polygons: Sequence[Sequence[Sequence[int]]],
    image: ImageFacts,
) -> ShownObject:
    size = max(image.width, image.height) / LABELS_ACROSS
    width, height = size * max(1.0, 0.45 + 0.55 * len(str(number))), size
    x = max(0.0, min(box["left"], image.width - width))
    y = max(0.0, min(box["top"], image.height - height))
    return ShownObject(
        number=number,
        name=name,
        score=score,
        colour=(number - 1) % COLOURS + 1,
        outline=" ".join(_path(polygon) for polygon in polygons),
        box=box,
        x=round(x, 1),
        y=round(y, 1),
        width=round(width, 1),
        height=round(height, 1),
        text_x=round(x + width / 2, 1),
        text_y=round(y + height * 0.76, 1),
        text_size=round(size * 0.75, 1),
    )


def _path(polygon: Sequence[Sequence[int]]) -> str:
    return f"M{'L'.join(f'{x} {y}' for x, y in polygon)}z"
