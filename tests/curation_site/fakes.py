"""Encoders small enough to reason about: colours of a picture, letters of a text."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.pipelines.encoders import MarkedPicture


class Colours:
    """A picture's pixels, shrunk."""

    name = "colours"
    revision = "1"

    def __init__(self) -> None:
        self.pictures = 0

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.floating]:
        self.pictures += len(pictures)
        return np.stack([np.asarray(p.resize((8, 8)), dtype=np.float32).ravel() - 127 for p in pictures])


class Letters:
    """Texts by their letters; a region counts its boxes' area in the same space."""

    name = "letters"
    revision = "1"
    sentence_name = "letter pairs"
    sentence_revision = "1"

    def regions(self, items: Sequence[MarkedPicture]) -> NDArray[np.floating]:
        return np.stack([self._seeded(sum(b["left"] + b["top"] for b in boxes)) for _, boxes in items])

    def texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        return np.stack([self._count(text, 26) for text in texts])

    def sentences(self, texts: Sequence[str]) -> NDArray[np.floating]:
        return np.stack([self._count(text[::-1] + text, 32) for text in texts])

    def _seeded(self, seed: int) -> NDArray[np.floating]:
        return np.random.default_rng(seed).random(26) + 0.01

    def _count(self, text: str, size: int) -> NDArray[np.floating]:
        vector = np.full(size, 0.01)
        for place, letter in enumerate(text.lower()):
            vector[(ord(letter) * 7 + place % 3) % size] += 1
        return vector
