"""The crops that models see. ``hits.domain.images.region_drawing`` draws regions, for pages and models alike."""

from enum import StrEnum

from PIL import Image as Pillow


class Crop(StrEnum):
    """How a non-square image becomes a model's square input.

    ``two_squares``: the squares at both ends, whose vectors are averaged (Hessel et al. 2022, appendix B).
    ``centre``: the middle of the image, scaled by its short side, as CLIP was trained. ``pad``: the whole image on a
    square of the mean colour.
    """

    TWO_SQUARES = "two_squares"
    CENTRE = "centre"
    PAD = "pad"

    @property
    def view_count(self) -> int:
        """Number of squares per image."""
        return 2 if self is Crop.TWO_SQUARES else 1


def crop_end_squares(picture: Pillow.Image) -> tuple[Pillow.Image, Pillow.Image]:
    """Return the squares of side min(width, height) at both ends of an image."""
    width, height = picture.size
    side = min(width, height)
    if width >= height:
        return picture.crop((0, 0, side, side)), picture.crop((width - side, 0, width, side))
    return picture.crop((0, 0, side, side)), picture.crop((0, height - side, side, height))
