"""A scorer as an encoder: N pictures and M texts are N + M encodings, and their products are the N * M scores."""

import copy
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from curation.features.clip import DTYPES, chosen_device, described, resolve_precision
from curation.features.encoder import Precision, unit_float32
from curation.features.marked import MarkedPictures
from curation.features.weights import SHA, SHORT
from curation.scorer.model.folder import LoadedScorer, load_scorer
from curation.scorer.model.tokens import without_padding
from curation.scorer.texts import TextKind, worded
from hits.domain.images.region_drawing import RegionMode

BATCH = 64  # texts; pictures go through in the batches of MarkedPictures


class ScorerEncoder(MarkedPictures):
    """A scorer in use. It sees pictures and reads texts as its card says it was trained to.

    ``scores = encoder.encode_regions(pictures, regions) @ encoder.encode_texts(inferences).T`` are all N * M
    plausibilities, cosines within -1 to 1; the learned scale changes neither ranks nor comparisons.
    """

    is_clip = True
    region_modes = frozenset(RegionMode)

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
            name: what it is called; the folder's name where it is not given.
            device, precision: as of ``ClipEncoder``; auto is first what the card says, then what the device does.

        Raises:
            InvalidInput: the folder holds no whole scorer.
        """
        loaded = load_scorer(source) if isinstance(source, Path) else source
        self.card = loaded.card
        self._device = chosen_device(device)
        wanted = self.card.precision if precision is Precision.AUTO else precision
        self.precision = resolve_precision(wanted, self._device)
        self._dtype = DTYPES[self.precision]
        model = loaded.model if isinstance(source, Path) else copy.deepcopy(loaded.model)
        self._model = model.eval().to(self._device, self._dtype)
        self._tokenizer = loaded.tokenizer
        self._crop, self._norm = self.card.crop, self.card.norm
        self.region_mode = self.card.region_mode
        self.dim = self.card.dim
        weights = SHA + (loaded.sha256 or _weights_sha256(loaded))
        self.name = f"Scorer {name or (source.name if isinstance(source, Path) else 'in memory')}"
        self.revision = f"{weights[: len(SHA) + SHORT]} {self.precision} {self._crop}"
        self.preprocessing = described(self._norm, self._crop, self.precision, weights) | {
            "region_mode": self.region_mode.value,
            "text_mode": self.card.text_mode.value,
            "prompt": self.card.prompt,
        }

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) float32 rows of length 1 of inferences; what the model cannot hold is cut."""
        return self._encode_worded(texts, TextKind.INFERENCE)

    def encode_clues(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) rows of clues; only a model that was trained on both tells them from inferences."""
        return self._encode_worded(texts, TextKind.CLUE)

    def encode_pixels(self, pixels: torch.Tensor) -> NDArray[np.float32]:
        """Return (n, dim) rows, one per picture, the mean of its views, not yet of length 1."""
        with torch.inference_mode():
            return self._mean_of_views(self._model.view_vectors(pixels.to(self._device)))

    def _encode_worded(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        read = worded(texts, kind, mode=self.card.text_mode, prompt=self.card.prompt)
        rows = [self._text_rows(read[start : start + BATCH]) for start in range(0, len(read), BATCH)]
        return unit_float32(np.concatenate(rows)) if rows else self._none()

    def _text_rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        tokens = without_padding(self._tokenizer(texts), self._tokenizer.end)
        with torch.inference_mode():
            rows = self._model.encode_texts(tokens.to(self._device))
        return np.asarray(rows.float().cpu().numpy(), dtype=np.float32)


def _weights_sha256(loaded: LoadedScorer) -> str:
    """Return one sha256 over what makes the vectors, for a scorer that was never saved."""
    digest = hashlib.sha256(repr(loaded.card).encode())
    for name, tensor in loaded.model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
