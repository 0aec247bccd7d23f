"""An encoder that puts each text into a prompt, for models that were not trained on such texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.encoder import Encoder
from curation.records import InvalidInput, Region
from hits.domain.hashing import content_sha256
from hits.domain.images.region_drawing import RegionMode

PLACEHOLDER = "{}"


class PromptedEncoder:
    """Wraps an encoder: each text replaces ``{}`` in the prompt. The revision includes a hash of the prompt."""

    def __init__(self, encoder: Encoder, prompt: str) -> None:
        if prompt.count(PLACEHOLDER) != 1:
            raise InvalidInput(
                f"prompt: {prompt!r} needs exactly one {PLACEHOLDER}, which each text replaces"
            )
        self._encoder, self._prompt = encoder, prompt
        self.name = encoder.name
        self.revision = f"prompt {content_sha256(prompt)[:12]}, {encoder.revision}"
        self.dim, self.is_clip = encoder.dim, encoder.is_clip
        self.region_modes = encoder.region_modes
        self.region_mode = RegionMode(
            getattr(encoder, "region_mode", RegionMode.HIGHLIGHT)
        )  # a scorer has a fixed mode
        self.preprocessing: dict[str, Any] = {**encoder.preprocessing, "prompt": prompt}

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.float32]:
        """Return (n, dim) rows of the wrapped encoder."""
        return self._encoder.encode_images(pictures)

    def encode_regions(
        self,
        pictures: Sequence[Pillow.Image],
        regions: Sequence[Sequence[Region]],
        mode: RegionMode = RegionMode.HIGHLIGHT,
    ) -> NDArray[np.float32]:
        """Return (n, dim) rows of the wrapped encoder."""
        return self._encoder.encode_regions(pictures, regions, mode)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) rows of n texts, each put into the prompt."""
        return self._encoder.encode_texts(self._insert_into_prompt(texts))

    def encode_clues(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) rows of n clues, each put into the prompt; encoded as clues if the encoder can."""
        encode = getattr(self._encoder, "encode_clues", self._encoder.encode_texts)
        rows: NDArray[np.float32] = encode(self._insert_into_prompt(texts))
        return rows

    def _insert_into_prompt(self, texts: Sequence[str]) -> list[str]:
        # Not str.format: a text may contain braces.
        return [self._prompt.replace(PLACEHOLDER, text) for text in texts]
