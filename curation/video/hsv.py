"""How much two frames differ: the mean difference of their pixels in HSV.

Zellers et al. 2019 §B.1 register a shot boundary at "a mean difference of 30 in HSV" and name no library. The score
here is that of the library whose default was 30 at that time: the mean over all pixels and the three channels, in
OpenCV's 8-bit HSV. The conversion equals OpenCV's for each of the 2^24 colours.
"""

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

HUES = 180  # OpenCV halves degrees, so that a hue fits into a byte
_SHIFT = 12  # bits after the point in the fixed-point tables
_HALF = 1 << (_SHIFT - 1)


def _reciprocals(numerator: float) -> NDArray[np.int32]:
    """Return ``numerator / n`` for n of 0 to 255 in fixed point; 0 for n = 0."""
    table = np.zeros(256, dtype=np.int32)
    table[1:] = np.rint(numerator * (1 << _SHIFT) / np.arange(1, 256))
    return table


_SATURATION_TABLE = _reciprocals(255.0)
_HUE_TABLE = _reciprocals(HUES / 6.0)


def to_hsv(pixels: Pixels) -> Pixels:
    """Return RGB pixels as OpenCV's 8-bit HSV: hue 0 to 179, saturation and value 0 to 255.

    Args:
        pixels: (…, 3) uint8, red, green, blue.
    """
    red, green, blue = (pixels[..., channel].astype(np.int32) for channel in range(3))
    value = np.maximum(np.maximum(red, green), blue)
    spread = value - np.minimum(np.minimum(red, green), blue)
    saturation = (spread * _SATURATION_TABLE[value] + _HALF) >> _SHIFT
    sector = np.where(
        value == red,
        green - blue,
        np.where(value == green, blue - red + 2 * spread, red - green + 4 * spread),
    )
    hue = (sector * _HUE_TABLE[spread] + _HALF) >> _SHIFT
    hue += HUES * (hue < 0)
    return np.stack([hue, saturation, value], axis=-1).astype(np.uint8)


def frame_score(earlier: Pixels, later: Pixels) -> float:
    """Return the mean absolute difference of two frames in HSV over pixels and channels, 0 to 255.

    Hues are compared as numbers, not around the circle, as by OpenCV-based shot detectors.

    Args:
        earlier, later: (h, w, 3) uint8 HSV of one size.
    """
    return float(np.abs(earlier.astype(np.int16) - later).mean())
