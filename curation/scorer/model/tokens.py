"""Texts as tokens: CLIP's own byte-pair encoding, or single bytes for models of random weights."""

import html
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from curation.records import InvalidInput

PADDING = 0  # what stands behind a text's end is never read
BYTES = 256
_QUOTES = dict.fromkeys(map(ord, "\u02bc\u2018\u2019\u201a\u201b"), "'") | dict.fromkeys(
    range(0x201C, 0x2020), '"'
)
_WIDE = re.compile("[\ufb00-\ufb06\uff01-\uffee\u3000]")  # ligatures such as ﬁ, letters as wide as ideographs


class Tokenizer(Protocol):
    """Texts as rows of int64 tokens. ``end`` ends a text; ``vocabulary`` is one more than the highest token."""

    context_length: int
    vocabulary: int
    end: int

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Return (n, context_length) tokens: begun, cut to fit, ended, and padded with 0. Thread-safe."""
        ...


class ByteTokenizer:
    """UTF-8 bytes. It needs no file, and knows no words."""

    vocabulary = BYTES + 2
    start = BYTES
    end = BYTES + 1

    def __init__(self, context_length: int) -> None:
        self.context_length = context_length

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Return (n, context_length) int64 tokens."""
        found = torch.full((len(texts), self.context_length), PADDING, dtype=torch.int64)
        for row, text in enumerate(texts):
            tokens = [self.start, *text.encode()[: self.context_length - 2], self.end]
            found[row, : len(tokens)] = torch.tensor(tokens)
        return found


class ClipTokenizer:
    """CLIP's byte-pair encoding.

    ``tokenizer_json`` is the file of that name of the ``tokenizers`` library, as text: words and merges, lower case,
    the tokens that begin and end a text.

    Raises:
        InvalidInput: the text is no such file, or a text does not end with one and the same token.
    """

    def __init__(self, tokenizer_json: str, context_length: int) -> None:
        self.tokenizer_json = tokenizer_json
        self.context_length = context_length
        self._fast = _read(tokenizer_json)
        # Set once and for all: changing it from call to call would let two threads disturb each other.
        self._fast.enable_truncation(max_length=context_length)
        self._fast.enable_padding(length=context_length, pad_id=PADDING)
        self.vocabulary = 1 + max(self._fast.get_vocab(with_added_tokens=True).values(), default=-1)
        self.end = self._ending()

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Return (n, context_length) int64 tokens."""
        if not texts:
            return torch.zeros((0, self.context_length), dtype=torch.int64)
        found = self._fast.encode_batch([plain(text) for text in texts])
        return torch.tensor([row.ids for row in found], dtype=torch.int64)

    def _ending(self) -> int:
        ends = {self._last(text) for text in ("", "a", "a b " * self.context_length)}
        if len(ends) > 1 or None in ends:
            raise InvalidInput("tokenizer: texts do not end with an end token; name the tokenizer of a CLIP")
        return int(ends.pop() or 0)

    def _last(self, text: str) -> int | None:
        row = self._fast.encode(text)
        kept = [token for token, is_read in zip(row.ids, row.attention_mask, strict=True) if is_read]
        return kept[-1] if kept else None


def plain(text: str) -> str:
    """Return a text with plain quotes and letters for typographic ones, and characters for HTML's names of them.

    CLIP was trained on texts that its own tokenizer had cleaned so, and would read ’s as other words than 's; the
    library's does not. Broken encodings, which it mended too, are left.
    """
    known = html.unescape(html.unescape(text)).translate(_QUOTES)
    return _WIDE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), known)


def clip_tokenizer(source: str, context_length: int) -> ClipTokenizer:
    """Return the tokenizer of a hub id, or of a folder with its files.

    Raises:
        InvalidInput: it cannot be had, or is not CLIP's.
    """
    from curation.features.clip import load_tokenizer  # noqa: PLC0415 - loads transformers

    return from_transformers(load_tokenizer(source), context_length)


def from_transformers(tokenizer: Any, context_length: int) -> ClipTokenizer:
    """Return the same tokenizer without the ``transformers`` library around it.

    Raises:
        InvalidInput: it is not one of the fast ones, or not CLIP's.
    """
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        raise InvalidInput("tokenizer: has no fast form; name a folder or hub id of a CLIP")
    return ClipTokenizer(fast.to_str(), context_length)


def without_padding(tokens: Tensor, end: int) -> Tensor:
    """Return the columns up to the last end token: equal vectors in less time, since texts are short."""
    if not len(tokens):
        return tokens
    return tokens[:, : int((tokens == end).int().argmax(dim=1).max()) + 1]


def _read(tokenizer_json: str) -> Any:
    import tokenizers  # noqa: PLC0415 - comes with transformers

    try:
        return tokenizers.Tokenizer.from_str(tokenizer_json)
    except Exception as error:  # the library raises plain Exception
        raise InvalidInput(
            "tokenizer: the file is none of the tokenizers library; save the scorer anew"
        ) from error
