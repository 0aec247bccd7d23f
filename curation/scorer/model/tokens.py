"""Tokenizers: CLIP's byte-pair encoding, or single bytes for models of random weights."""

import html
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from curation.records import InvalidInput

PADDING = 0  # tokens after a text's end are never read
BYTE_COUNT = 256
_QUOTES = dict.fromkeys(map(ord, "\u02bc\u2018\u2019\u201a\u201b"), "'")
_QUOTES |= dict.fromkeys(range(0x201C, 0x2020), '"')
_COMPATIBILITY_FORM_PATTERN = re.compile(
    "[\ufb00-\ufb06\uff01-\uffee\u3000]"
)  # ligatures such as ﬁ, letters as wide as ideographs


class Tokenizer(Protocol):
    """Turns texts into rows of int64 tokens. ``end`` ends a text; ``vocabulary`` is the highest token plus 1."""

    context_length: int
    vocabulary: int
    end: int

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Return (n, context_length) tokens: start, text cut to fit, end, padding with 0. Thread-safe."""
        ...

    def count_cut(self, texts: Sequence[str]) -> int:
        """Return how many texts are too long and are cut."""
        ...


class ByteTokenizer:
    """UTF-8 bytes as tokens. It needs no vocabulary file."""

    vocabulary = BYTE_COUNT + 2
    start = BYTE_COUNT
    end = BYTE_COUNT + 1

    def __init__(self, context_length: int) -> None:
        self.context_length = context_length

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Return (n, context_length) int64 tokens."""
        found = torch.full((len(texts), self.context_length), PADDING, dtype=torch.int64)
        for row, text in enumerate(texts):
            tokens = [self.start, *text.encode()[: self.context_length - 2], self.end]
            found[row, : len(tokens)] = torch.tensor(tokens)
        return found

    def count_cut(self, texts: Sequence[str]) -> int:
        """Return how many texts are too long and are cut."""
        return sum(len(text.encode()) > self.context_length - 2 for text in texts)


class ClipTokenizer:
    """CLIP's byte-pair encoding.

    ``tokenizer_json`` is the content of the ``tokenizers`` library's file of that name: vocabulary, merges, lower
    casing, start and end tokens.

    Raises:
        InvalidInput: the text is not such a file, or texts do not all end with the same token.
    """

    def __init__(self, tokenizer_json: str, context_length: int) -> None:
        self.tokenizer_json = tokenizer_json
        self.context_length = context_length
        self._fast = _parse_tokenizer(tokenizer_json)
        # Set here once: changing it per call would not be thread-safe.
        self._fast.enable_truncation(max_length=context_length)
        self._fast.enable_padding(length=context_length, pad_id=PADDING)
        self.vocabulary = 1 + max(self._fast.get_vocab(with_added_tokens=True).values(), default=-1)
        self.end = self._find_end_token()

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Return (n, context_length) int64 tokens."""
        if not texts:
            return torch.zeros((0, self.context_length), dtype=torch.int64)
        found = self._fast.encode_batch([normalise_text(text) for text in texts])
        return torch.tensor([row.ids for row in found], dtype=torch.int64)

    def count_cut(self, texts: Sequence[str]) -> int:
        """Return how many texts are too long and are cut."""
        found = self._fast.encode_batch([normalise_text(text) for text in texts])
        return sum(bool(row.overflowing) for row in found)

    def _find_end_token(self) -> int:
        ends = {self._last_token(text) for text in ("", "a", "a b " * self.context_length)}
        if len(ends) > 1 or None in ends:
            raise InvalidInput("tokenizer: texts do not end with an end token; use the tokenizer of a CLIP")
        return int(ends.pop() or 0)

    def _last_token(self, text: str) -> int | None:
        row = self._fast.encode(text)
        tokens = [token for token, is_read in zip(row.ids, row.attention_mask, strict=True) if is_read]
        return tokens[-1] if tokens else None


def normalise_text(text: str) -> str:
    """Replace typographic quotes and letters by plain ones, and HTML entities by their characters.

    OpenAI's tokenizer cleaned CLIP's training texts in this way; the library's tokenizer does not, and would encode
    ’s differently from 's. Unlike OpenAI's, this function does not repair broken encodings.
    """
    unescaped = html.unescape(html.unescape(text)).translate(_QUOTES)
    return _COMPATIBILITY_FORM_PATTERN.sub(lambda match: unicodedata.normalize("NFKC", match[0]), unescaped)


def load_clip_tokenizer(source: str, context_length: int) -> ClipTokenizer:
    """Return the tokenizer of a hub id, or of a folder with its files.

    Raises:
        InvalidInput: it is not available, or is not CLIP's.
    """
    from curation.features.clip import load_tokenizer  # noqa: PLC0415 - loads transformers

    return convert_tokenizer(load_tokenizer(source), context_length)


def convert_tokenizer(tokenizer: Any, context_length: int) -> ClipTokenizer:
    """Return the same tokenizer without the ``transformers`` library around it.

    Raises:
        InvalidInput: it is not a fast tokenizer, or not CLIP's.
    """
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        raise InvalidInput("tokenizer: has no fast version; give a folder or hub id of a CLIP")
    return ClipTokenizer(fast.to_str(), context_length)


def trim_padding(tokens: Tensor, end: int) -> Tensor:
    """Return the columns up to the last end token: texts are short, so this saves time and changes no vector."""
    if not len(tokens):
        return tokens
    return tokens[:, : int((tokens == end).int().argmax(dim=1).max()) + 1]


def _parse_tokenizer(tokenizer_json: str) -> Any:
    import tokenizers  # noqa: PLC0415 - comes with transformers

    try:
        return tokenizers.Tokenizer.from_str(tokenizer_json)
    except Exception as error:  # the library raises plain Exception
        raise InvalidInput(
            "tokenizer: is not a file of the tokenizers library; save the scorer again"
        ) from error
