"""What an encoder is."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.records import InvalidInput, Region

DEFAULT_ENCODER = "label-sentence"


class EncoderUnavailable(InvalidInput):
    """An encoder's package or weights cannot be had here; the message says how to get them."""


class Encoder(Protocol):
    """Images and texts as vectors of one space.

    All methods return (n, dim) float32 rows of length 1. ``is_clip`` says whether the space was learned from
    image and text pairs; pages and exports print ``name``, so a stand-in is never taken for CLIP.
    """

    name: str
    revision: str
    dim: int
    is_clip: bool

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.float32]:
        """Return one row per RGB picture."""
        ...

    def encode_regions(
        self, pictures: Sequence[Pillow.Image], regions: Sequence[Sequence[Region]]
    ) -> NDArray[np.float32]:
        """Return one row per RGB picture with its boxes (image pixels) marked."""
        ...

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        ...


def unit_float32(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return (n, d) rows scaled to length 1 as float32; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.where(lengths == 0, 1.0, lengths), dtype=np.float32)
