"""The crops that models see; ``hits.domain.images.region_drawing`` marks a region, for pages and models alike."""

from enum import StrEnum

from PIL import Image as Pillow


class Crop(StrEnum):
    """How a picture that is no square becomes what a model takes.

    ``two_squares``: the squares at both ends, whose vectors are averaged (paper 001 B). ``centre``: the short side is
    scaled and the middle cut out, as CLIP was trained. ``pad``: nothing is cut, the rest is the model's mean colour.
    """

    TWO_SQUARES = "two_squares"
    CENTRE = "centre"
    PAD = "pad"

    @property
    def views(self) -> int:
        """How many squares a picture becomes."""
        return 2 if self is Crop.TWO_SQUARES else 1


def widescreen_squares(picture: Pillow.Image) -> tuple[Pillow.Image, Pillow.Image]:
    """Return the two squares of side min(width, height) at either end of a picture."""
    width, height = picture.size
    side = min(width, height)
    if width >= height:
        return picture.crop((0, 0, side, side)), picture.crop((width - side, 0, width, side))
    return picture.crop((0, 0, side, side)), picture.crop((0, height - side, side, height))
