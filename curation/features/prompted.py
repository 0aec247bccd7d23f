"""An encoder that puts words around each text, for models that were never trained on such texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.encoder import Encoder
from curation.records import InvalidInput, Region
from hits.domain.hashing import content_sha256
from hits.domain.images.region_drawing import RegionMode

PLACE = "{}"


class Prompted:
    """Another encoder, with ``{}`` of a prompt filled by each text. Its revision names the prompt by a hash."""

    def __init__(self, encoder: Encoder, prompt: str) -> None:
        if prompt.count(PLACE) != 1:
            raise InvalidInput(f"prompt: {prompt!r} needs one {PLACE}, where the text goes")
        self._encoder, self._prompt = encoder, prompt
        self.name = encoder.name
        self.revision = f"prompt {content_sha256(prompt)[:12]}, {encoder.revision}"
        self.dim, self.is_clip = encoder.dim, encoder.is_clip
        self.region_modes = encoder.region_modes
        self.region_mode = RegionMode(
            getattr(encoder, "region_mode", RegionMode.HIGHLIGHT)
        )  # a scorer has its own
        self.preprocessing: dict[str, Any] = {**encoder.preprocessing, "prompt": prompt}

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.float32]:
        """Return (n, dim) rows as the other encoder does."""
        return self._encoder.encode_images(pictures)

    def encode_regions(
        self,
        pictures: Sequence[Pillow.Image],
        regions: Sequence[Sequence[Region]],
        mode: RegionMode = RegionMode.HIGHLIGHT,
    ) -> NDArray[np.float32]:
        """Return (n, dim) rows as the other encoder does."""
        return self._encoder.encode_regions(pictures, regions, mode)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) rows of n texts within the prompt."""
        return self._encoder.encode_texts(self._put(texts))

    def encode_clues(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) rows of n clues within the prompt, for an encoder that tells them from inferences."""
        encode = getattr(self._encoder, "encode_clues", self._encoder.encode_texts)
        rows: NDArray[np.float32] = encode(self._put(texts))
        return rows

    def _put(self, texts: Sequence[str]) -> list[str]:
        # Not str.format: a text may hold braces of its own.
        return [self._prompt.replace(PLACE, text) for text in texts]
