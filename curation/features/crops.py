"""The crops that models see. ``hits.domain.images.region_drawing`` draws regions, for pages and models alike."""

from enum import StrEnum


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
