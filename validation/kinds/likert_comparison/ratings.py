"""The rating of one candidate inference (Hessel et al. 2022, supplement E, doi:10.1007/978-3-031-20059-5_32)."""

from enum import IntEnum


class Rating(IntEnum):
    """One judgment of one candidate inference for an image and a region."""

    BAD = 1
    OKAY = 2
    GOOD = 3
