"""Draw a region into a picture, as the published training code does.

This is the only rendering of a region: judges see it, models get it, and an export can contain it, so that people
and models see the same picture.

Constants and drawing order are the published ones: the boxes of a region share one transparent overlay and overwrite
it (overlaps do not darken), the 3-pixel outline is inside, corners are inclusive, and the whole picture is drawn
before any crop.

Several objects are told apart by outlines in colours of their own (``outline_boxes``), which texts can name.
"""

import io
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import cycle
from types import MappingProxyType
from typing import Protocol

from PIL import Image as Pillow
from PIL import ImageDraw

HIGHLIGHT_FILL = "#ff05cd3c"
HIGHLIGHT_OUTLINE = "#05ff37ff"
COVER = "#7B7575ff"
POSITION_FILL = "#ff05cdff"
OUTLINE_WIDTH = 3
OBJECT_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "red": "#e6194b",
        "blue": "#0050ff",
        "green": "#00b830",
        "yellow": "#ffe119",
        "orange": "#ff8000",
        "purple": "#8000c0",
        "pink": "#ff80d0",
        "cyan": "#00e0f0",
        "brown": "#804000",
        "white": "#ffffff",
        "black": "#000000",
        "gray": "#909090",
    }
)
"""Colours of outlines by their plain English names, in the order in which they are used."""
OUTLINES_PER_SIDE = 75
"""An outline is this fraction of the picture's short side, so that it survives scaling to a model's input."""
_JPEG_QUALITY = 95
_FULL_COLOUR = 0  # Pillow's name for 4:4:4, chroma as fine as luma


class RegionMode(StrEnum):
    """The visible part of the picture and its region.

    Names in the ablations (Hessel et al. 2022 fig. 4): ``NONE`` is "no region", ``ONLY_REGION`` "no context",
    ``POSITION_ONLY`` "position only". ``HIDE`` covers the region and leaves its context: "only context" and
    "hide region" are both this mode.
    """

    NONE = "none"
    HIGHLIGHT = "highlight"
    HIDE = "hide"
    ONLY_CONTEXT = HIDE
    ONLY_REGION = "only_region"
    POSITION_ONLY = "position_only"

    @classmethod
    def _missing_(cls, value: object) -> "RegionMode | None":
        return {"only_context": cls.HIDE, "hide_region": cls.HIDE}.get(str(value))


class DrawableBox(Protocol):
    """One box in pixels of the natural image: left and top edge, then size.

    Our boxes are whole pixels. Published boxes may have fractions, which are drawn as in the published code.
    """

    @property
    def left(self) -> float:
        """The first column."""

    @property
    def top(self) -> float:
        """The first row."""

    @property
    def width(self) -> float:
        """The number of columns."""

    @property
    def height(self) -> float:
        """The number of rows."""


def draw_region(picture: Pillow.Image, region: Sequence[DrawableBox], mode: RegionMode) -> Pillow.Image:
    """Return a picture of the same size with the region drawn: RGBA, or the picture itself for ``NONE``.

    Args:
        picture: any mode; natural size, since boxes are in its pixels.
        region: the boxes of one region.
    """
    if mode is RegionMode.NONE:
        return picture
    base = picture.convert("RGBA")
    covers_all = mode in {RegionMode.ONLY_REGION, RegionMode.POSITION_ONLY}
    overlay = Pillow.new("RGBA", base.size, COVER if covers_all else "#00000000")
    draw = ImageDraw.Draw(overlay, "RGBA")
    for box in region:
        corners = ((box.left, box.top), (box.left + box.width, box.top + box.height))
        if mode is RegionMode.HIGHLIGHT:
            draw.rectangle(corners, fill=HIGHLIGHT_FILL, outline=HIGHLIGHT_OUTLINE, width=OUTLINE_WIDTH)
        elif mode is RegionMode.HIDE:
            draw.rectangle(corners, fill=COVER)
        elif mode is RegionMode.POSITION_ONLY:
            draw.rectangle(corners, fill=POSITION_FILL)
        else:
            draw.rectangle(corners, fill="#00000000")
    return Pillow.alpha_composite(base, overlay)


def outline_boxes(picture: Pillow.Image, boxes: Sequence[DrawableBox]) -> Pillow.Image:
    """Return an RGB copy of a picture in which box k is outlined in colour k of ``OBJECT_COLOURS``.

    After the last colour the first is used again. Later outlines cover earlier ones. Nothing is filled, so that the
    objects stay visible.
    """
    drawn = picture.convert("RGB")
    draw = ImageDraw.Draw(drawn)
    width = max(OUTLINE_WIDTH, min(picture.size) // OUTLINES_PER_SIDE)
    for box, colour in zip(boxes, cycle(OBJECT_COLOURS.values())):
        corners = ((box.left, box.top), (box.left + box.width, box.top + box.height))
        draw.rectangle(corners, outline=colour, width=width)
    return drawn


def highlighted_jpeg(picture: Pillow.Image, region: Sequence[DrawableBox]) -> bytes:
    """Return the picture with its region highlighted, as a JPEG file of the same size. Equal input gives equal bytes.

    JPEG, because a photo of 1920 pixels takes megabytes as a PNG. Quality 95 and full colour resolution, because
    halved chroma smears the bright outline of three pixels.
    """
    file = io.BytesIO()
    drawn = draw_region(picture, region, RegionMode.HIGHLIGHT).convert("RGB")
    drawn.save(file, "JPEG", quality=_JPEG_QUALITY, subsampling=_FULL_COLOUR)
    return file.getvalue()
