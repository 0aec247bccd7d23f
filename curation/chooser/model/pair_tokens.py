"""Tokens of pairs of texts, "[CLS] query [SEP] response [SEP]", or of responses alone."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from curation.records import InvalidInput

MAX_TOKENS = 128
_WORD_PATTERN = re.compile(r"\w+|[^\w\s]")
TextPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """n texts. tokens, is_real, segments: (n, length) int64; segments: 0 in the query, 1 in the response after it."""

    tokens: Tensor
    is_real: Tensor
    segments: Tensor

    def to(self, device: torch.device) -> "TokenBatch":
        """Return the same texts on a device."""
        return TokenBatch(self.tokens.to(device), self.is_real.to(device), self.segments.to(device))


class PairTokenizer(Protocol):
    """Turns texts into tokens. vocabulary: the highest token plus 1. tokenizer_json: its file, or empty."""

    vocabulary: int
    tokenizer_json: str

    def __call__(self, texts: Sequence[str | TextPair]) -> TokenBatch:
        """Return the tokens of texts or pairs. Thread-safe."""
        ...

    def count_cut(self, texts: Sequence[str | TextPair]) -> int:
        """Return how many texts are longer than ``MAX_TOKENS``."""
        ...


class HashedWordTokenizer:
    """A token for each word, by a hash of its lower-cased letters: for models of random weights."""

    padding, start, end, first = 0, 1, 2, 3
    vocabulary = 4096
    tokenizer_json = ""

    def __call__(self, texts: Sequence[str | TextPair]) -> TokenBatch:
        """Return the tokens of texts or pairs."""
        rows = [self._tokens(text) for text in texts]
        length = min(max((len(tokens) for tokens, _ in rows), default=1), MAX_TOKENS)
        tokens, is_real, segments = (torch.zeros(len(rows), length, dtype=torch.int64) for _ in range(3))
        for row, (numbers, owners) in enumerate(rows):
            count = min(len(numbers), length)
            tokens[row, :count] = torch.tensor(numbers[:count])
            segments[row, :count] = torch.tensor(owners[:count])
            is_real[row, :count] = 1
        return TokenBatch(tokens, is_real, segments)

    def count_cut(self, texts: Sequence[str | TextPair]) -> int:
        """Return how many texts are longer than ``MAX_TOKENS``."""
        return sum(len(self._tokens(text)[0]) > MAX_TOKENS for text in texts)

    def _tokens(self, text: str | TextPair) -> tuple[list[int], list[int]]:
        numbers, owners = [self.start], [0]
        for segment, part in enumerate((text,) if isinstance(text, str) else text):
            words = [self._number(word) for word in _WORD_PATTERN.findall(part)]
            numbers += [*words, self.end]
            owners += [segment] * (len(words) + 1)
        return numbers, owners

    def _number(self, word: str) -> int:
        digest = hashlib.sha256(word.lower().encode()).digest()
        return self.first + int.from_bytes(digest[:8]) % (self.vocabulary - self.first)


class FastPairTokenizer:
    """A tokenizer of the ``tokenizers`` library, as saved beside a transformers model.

    Args:
        tokenizer_json: the content of its file. padding: the number of its padding token.

    Raises:
        InvalidInput: the text is not such a file.
    """

    def __init__(self, tokenizer_json: str, padding: int) -> None:
        import tokenizers  # noqa: PLC0415 - comes with transformers

        self.tokenizer_json = tokenizer_json
        try:
            self._fast: Any = tokenizers.Tokenizer.from_str(tokenizer_json)
        except Exception as error:  # the library raises plain Exception
            raise InvalidInput(
                "tokenizer: is not a file of the tokenizers library; save the chooser again"
            ) from error
        # Set here once: changing it per call would not be thread-safe.
        self._fast.enable_truncation(max_length=MAX_TOKENS)
        self._fast.enable_padding(pad_id=padding)
        self.vocabulary = 1 + max(self._fast.get_vocab(with_added_tokens=True).values(), default=-1)

    def __call__(self, texts: Sequence[str | TextPair]) -> TokenBatch:
        """Return the tokens of texts or pairs; of too long ones, the longer text is cut."""
        found = self._fast.encode_batch(list(texts))
        return TokenBatch(
            tokens=torch.tensor([row.ids for row in found], dtype=torch.int64),
            is_real=torch.tensor([row.attention_mask for row in found], dtype=torch.int64),
            segments=torch.tensor([row.type_ids for row in found], dtype=torch.int64),
        )

    def count_cut(self, texts: Sequence[str | TextPair]) -> int:
        """Return how many texts are longer than ``MAX_TOKENS``."""
        return sum(bool(row.overflowing) for row in self._fast.encode_batch(list(texts)))
