"""The augmentations of training: window, flip, grey, brightness and hue, drawn for each view of an image.

All random values are drawn in advance as plain arrays, so that they depend on the step alone and not on the division
of the batch among processes. The pixels are then processed in whole batches on the device. The code has the
same effect as torchvision, which this project does not use: ``RandomCrop``, ``RandomHorizontalFlip`` at .5,
``RandomGrayscale``, ``ColorJitter(brightness=.5, hue=.3)`` in random order. Source: Hessel et al. 2022, appendix B;
the published code does the same, but its grayscale is commented out.
"""

from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray

BRIGHTNESS, HUE, FLIP = 0.5, 0.3, 0.5
GREY_LEVELS = 255
LUMA = (0.2989, 0.587, 0.114)
"""ITU-R 601-2, as torchvision rounds it."""
SECTORS = 6.0
"""The hue circle has six sectors; red is at 0, green at 2, blue at 4."""
_TINY = 1e-30  # a grey pixel has no chroma, and its hue does not matter
_CHUNK_SIZES = {"cpu": 4, "cuda": 256}
"""Views processed at once; on a CPU few enough to stay in its cache."""


@dataclass(frozen=True, slots=True)
class AugmentationDraws:
    """Random values for n images; every array is (n, views).

    window: position along the long side, 0 to below 1. flip, grey, hue_first: whether to flip, to turn grey, and to
    change the hue before the brightness. brightness: a factor. hue: a shift as a share of the hue circle.
    """

    window: NDArray[np.float64]
    flip: NDArray[np.bool_]
    grey: NDArray[np.bool_]
    brightness: NDArray[np.float64]
    hue: NDArray[np.float64]
    hue_first: NDArray[np.bool_]

    def select(self, rows: slice) -> "AugmentationDraws":
        """Return the values of some of the images."""
        return AugmentationDraws(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def draw_augmentations(
    generator: np.random.Generator, count: int, views: int, grayscale: float
) -> AugmentationDraws:
    """Draw the values for ``count`` images.

    grayscale: probability of a grey view; Hessel et al. 2022 give none, .1 is torchvision's default.
    """
    uniform = generator.random((6, count, views))
    return AugmentationDraws(
        window=uniform[0],
        flip=uniform[1] < FLIP,
        grey=uniform[2] < grayscale,
        brightness=1 - BRIGHTNESS + 2 * BRIGHTNESS * uniform[3],
        hue=(2 * uniform[4] - 1) * HUE,
        hue_first=uniform[5] < FLIP,
    )


def augment(pixels: torch.Tensor, draws: AugmentationDraws) -> torch.Tensor:
    """Return (n, views, 3, side, side) bytes as augmented float32 values from 0 to 1, on the same device."""
    squares = pixels.flatten(0, 1)
    flip, grey, hue_first = (values.reshape(-1) for values in (draws.flip, draws.grey, draws.hue_first))
    bright = draws.brightness.reshape(-1)
    before, hue, after = (
        torch.from_numpy(values.astype(np.float32)).view(-1, 1, 1, 1).to(pixels.device)
        for values in (np.where(hue_first, 1, bright), draws.hue.reshape(-1), np.where(hue_first, bright, 1))
    )
    result = torch.empty(squares.shape, dtype=torch.float32, device=pixels.device)
    step = _CHUNK_SIZES.get(pixels.device.type, _CHUNK_SIZES["cpu"])
    for start in range(0, len(squares), step):
        rows = slice(start, start + step)
        chunk = squares[rows].float().div_(GREY_LEVELS)
        # Row indices are computed on the CPU, so that no GPU synchronisation is needed.
        chosen = (torch.from_numpy(np.flatnonzero(mask[rows])) for mask in (flip, grey))
        flipped, greyscaled = (indices.to(chunk.device) for indices in chosen)
        chunk[flipped] = chunk[flipped].flip(-1)
        chunk[greyscaled] = to_greyscale(chunk[greyscaled])
        chunk = rotate_hue(scale_brightness(chunk, before[rows]), hue[rows])
        result[rows] = scale_brightness(chunk, after[rows])
    return result.view(pixels.shape)


def scale_to_unit(pixels: torch.Tensor) -> torch.Tensor:
    """Return bytes as float32 values from 0 to 1, without augmentation."""
    return pixels.float().div_(GREY_LEVELS)


def normalise(values: torch.Tensor, mean: torch.Tensor, std: torch.Tensor) -> torch.Tensor:
    """Subtract ``mean`` (3,) from (…, 3, side, side) values and divide by ``std`` (3,), in place."""
    shape = (3, 1, 1)
    return values.sub_(mean.view(shape)).div_(std.view(shape))


def to_greyscale(squares: torch.Tensor) -> torch.Tensor:
    """Return (m, 3, side, side) squares whose channels all equal the luma."""
    weights = torch.tensor(LUMA, dtype=squares.dtype, device=squares.device).view(1, 3, 1, 1)
    return (squares * weights).sum(1, keepdim=True).expand_as(squares)


def scale_brightness(squares: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """Return squares times (m, 1, 1, 1) factors, clipped to 1, as torchvision does."""
    return (squares * factors).clamp_(0, 1)


def rotate_hue(squares: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
    """Rotate the hue of (m, 3, side, side) squares with values from 0 to 1; turns: (m, 1, 1, 1) circles.

    The hue is shifted in HSV at constant value and saturation. Each channel is then the value minus the chroma times
    the distance of the hue from the channel's own hue: the closed form of HSV to RGB, without the six cases.
    """
    red, green, blue = squares.unbind(1)
    value, minimum = squares.amax(1), squares.amin(1)
    chroma = value - minimum
    safe = chroma.clamp_min(_TINY)
    hue = torch.where(value == green, (blue - red).div_(safe).add_(2), (red - green).div_(safe).add_(4))
    hue = torch.where(value == red, (green - blue).div_(safe), hue).add_(SECTORS * turns.view(-1, 1, 1))
    channels = []
    for offset in (5, 3, 1):
        position = (hue + offset).remainder_(SECTORS)
        distance = torch.minimum(position, 4 - position).clamp_(0, 1)
        channels.append(torch.addcmul(value, chroma, distance, value=-1))
    return torch.stack(channels, 1)
