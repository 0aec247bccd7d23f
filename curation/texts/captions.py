"""Similarity of clues and inferences to literal captions of the same picture.

The paper compares cosines of sentence vectors with the captions of 2,000 images. It finds clues more similar to
captions than inferences, and compares both with the similarity among captions. Source: Hessel et al. 2022, appendix
"Clues and inferences vs. literal captions", figure 2, doi:10.1007/978-3-031-20059-5_32.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

MIN_COSINE, MAX_COSINE, BINS = -0.2, 1.0, 24
Box = Mapping[str, int]


class CaptionMeasure(StrEnum):
    """How a text is compared with several captions, which the paper does not specify."""

    MEAN = "mean"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class CosineSpread:
    """The distribution of n cosines: mean, quartiles, and counts in ``BINS`` bins (``MIN_COSINE`` to ``MAX_COSINE``).

    Smaller values are counted in the first bin. All are ``None`` if there are no cosines.
    """

    count: int
    mean: float | None
    lower: float | None
    median: float | None
    upper: float | None
    bins: tuple[int, ...]


def describe_spread(cosines: Sequence[float] | NDArray[np.floating]) -> CosineSpread:
    """Return the distribution of cosines, -1 to 1."""
    values = np.asarray(cosines, dtype=np.float64)
    if not len(values):
        return CosineSpread(0, None, None, None, None, (0,) * BINS)
    clipped, axis = np.clip(values, MIN_COSINE, MAX_COSINE), (MIN_COSINE, MAX_COSINE)
    counts, _ = np.histogram(clipped, bins=BINS, range=axis)
    lower, median, upper = np.quantile(values, (0.25, 0.5, 0.75))
    return CosineSpread(
        len(values), float(values.mean()), float(lower), float(median), float(upper), tuple(counts.tolist())
    )


def caption_similarity(
    text: NDArray[np.floating], captions: NDArray[np.floating], measure: CaptionMeasure
) -> float:
    """Return the mean or maximum cosine of a text with its captions.

    text: (d,) and captions: (m, d), m ≥ 1, rows of length 1.
    """
    cosines = captions @ text
    return float(cosines.mean() if measure is CaptionMeasure.MEAN else cosines.max())


def similarity_among_captions(captions: NDArray[np.floating], measure: CaptionMeasure) -> list[float]:
    """Return each caption's similarity to the others of its picture; empty for fewer than two captions.

    captions: (m, d), rows of length 1.
    """
    if len(captions) < 2:  # noqa: PLR2004 - one caption has no other
        return []
    others = (np.delete(captions, row, axis=0) for row in range(len(captions)))
    return [caption_similarity(own, rest, measure) for own, rest in zip(captions, others, strict=True)]


def box_iou(first: Box, second: Box) -> float:
    """Return the intersection over union of two boxes ``{left, top, width, height}``, in pixels."""
    across = _shared_length(first["left"], first["width"], second["left"], second["width"])
    down = _shared_length(first["top"], first["height"], second["top"], second["height"])
    both = across * down
    union = first["width"] * first["height"] + second["width"] * second["height"] - both
    return both / union if union > 0 else 0.0


def _shared_length(start: int, length: int, other: int, other_length: int) -> int:
    return max(0, min(start + length, other + other_length) - max(start, other))


def overlapping_regions(boxes: Sequence[Box], regions: Sequence[Box], limit: int) -> list[int]:
    """Return the regions that overlap one of the boxes, largest overlap first, at most ``limit``.

    Ties keep the order of the regions.
    """
    best = [max((box_iou(box, region) for box in boxes), default=0.0) for region in regions]
    order = sorted(range(len(regions)), key=lambda index: (-best[index], index))
    return [index for index in order[:limit] if best[index] > 0]
