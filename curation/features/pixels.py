"""From a decoded picture to what CLIP's vision tower takes.

Scaling is torch's bicubic filter on bytes: as Pillow's, but for a grey level or two where roundings differ (.004 of a
level on average, on photographs), in a third of the time. Decoding leaves little where the tower runs on bf16 units.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image as Pillow

from curation.features.regions import Crop

GREY_LEVELS = 255
SCALING = "bicubic, bytes"


@dataclass(frozen=True, slots=True)
class Normalisation:
    """The model's own side in pixels, and its mean and deviation per channel on the scale 0 to 1."""

    side: int
    mean: Sequence[float]
    std: Sequence[float]


def pixels_of(
    pictures: Sequence[Pillow.Image], crop: Crop, norm: Normalisation, dtype: torch.dtype
) -> torch.Tensor:
    """Return (n * views, 3, side, side) normalised pixels of n RGB pictures."""
    return torch.cat([_normalised(squares(picture, crop, norm), norm, dtype) for picture in pictures])


def squares(picture: Pillow.Image, crop: Crop, norm: Normalisation) -> torch.Tensor:
    """Return the (views, 3, side, side) bytes of one RGB picture."""
    whole = _bytes_of(picture)
    if crop is Crop.PAD:
        return _scaled(_padded(whole, norm), norm.side, norm.side)
    if crop is Crop.CENTRE:
        return _centre(whole, norm.side)
    height, width = whole.shape[2:]
    short = min(height, width)
    ends = (whole[:, :, :short, :short], whole[:, :, height - short :, width - short :])
    return torch.cat([_scaled(end, norm.side, norm.side) for end in ends])


def scaled_whole(picture: Pillow.Image, side: int) -> torch.Tensor:
    """Return the (1, 3, height, width) bytes of one RGB picture whose short side is ``side``; nothing is cut."""
    return _short_side(_bytes_of(picture), side)


def _bytes_of(picture: Pillow.Image) -> torch.Tensor:
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None]  # (1, 3, height, width), channels last


def _short_side(whole: torch.Tensor, side: int) -> torch.Tensor:
    height, width = whole.shape[2:]
    short = min(height, width)
    return _scaled(whole, side * height // short, side * width // short)


def _centre(whole: torch.Tensor, side: int) -> torch.Tensor:
    scaled = _short_side(whole, side)
    top, left = (scaled.shape[2] - side) // 2, (scaled.shape[3] - side) // 2
    return scaled[:, :, top : top + side, left : left + side]


def _padded(whole: torch.Tensor, norm: Normalisation) -> torch.Tensor:
    height, width = whole.shape[2:]
    long = max(height, width)
    mean = torch.tensor([round(GREY_LEVELS * value) for value in norm.mean], dtype=torch.uint8)
    square = mean.repeat(long, long, 1).permute(2, 0, 1)[None]
    top, left = (long - height) // 2, (long - width) // 2
    square[:, :, top : top + height, left : left + width] = whole
    return square


def _scaled(picture: torch.Tensor, height: int, width: int) -> torch.Tensor:
    # Only channels that lie together take the fast path.
    together = picture.contiguous(memory_format=torch.channels_last)
    return F.interpolate(together, size=(height, width), mode="bicubic", antialias=True)


def _normalised(values: torch.Tensor, norm: Normalisation, dtype: torch.dtype) -> torch.Tensor:
    mean, std = (torch.tensor(row).view(1, 3, 1, 1) * GREY_LEVELS for row in (norm.mean, norm.std))
    # Plane by plane: broadcasting over three neighbouring channels is several times slower.
    return values.contiguous().float().sub_(mean).mul_(1 / std).to(dtype)
