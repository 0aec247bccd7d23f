"""Object lists in pixels of the stored image, from published objects.

Their order is kept, because tags of texts are indices into it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from curation.records import InvalidInput
from curation.sources.boxes import Size
from curation.sources.polygon_cuts import cut_polygons
from curation.sources.records import SourceRegion
from hits.domain.images.detections import DetectedObject

CERTAIN = 1.0  # the score of objects that are published without one
Corners = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class FittedObjects:
    """An image's objects. cut_boxes, cut_polygons: those that exceeded the image and were cut at its edge."""

    objects: list[DetectedObject]
    cut_boxes: int
    cut_polygons: int


def check_boxes(regions: Sequence[SourceRegion], size: Size, location: str) -> None:
    """Check that each box has an area in an image of (width, height) pixels, and that scores are from 0 to 1.

    Raises:
        InvalidInput: the first box that does not; the message has its index.
    """
    for region in regions:
        left, top, right, bottom = region.box
        where = f"{location}, box {region.id}"
        if right <= left or bottom <= top:
            raise InvalidInput(f"{where}: has no area; boxes are [x1, y1, x2, y2]")
        if left >= size[0] or top >= size[1] or right <= 0 or bottom <= 0:
            raise InvalidInput(
                f"{where}: is outside of its image of {size[0]} × {size[1]} pixels; is it another image?"
            )
        if region.score is not None and not 0 <= region.score <= 1:
            raise InvalidInput(f"{where}: its score is {region.score:g}; it must be from 0 to 1")
        if not region.text:
            raise InvalidInput(f"{where}: its name is empty; give its class")


def fit_objects(regions: Sequence[SourceRegion], stated: Size, stored: Size) -> FittedObjects:
    """Scale objects from the published to the stored size, and cut boxes and polygons at the edge of the image.

    No object is left out, because this would renumber the ones after it.
    """
    objects, cut_boxes, cut_outlines = [], 0, 0
    x_scale, y_scale = stored[0] / stated[0], stored[1] / stated[1]
    for region in regions:
        box, is_cut = _fit_box(region.box, x_scale, y_scale, stored)
        polygons = [[(x * x_scale, y * y_scale) for x, y in polygon] for polygon in region.polygons]
        inside, cut = cut_polygons(polygons, *stored)
        cut_boxes += is_cut
        cut_outlines += cut
        score = CERTAIN if region.score is None else min(max(region.score, 0.0), 1.0)
        objects.append(DetectedObject(region.text, box, score, inside))
    return FittedObjects(objects, cut_boxes, cut_outlines)


def _fit_box(box: Corners, x_scale: float, y_scale: float, stored: Size) -> tuple[Corners, bool]:
    scaled = (box[0] * x_scale, box[1] * y_scale, box[2] * x_scale, box[3] * y_scale)
    left, right = (min(max(scaled[side], 0.0), float(stored[0])) for side in (0, 2))
    top, bottom = (min(max(scaled[side], 0.0), float(stored[1])) for side in (1, 3))
    inside = (left, top, right, bottom)
    return inside, inside != scaled
