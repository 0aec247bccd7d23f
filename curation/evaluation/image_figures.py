"""Plain figures of an image's pixels: brightness, contrast, sharpness, colourfulness, saturation; distances of style.

They need no model, so a rule that tells images apart by them is a shortcut. Colourfulness: Hasler & Süsstrunk 2003,
doi:10.1117/12.477378. Sharpness is the variance of the Laplacian: Pech-Pacheco et al. 2000,
doi:10.1109/ICPR.2000.903548.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

LUMA = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601
FULL = 255.0
_CHANNELS = 3
_DIMENSIONS = 3
_MIN_SIDE = 3  # of an image that has pixels with four neighbours
_COLOUR_MEAN_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class ImageFigures:
    """Figures of one image.

    brightness, contrast: mean and standard deviation of luma, 0 to 1. sharpness: variance of the Laplacian of luma.
    colourfulness: 0 for grey images, about 1 for very colourful ones at most. saturation: mean of HSV, 0 to 1.
    """

    brightness: float
    contrast: float
    sharpness: float
    colourfulness: float
    saturation: float

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The figures' names in the order of ``as_row``."""
        return tuple(field.name for field in fields(cls))

    def as_row(self) -> tuple[float, ...]:
        """Return the figures as a row of features."""
        return tuple(getattr(self, name) for name in self.names())


@dataclass(frozen=True, slots=True)
class StyleScale:
    """The standard deviation of each figure over some images: what one unit of a distance of style is."""

    deviations: tuple[float, ...]

    @classmethod
    def of(cls, images: Iterable[ImageFigures]) -> "StyleScale":
        """Return the scale over images. A figure that is equal in all of them counts as it is."""
        rows = np.array([image.as_row() for image in images], dtype=np.float64)
        if not len(rows):
            return cls((1.0,) * len(ImageFigures.names()))
        deviations = np.std(rows, axis=0)
        return cls(tuple(np.where(deviations == 0, 1.0, deviations).tolist()))

    def distance(self, one: ImageFigures, other: ImageFigures) -> float:
        """Return how far two images are apart in style: the Euclidean distance of their figures in deviations."""
        difference = np.array(one.as_row()) - np.array(other.as_row())
        return float(np.linalg.norm(difference / np.array(self.deviations)))


RANDOM_PAIR_DISTANCE = math.sqrt(2 * len(ImageFigures.names()))
"""Root mean square distance of style between two images that are drawn from those of the scale."""


def measure_image(pixels: NDArray[np.uint8]) -> ImageFigures:
    """Return the figures of an image.

    Args:
        pixels: (height, width, 3) RGB, 0 to 255.

    Raises:
        InvalidInput: the array has another shape or type, or no pixel.
    """
    if (
        pixels.ndim != _DIMENSIONS
        or pixels.shape[2] != _CHANNELS
        or pixels.dtype != np.uint8
        or not pixels.size
    ):
        raise InvalidInput(
            f"pixels: {pixels.dtype} of shape {pixels.shape}; give (height, width, 3) of uint8"
        )
    colours = pixels.astype(np.float64) / FULL
    luma = colours @ LUMA
    return ImageFigures(
        brightness=float(luma.mean()),
        contrast=float(luma.std()),
        sharpness=_laplacian_variance(luma),
        colourfulness=_colourfulness(colours),
        saturation=_saturation(colours),
    )


def _laplacian_variance(luma: NDArray[np.float64]) -> float:
    """Return the variance over the pixels that have four neighbours; 0 without such pixels."""
    if min(luma.shape) < _MIN_SIDE:
        return 0.0
    neighbours = luma[:-2, 1:-1] + luma[2:, 1:-1] + luma[1:-1, :-2] + luma[1:-1, 2:]
    return float((neighbours - 4 * luma[1:-1, 1:-1]).var())


def _colourfulness(colours: NDArray[np.float64]) -> float:
    red, green, blue = colours[..., 0], colours[..., 1], colours[..., 2]
    red_green, yellow_blue = red - green, (red + green) / 2 - blue
    deviation = np.hypot(red_green.std(), yellow_blue.std())
    return float(deviation + _COLOUR_MEAN_WEIGHT * np.hypot(red_green.mean(), yellow_blue.mean()))


def _saturation(colours: NDArray[np.float64]) -> float:
    highest, lowest = colours.max(axis=2), colours.min(axis=2)
    return float(np.where(highest > 0, (highest - lowest) / np.where(highest > 0, highest, 1.0), 0.0).mean())
