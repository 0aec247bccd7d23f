"""Convert a decoded image to the input of CLIP's vision tower.

Images are scaled by torch's bicubic filter on bytes. On photographs it differs from Pillow's by at most two grey
levels (0.004 on average) and takes a third of the time, which matters when the tower runs on bf16 units.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image as Pillow

from curation.features.crops import Crop

GREY_LEVELS = 255
SCALING = "bicubic, bytes"


@dataclass(frozen=True, slots=True)
class Normalisation:
    """The model's input side in pixels, and its mean and deviation per channel on the scale 0 to 1."""

    side: int
    mean: Sequence[float]
    std: Sequence[float]


def to_pixels(
    pictures: Sequence[Pillow.Image], crop: Crop, norm: Normalisation, dtype: torch.dtype
) -> torch.Tensor:
    """Return (n * views, 3, side, side) normalised pixels of n RGB images."""
    return torch.cat([_normalise(cut_views(picture, crop, norm), norm, dtype) for picture in pictures])


def cut_views(picture: Pillow.Image, crop: Crop, norm: Normalisation) -> torch.Tensor:
    """Return the (views, 3, side, side) bytes of one RGB image."""
    whole = _to_byte_tensor(picture)
    if crop is Crop.PAD:
        return _resize(_pad_to_square(whole, norm), norm.side, norm.side)
    if crop is Crop.CENTRE:
        return _crop_centre(whole, norm.side)
    height, width = whole.shape[2:]
    short = min(height, width)
    ends = (whole[:, :, :short, :short], whole[:, :, height - short :, width - short :])
    return torch.cat([_resize(end, norm.side, norm.side) for end in ends])


def scale_short_side(picture: Pillow.Image, side: int) -> torch.Tensor:
    """Scale one RGB image to the short side ``side``, uncropped: (1, 3, height, width) bytes."""
    return _resize_short_side(_to_byte_tensor(picture), side)


def _to_byte_tensor(picture: Pillow.Image) -> torch.Tensor:
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None]  # (1, 3, height, width), channels last


def _resize_short_side(whole: torch.Tensor, side: int) -> torch.Tensor:
    height, width = whole.shape[2:]
    short = min(height, width)
    return _resize(whole, side * height // short, side * width // short)


def _crop_centre(whole: torch.Tensor, side: int) -> torch.Tensor:
    scaled = _resize_short_side(whole, side)
    top, left = (scaled.shape[2] - side) // 2, (scaled.shape[3] - side) // 2
    return scaled[:, :, top : top + side, left : left + side]


def _pad_to_square(whole: torch.Tensor, norm: Normalisation) -> torch.Tensor:
    height, width = whole.shape[2:]
    long = max(height, width)
    mean = torch.tensor([round(GREY_LEVELS * value) for value in norm.mean], dtype=torch.uint8)
    square = mean.repeat(long, long, 1).permute(2, 0, 1)[None]
    top, left = (long - height) // 2, (long - width) // 2
    square[:, :, top : top + height, left : left + width] = whole
    return square


def _resize(picture: torch.Tensor, height: int, width: int) -> torch.Tensor:
    # torch's fast path needs channels-last memory.
    contiguous = picture.contiguous(memory_format=torch.channels_last)
    return F.interpolate(contiguous, size=(height, width), mode="bicubic", antialias=True)


def _normalise(values: torch.Tensor, norm: Normalisation, dtype: torch.dtype) -> torch.Tensor:
    mean, std = (torch.tensor(row).view(1, 3, 1, 1) * GREY_LEVELS for row in (norm.mean, norm.std))
    # Contiguous planes: broadcasting over interleaved channels is several times slower.
    return values.contiguous().float().sub_(mean).mul_(1 / std).to(dtype)
