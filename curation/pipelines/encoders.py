"""Which encoders the pipelines use, and how their vectors are asked for."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

Boxes = Sequence[Mapping[str, int]]
Region = tuple[Pillow.Image, Boxes]


class ImageVectors(Protocol):
    """Vectors by which near-duplicate photos are found."""

    name: str
    revision: str

    def encode(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n RGB pictures."""
        ...


class Encoders(Protocol):
    """What a comparison round needs: images with regions and texts in one space, and sentences."""

    name: str
    revision: str
    sentence_name: str
    sentence_revision: str

    def regions(self, items: Sequence[Region]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n pictures with their boxes (image pixels) marked."""
        ...

    def texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n inferences in the space of ``regions``."""
        ...

    def sentences(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, e) sentence vectors, for diversity and soft de-duplication."""
        ...


def image_vectors(name: str = "") -> ImageVectors:
    """Return the encoder of that name for photos; empty is the default."""
    raise NotImplementedError


def encoders(name: str = "") -> Encoders:
    """Return the encoders of that name for comparison rounds; empty is the default."""
    raise NotImplementedError
