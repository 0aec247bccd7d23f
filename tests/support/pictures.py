"""Small pictures made on the spot."""

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
