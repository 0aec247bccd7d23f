"""The crops that models see. How a region is marked stands in ``hits.domain.regions``, for pages and models alike."""

from PIL import Image as Pillow


def widescreen_squares(picture: Pillow.Image) -> tuple[Pillow.Image, Pillow.Image]:
    """Return the two squares of side min(width, height) at either end of a picture."""
    width, height = picture.size
    side = min(width, height)
    if width >= height:
        return picture.crop((0, 0, side, side)), picture.crop((width - side, 0, width, side))
    return picture.crop((0, 0, side, side)), picture.crop((0, height - side, side, height))
