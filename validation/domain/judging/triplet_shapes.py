"""What judges of an image triplet's plausibility see (Ventura et al. 2025 §4.1)."""

from enum import StrEnum


class Shape(StrEnum):
    """What the page shows. All but ``TRIPLET`` measure something about the triplets themselves."""

    TRIPLET = "triplet"  # three images, as in Ventura et al. 2025, fig. 16
    PAIR = "pair"  # the premise with one hypothesis
    HYPOTHESES_ONLY = "hypotheses_only"  # no premise: shows whether the premise is needed
    TEXTS = "texts"  # descriptions instead of images
