"""Frozen vectors of words in their context, for R2C.

The words of "[CLS] query [SEP] response [SEP]" go through a transformer, a word's vector is the mean of its pieces in
the second-to-last layer, and the transformer is not trained (Zellers et al. 2019 §5 and §E). The published BERT had
been trained further on texts of the dataset for one epoch; give such a model's folder for the same.
"""

import hashlib
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from curation.chooser.model.transformer_folders import FOLDER_PREFIX, MINILM, find_folder
from curation.features.transformer_folders import load_fast_tokenizer, load_model
from curation.features.weights import SHA_PREFIX, folder_sha256
from curation.scorer.config import TINY

LAYER = -2
MAX_PIECES = 128
"""Pieces of query and response together, as published."""
TINY_SIZE = 48
WordPair = tuple[Sequence[str], Sequence[str]]
VectorPair = tuple[Tensor, Tensor]


class WordVectors(Protocol):
    """Gives each word of a query and a response a frozen vector.

    size: of a vector. source: the setting's value, without a folder's path. revision: of the weights.
    """

    size: int
    source: str
    revision: str

    def encode(self, pairs: Sequence[WordPair]) -> list[VectorPair]:
        """Return the (words, size) float32 vectors of each query and of its response. Thread-safe."""
        ...

    def count_cut(self, pairs: Sequence[WordPair]) -> int:
        """Return how many pairs are longer than the model reads."""
        ...


class HashedWords:
    """A random vector for each word, which depends on its lower-cased letters alone: for tests and dry runs."""

    source = TINY
    revision = ""

    def __init__(self, size: int = TINY_SIZE) -> None:
        self.size = size

    def encode(self, pairs: Sequence[WordPair]) -> list[VectorPair]:
        """Return the (words, size) vectors of each query and of its response; the context changes nothing."""
        return [(self._vectors(query), self._vectors(response)) for query, response in pairs]

    def count_cut(self, pairs: Sequence[WordPair]) -> int:
        """Return 0: there is no maximum length."""
        return 0

    def _vectors(self, words: Sequence[str]) -> Tensor:
        rows = [_hashed_vector(word.lower(), self.size) for word in words]
        return torch.from_numpy(np.array(rows, dtype=np.float32).reshape(len(words), self.size))


@lru_cache(maxsize=100_000)
def _hashed_vector(word: str, size: int) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
    return np.random.default_rng(seed).standard_normal(size, dtype=np.float32)


class TransformerWords:
    """An encoder of the ``transformers`` library, from a folder; nothing is downloaded.

    Words that the maximum length cuts off get zeros.

    Raises:
        EncoderUnavailable: by the constructor, if the folder lacks a file or is damaged.
    """

    def __init__(self, folder: Path, *, device: torch.device, source: str = "") -> None:
        self._model, self._tokenizer = load_model(folder, "AutoModel"), load_fast_tokenizer(folder)
        self._device = device
        self._model.eval().requires_grad_(False).to(device)
        self.size = int(self._model.config.hidden_size)
        self.source = source or f"{FOLDER_PREFIX}{folder.name}"
        self.revision = SHA_PREFIX + folder_sha256(folder)
        # Each call changes the settings of a fast tokenizer, so it is not thread-safe.
        self._tokenizing = threading.Lock()

    def encode(self, pairs: Sequence[WordPair]) -> list[VectorPair]:
        """Return the (words, size) vectors of each query and of its response, on the CPU."""
        if not pairs:
            return []
        pieces = self._tokenize(pairs)
        with torch.no_grad():
            states = self._model(**pieces.to(self._device), output_hidden_states=True).hidden_states[LAYER]
        states = states.float().cpu()
        return [
            (
                _mean_of_pieces(states[row], encoding, 0, len(query)),
                _mean_of_pieces(states[row], encoding, 1, len(response)),
            )
            for row, (encoding, (query, response)) in enumerate(zip(pieces.encodings, pairs, strict=True))
        ]

    def count_cut(self, pairs: Sequence[WordPair]) -> int:
        """Return how many pairs are longer than the model reads."""
        return sum(bool(encoding.overflowing) for encoding in self._tokenize(pairs).encodings)

    def _tokenize(self, pairs: Sequence[WordPair]) -> Any:
        with self._tokenizing:
            return self._tokenizer(
                [list(query) for query, _ in pairs],
                [list(response) for _, response in pairs],
                is_split_into_words=True,
                truncation=True,
                max_length=MAX_PIECES,
                padding=True,
                return_tensors="pt",
            )


def _mean_of_pieces(states: Tensor, encoding: Any, sequence: int, words: int) -> Tensor:
    """Return the (words, size) means of the (pieces, size) states of one sequence's words."""
    numbers = zip(encoding.word_ids, encoding.sequence_ids, strict=True)
    placed = [
        (piece, word) for piece, (word, owner) in enumerate(numbers) if owner == sequence and word is not None
    ]
    sums, counts = torch.zeros(words, states.shape[1]), torch.zeros(words, 1)
    if placed:
        rows, owners = (torch.tensor(column) for column in zip(*placed, strict=True))
        sums.index_add_(0, owners, states[rows])
        counts.index_add_(0, owners, torch.ones(len(placed), 1))
    return sums / counts.clamp_min(1)


def load_word_vectors(source: str, *, device: torch.device) -> WordVectors:
    """Return the word vectors of a setting: ``tiny``, ``gt-minilm`` or ``hf:<folder>``.

    Raises:
        EncoderUnavailable: the package or the folder is missing or damaged.
        InvalidInput: the name is not known.
    """
    if source == TINY:
        return HashedWords()
    return TransformerWords(
        find_folder(source, "text"), device=device, source=MINILM if source == MINILM else ""
    )
