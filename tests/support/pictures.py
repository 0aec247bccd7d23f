"""Small pictures made on the spot, and the published crop of any picture."""

import io
from typing import Any

import numpy as np
from PIL import Image as Pillow


def picture(
    width: int = 64,
    height: int = 48,
    *,
    seed: int = 0,
    image_format: str = "PNG",
    mode: str = "RGB",
    **save: Any,
) -> bytes:
    """Return an encoded picture of random pixels; equal arguments give equal bytes."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Pillow.fromarray(pixels).convert(mode).save(buffer, image_format, **save)
    return buffer.getvalue()


def end_squares(image: Pillow.Image) -> tuple[Pillow.Image, Pillow.Image]:
    """Return the squares of side min(width, height) at both ends of an image, as the published code crops it."""
    width, height = image.size
    side = min(width, height)
    return image.crop((0, 0, side, side)), image.crop((width - side, height - side, width, height))
