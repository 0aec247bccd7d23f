"""Convert published boxes to pixels of the stored image."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from curation.records import InvalidInput
from curation.sources.records import SourceRegion

Size = tuple[int, int]
ROUNDING = 1e-6  # pixels; tolerance: rounding errors of scaling must not move an edge to the next pixel


@dataclass(frozen=True, slots=True)
class FittedRegions:
    """Regions in the format of rows. clipped: boxes cut at the edge; dropped: boxes without area in the image."""

    regions: list[dict[str, Any]]
    clipped: int
    dropped: int


def check_size(stated: Size, stored: Size, *, allow_resized: bool) -> None:
    """Check that an image has its published size.

    Args:
        allow_resized: accept another size with the same aspect ratio to within one pixel.

    Raises:
        InvalidInput: the size differs, so boxes would not fit.
    """
    if stated == stored or (allow_resized and _has_same_aspect_ratio(stated, stored)):
        return
    hint = "get the published file" if allow_resized else "get the published file, or allow resized copies"
    raise InvalidInput(
        f"the collection says {stated[0]} × {stated[1]}, the file is {stored[0]} × {stored[1]}; {hint}"
    )


def _has_same_aspect_ratio(stated: Size, stored: Size) -> bool:
    """Whether one size is the other scaled, each side rounded to a pixel."""
    ratio = stated[1] / stated[0]
    return abs(stored[0] * ratio - stored[1]) <= 1 + ratio


def fit_regions(regions: Sequence[SourceRegion], stated: Size, stored: Size) -> FittedRegions:
    """Scale boxes from the published to the stored size, expand them to whole pixels, and clip them to the image.

    Annotators exceeded the edge by a few pixels, so such boxes are clipped and counted, not rejected. A box without
    area in the image is dropped and counted.
    """
    fitted, clipped = [], 0
    for region in regions:
        box, cut = _fit_box(region.box, stated, stored)
        if box is not None:
            fitted.append({"id": region.id, "box": box, "text": region.text})
            clipped += cut
    return FittedRegions(fitted, clipped, len(regions) - len(fitted))


def _fit_box(box: Sequence[float], stated: Size, stored: Size) -> tuple[list[int] | None, bool]:
    x_scale, y_scale = stored[0] / stated[0], stored[1] / stated[1]
    left, top = math.floor(box[0] * x_scale + ROUNDING), math.floor(box[1] * y_scale + ROUNDING)
    right, bottom = math.ceil(box[2] * x_scale - ROUNDING), math.ceil(box[3] * y_scale - ROUNDING)
    inside = (max(left, 0), max(top, 0), min(right, stored[0]), min(bottom, stored[1]))
    width, height = inside[2] - inside[0], inside[3] - inside[1]
    if width < 1 or height < 1 or right <= left or bottom <= top:
        return None, False
    return [inside[0], inside[1], width, height], inside != (left, top, right, bottom)
