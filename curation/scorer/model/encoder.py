"""A scorer as an encoder: N images and M texts take N + M encodings; their products are the N * M scores."""

import copy
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from curation.features.clip import DTYPES, choose_device, describe_preprocessing, resolve_precision
from curation.features.encoder import Precision, unit_float32
from curation.features.region_image_encoder import RegionImageEncoder
from curation.features.weights import SHA_PREFIX, SHORT_DIGITS
from curation.scorer.model.folder import LoadedScorer, load_scorer
from curation.scorer.model.tokens import trim_padding
from curation.scorer.texts import TextKind, format_texts

TEXT_BATCH_SIZE = 64  # texts of one forward pass


class ScorerEncoder(RegionImageEncoder):
    """A scorer at inference. Its card states the format of images and texts that it was trained with.

    ``scores = encoder.encode_regions(pictures, regions) @ encoder.encode_texts(inferences).T`` are all N * M
    plausibilities, cosines from -1 to 1; the learned scale would change neither ranks nor comparisons.
    """

    is_clip = True

    def __init__(
        self,
        source: Path | LoadedScorer,
        *,
        name: str = "",
        device: str = "",
        precision: Precision = Precision.AUTO,
    ) -> None:
        """Load a scorer's folder, or use a copy of one in memory.

        Args:
            name: its display name; the folder's name by default.
            device, precision: as for ``ClipEncoder``; auto means the card's precision, then the device's.

        Raises:
            InvalidInput: the folder does not hold a complete scorer.
        """
        loaded = load_scorer(source) if isinstance(source, Path) else source
        self.card = loaded.card
        self._device = choose_device(device)
        requested = self.card.precision if precision is Precision.AUTO else precision
        self.precision = resolve_precision(requested, self._device)
        self._dtype = DTYPES[self.precision]
        model = loaded.model if isinstance(source, Path) else copy.deepcopy(loaded.model)
        self._model = model.eval().to(self._device, self._dtype)
        self._tokenizer = loaded.tokenizer
        self._crop, self._norm = self.card.crop, self.card.norm
        self.region_mode = self.card.region_mode
        self.dim = self.card.dim
        weights = SHA_PREFIX + (loaded.sha256 or _weights_sha256(loaded))
        self.name = f"Scorer {name or (source.name if isinstance(source, Path) else 'in memory')}"
        self.revision = f"{weights[: len(SHA_PREFIX) + SHORT_DIGITS]} {self.precision} {self._crop}"
        self.preprocessing = describe_preprocessing(self._norm, self._crop, self.precision, weights) | {
            "region_mode": self.region_mode.value,
            "text_mode": self.card.text_mode.value,
            "prompt": self.card.prompt,
        }

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) float32 rows of length 1 of inferences; texts beyond the context length are cut."""
        return self._encode_kind(texts, TextKind.INFERENCE)

    def encode_clues(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) rows of clues; only a multitask model treats them differently from inferences."""
        return self._encode_kind(texts, TextKind.CLUE)

    def encode_pixels(self, pixels: torch.Tensor) -> NDArray[np.float32]:
        """Return (n, dim) rows, one per picture, the mean of its views, not yet of length 1."""
        with torch.inference_mode():
            return self._mean_of_views(self._model.encode_views(pixels.to(self._device)))

    def _encode_kind(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        prompted = format_texts(texts, kind, mode=self.card.text_mode, prompt=self.card.prompt)
        rows = [
            self._encode_batch(prompted[start : start + TEXT_BATCH_SIZE])
            for start in range(0, len(prompted), TEXT_BATCH_SIZE)
        ]
        return unit_float32(np.concatenate(rows)) if rows else self._empty_rows()

    def _encode_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        tokens = trim_padding(self._tokenizer(texts), self._tokenizer.end)
        with torch.inference_mode():
            rows = self._model.encode_texts(tokens.to(self._device))
        return np.asarray(rows.float().cpu().numpy(), dtype=np.float32)


def _weights_sha256(loaded: LoadedScorer) -> str:
    """Return one SHA-256 over card and weights, for a scorer that was never saved."""
    digest = hashlib.sha256(repr(loaded.card).encode())
    for name, tensor in loaded.model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
