"""Where three images stand in one combined picture, and a rule that looks at one pixel (Ventura et al. 2025 §4.1).

The combined picture is white, 512 px high, with the premise on the left, and no text: labels would be read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

COMBINED_HEIGHT = 512
COMBINED_GAP = 16
_LUMA = np.array([299, 587, 114], dtype=np.int64)  # ITU-R BT.601, in thousandths


@dataclass(frozen=True, slots=True)
class CombinedLayout:
    """Widths and left edges of the images in a combined picture, and its size (width, height); all in pixels."""

    widths: tuple[int, ...]
    lefts: tuple[int, ...]
    size: tuple[int, int]


def combined_layout(sizes: Sequence[tuple[int, int]]) -> CombinedLayout:
    """Return the layout of images with these sizes (width, height), each scaled to the height of the picture.

    A width is rounded half up and is at least one pixel.

    Raises:
        InvalidInput: there is no image, or one has no area.
    """
    if not sizes or min(map(min, sizes)) < 1:
        raise InvalidInput("images: one is missing or has no area; give each image")
    widths = [max(1, (2 * width * COMBINED_HEIGHT + height) // (2 * height)) for width, height in sizes]
    lefts = [sum(widths[:index]) + index * COMBINED_GAP for index in range(len(widths))]
    return CombinedLayout(tuple(widths), tuple(lefts), (lefts[-1] + widths[-1], COMBINED_HEIGHT))


def brighter_hypotheses(first: NDArray[np.integer], second: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return which of two hypotheses has the brighter upper left pixel: (n,) 1 or 2, 0 if both are equal.

    The rule ignores the premise and the order, so its accuracy is 50 % if pixels tell nothing about plausibility.

    Args:
        first, second: (n, 3) the upper left pixel of h1 and of h2, as RGB.
    """
    difference = (first.astype(np.int64) - second.astype(np.int64)) @ _LUMA
    return np.select([difference > 0, difference < 0], [1, 2], 0).astype(np.int64)
