"""Mark a region in a picture, as the published training code draws it.

Constants and order of drawing are the published ones: the boxes of a region share one transparent overlay and
overwrite it (overlaps do not darken), the 3-pixel outline lies inside, corners are inclusive, and drawing
happens on the whole picture, before any crop.
"""

from collections.abc import Sequence
from enum import StrEnum

from PIL import Image as Pillow
from PIL import ImageDraw

from curation.records import Region

HIGHLIGHT_FILL = "#ff05cd3c"
HIGHLIGHT_OUTLINE = "#05ff37ff"
COVER = "#7B7575ff"
POSITION_FILL = "#ff05cdff"
OUTLINE_WIDTH = 3


class RegionMode(StrEnum):
    """What of the picture and its region a model sees."""

    NONE = "none"
    HIGHLIGHT = "highlight"
    HIDE = "hide"
    ONLY_REGION = "only_region"
    POSITION_ONLY = "position_only"


def draw_region(picture: Pillow.Image, regions: Sequence[Region], mode: RegionMode) -> Pillow.Image:
    """Return a picture of the same size with the region drawn: RGBA, or the given one for ``NONE``.

    Args:
        picture: any mode; natural size, since boxes are its pixels.
        regions: the boxes of one region.
    """
    if mode is RegionMode.NONE:
        return picture
    ground = picture.convert("RGBA")
    covers_all = mode in {RegionMode.ONLY_REGION, RegionMode.POSITION_ONLY}
    overlay = Pillow.new("RGBA", ground.size, COVER if covers_all else "#00000000")
    pen = ImageDraw.Draw(overlay, "RGBA")
    for box in regions:
        corners = ((box.left, box.top), (box.left + box.width, box.top + box.height))
        if mode is RegionMode.HIGHLIGHT:
            pen.rectangle(corners, fill=HIGHLIGHT_FILL, outline=HIGHLIGHT_OUTLINE, width=OUTLINE_WIDTH)
        elif mode is RegionMode.HIDE:
            pen.rectangle(corners, fill=COVER)
        elif mode is RegionMode.POSITION_ONLY:
            pen.rectangle(corners, fill=POSITION_FILL)
        else:
            pen.rectangle(corners, fill="#00000000")
    return Pillow.alpha_composite(ground, overlay)


def widescreen_squares(picture: Pillow.Image) -> tuple[Pillow.Image, Pillow.Image]:
    """Return the two squares of side min(width, height) at either end of a picture."""
    width, height = picture.size
    side = min(width, height)
    if width >= height:
        return picture.crop((0, 0, side, side)), picture.crop((width - side, 0, width, side))
    return picture.crop((0, 0, side, side)), picture.crop((0, height - side, side, height))
