"""The interface of encoders."""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.records import InvalidInput, Region
from hits.domain.images.region_drawing import RegionMode

DEFAULT_ENCODER = "label-sentence"
POOLED_ENCODER = "efficientnet-lite0"
_HUB_ID_PATTERN = re.compile(r"\w[\w.-]*/\w[\w.-]*")


class EncoderUnavailable(InvalidInput):
    """An encoder's package or weights are not available; the message says how to get them."""


class Precision(StrEnum):
    """The number format of a model's computations. ``auto`` means bf16 if the hardware supports it, else fp32."""

    AUTO = "auto"
    FP32 = "fp32"
    BF16 = "bf16"


class Encoder(Protocol):
    """Encodes images and texts as vectors of one space.

    All methods return (n, dim) float32 rows of length 1 and are thread-safe. ``is_clip``: whether the space was
    learned from pairs of images and texts. Pages and exports print ``name``, so that readers see whether it is CLIP.
    ``revision`` names weights, precision and crop, so that a feature set never mixes vectors that differ in them;
    ``preprocessing`` has the details. ``region_modes``: the region modes that the encoder supports.
    """

    name: str
    revision: str
    dim: int
    is_clip: bool
    preprocessing: dict[str, Any]
    region_modes: frozenset[RegionMode]

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.float32]:
        """Return one row per RGB picture."""
        ...

    def encode_regions(
        self,
        pictures: Sequence[Pillow.Image],
        regions: Sequence[Sequence[Region]],
        mode: RegionMode = RegionMode.HIGHLIGHT,
    ) -> NDArray[np.float32]:
        """Return one row per RGB picture with its boxes (image pixels) drawn.

        Raises:
            InvalidInput: the mode is not among ``region_modes``.
        """
        ...

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        ...


def unit_float32(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return (n, d) rows scaled to length 1 as float32; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.where(lengths == 0, 1.0, lengths), dtype=np.float32)


def is_hub_id(source: str) -> bool:
    """Whether ``source`` has the form of a hub id, ``owner/name``."""
    return _HUB_ID_PATTERN.fullmatch(source) is not None and ".." not in source
