"""The augmentations of training: window, flip, grey, brightness and hue, each half of a picture for itself.

What chance decides is drawn beforehand as plain arrays, so that it depends on the step alone and not on who works on
which rows; what is then done to the pixels is arithmetic on whole batches, on the device. Our own code, since
torchvision is no part of this project; its meanings are kept: ``RandomCrop``, ``RandomHorizontalFlip`` at .5,
``RandomGrayscale``, ``ColorJitter(brightness=.5, hue=.3)`` in an order that is drawn too. Source: paper 001 B; the
published code does the same, but has the grey commented out.
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
"""The hue circle has six parts; red begins at 0, green at 2, blue at 4."""
_TINY = 1e-30  # a grey pixel has no chroma, and its hue does not matter
_AT_ONCE = {"cpu": 4, "cuda": 256}
"""Squares that are worked on at once: on a processor so few that they stay in its cache."""


@dataclass(frozen=True, slots=True)
class Draws:
    """What chance decided for n pictures of so many views; every array is (n, views).

    window: where along the long side the window lies, 0 to below 1. flip, grey, hue_first: whether.
    brightness: a factor. hue: a part of the hue circle.
    """

    window: NDArray[np.float64]
    flip: NDArray[np.bool_]
    grey: NDArray[np.bool_]
    brightness: NDArray[np.float64]
    hue: NDArray[np.float64]
    hue_first: NDArray[np.bool_]

    def part(self, rows: slice) -> "Draws":
        """Return the draws of some of the pictures."""
        return Draws(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def draw(generator: np.random.Generator, count: int, views: int, grayscale: float) -> Draws:
    """Draw for ``count`` pictures.

    grayscale: probability of a grey half; the paper names none, and .1 is torchvision's.
    """
    uniform = generator.random((6, count, views))
    return Draws(
        window=uniform[0],
        flip=uniform[1] < FLIP,
        grey=uniform[2] < grayscale,
        brightness=1 - BRIGHTNESS + 2 * BRIGHTNESS * uniform[3],
        hue=(2 * uniform[4] - 1) * HUE,
        hue_first=uniform[5] < FLIP,
    )


def augmented(pixels: torch.Tensor, draws: Draws) -> torch.Tensor:
    """Return (n, views, 3, side, side) bytes as augmented float32 numbers of 0 to 1, on the same device."""
    squares = pixels.flatten(0, 1)
    flip, grey, hue_first = (values.reshape(-1) for values in (draws.flip, draws.grey, draws.hue_first))
    bright = draws.brightness.reshape(-1)
    before, hue, after = (
        torch.from_numpy(values.astype(np.float32)).view(-1, 1, 1, 1).to(pixels.device)
        for values in (np.where(hue_first, 1, bright), draws.hue.reshape(-1), np.where(hue_first, bright, 1))
    )
    done = torch.empty(squares.shape, dtype=torch.float32, device=pixels.device)
    step = _AT_ONCE.get(pixels.device.type, _AT_ONCE["cpu"])
    for start in range(0, len(squares), step):
        rows = slice(start, start + step)
        few = squares[rows].float().div_(GREY_LEVELS)
        # Which rows is known here, so that a GPU need not be asked.
        flipped, greys = (
            torch.from_numpy(np.flatnonzero(some[rows])).to(few.device) for some in (flip, grey)
        )
        few[flipped] = few[flipped].flip(-1)
        few[greys] = greyed(few[greys])
        few = turned(brightened(few, before[rows]), hue[rows])
        done[rows] = brightened(few, after[rows])
    return done.view(pixels.shape)


def plain(pixels: torch.Tensor) -> torch.Tensor:
    """Return bytes as float32 numbers of 0 to 1, as they are seen when nothing is augmented."""
    return pixels.float().div_(GREY_LEVELS)


def normalised(values: torch.Tensor, mean: torch.Tensor, std: torch.Tensor) -> torch.Tensor:
    """Return (…, 3, side, side) numbers of 0 to 1 less ``mean``, over ``std`` (3,), in place."""
    shape = (3, 1, 1)
    return values.sub_(mean.view(shape)).div_(std.view(shape))


def greyed(squares: torch.Tensor) -> torch.Tensor:
    """Return (m, 3, side, side) squares with three equal channels, the luma."""
    weights = torch.tensor(LUMA, dtype=squares.dtype, device=squares.device).view(1, 3, 1, 1)
    return (squares * weights).sum(1, keepdim=True).expand_as(squares)


def brightened(squares: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """Return squares times (m, 1, 1, 1) factors, cut off at 1: a blend with black, as torchvision's."""
    return (squares * factors).clamp_(0, 1)


def turned(squares: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
    """Return (m, 3, side, side) squares of 0 to 1 with their hue turned; (m, 1, 1, 1) turns of the whole circle.

    Hue is shifted in HSV, value and saturation stay. Each channel is then value less chroma times how far the hue is
    from that channel's own: the closed form of HSV to RGB, without the six cases.
    """
    red, green, blue = squares.unbind(1)
    value, least = squares.amax(1), squares.amin(1)
    chroma = value - least
    safe = chroma.clamp_min(_TINY)
    hue = torch.where(value == green, (blue - red).div_(safe).add_(2), (red - green).div_(safe).add_(4))
    hue = torch.where(value == red, (green - blue).div_(safe), hue).add_(SECTORS * turns.view(-1, 1, 1))
    channels = []
    for offset in (5, 3, 1):
        place = (hue + offset).remainder_(SECTORS)
        away = torch.minimum(place, 4 - place).clamp_(0, 1)
        channels.append(torch.addcmul(value, chroma, away, value=-1))
    return torch.stack(channels, 1)
