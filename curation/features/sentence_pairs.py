"""Classify pairs of sentences by a transformers cross-encoder from a local folder; nothing is downloaded."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from curation.features.encoder import EncoderUnavailable
from curation.features.transformer_folders import load_model, load_tokenizer

MAX_TOKENS = 128  # tokens of a pair; two typical sentences have about 40
BATCH_SIZE = 64


class SentencePairClassifier:
    """A model that gives each label of a pair of sentences a probability.

    Args:
        folder: with config.json, weights in safetensors, and a tokenizer.
        setting: how the folder was given, such as ``"HINTS_NLI_MODEL"``; messages start with it.

    Raises:
        EncoderUnavailable: the folder is missing something, or its weights are broken.
    """

    def __init__(self, folder: Path, setting: str) -> None:
        self._origin = f"{setting}={str(folder)!r}"
        if not (folder / "config.json").is_file():
            raise EncoderUnavailable(f"{self._origin}: use a folder with config.json, weights and tokenizer")
        self._tokenizer = load_tokenizer(folder, where=self._origin)
        self._model = load_model(folder, "AutoModelForSequenceClassification", where=self._origin)
        self._model.eval()

    def label_index(self, label: str, start: str) -> int:
        """Return the index of a label, such as "contradiction"; models spell its end differently after ``start``.

        Raises:
            EncoderUnavailable: there is no such label.
        """
        labels: dict[int, str] = self._model.config.id2label
        for index, name in labels.items():
            if name.casefold().startswith(start):
                return int(index)
        raise EncoderUnavailable(
            f"{self._origin}: none of its labels is called {label} ({', '.join(labels.values())})"
        )

    def probabilities(self, pairs: Sequence[tuple[str, str]], label: int) -> NDArray[np.float32]:
        """Return the probability of a label for each ordered pair, (n,) float32 in [0, 1].

        Pairs of similar length share a batch, which saves padding.
        """
        import torch  # noqa: PLC0415

        found = np.zeros(len(pairs), dtype=np.float32)
        by_length = sorted(range(len(pairs)), key=lambda index: len(pairs[index][0]) + len(pairs[index][1]))
        for start in range(0, len(pairs), BATCH_SIZE):
            batch = by_length[start : start + BATCH_SIZE]
            inputs = self._tokenizer(
                [pairs[index][0] for index in batch],
                [pairs[index][1] for index in batch],
                padding=True,
                truncation=True,
                max_length=MAX_TOKENS,
                return_tensors="pt",
            )
            with torch.inference_mode():
                found[batch] = self._model(**inputs).logits.softmax(dim=-1)[:, label].float().numpy()
        return found
