"""Find texts that copy an earlier text, word for word or nearly so, in time that does not grow with the square.

Two texts are near copies when the Jaccard index of their sets of words is 0.8 or more (Broder 1997,
doi:10.1109/SEQUEN.1997.666900): in a sentence of nine words, one replaced by another still is. Shingles of one word
are taken because the texts are single sentences; with two or three, that one word would change a third of them.

The join is exact. Words are ordered from rare to frequent, and two sets that are alike share a word among the first
few of each (prefix filter: Chaudhuri et al. 2006, doi:10.1109/ICDE.2006.9; Bayardo et al. 2007,
doi:10.1145/1242572.1242591), so an inverted index of those few words gives all candidates. A bitmap of each set
bounds how much two sets can share (Sandes et al. 2020, doi:10.1016/j.is.2019.101449) before they are compared.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

LIKENESS = 0.8
LEAST_WORDS = 5  # shorter texts are alike by nature: only an author's own exact copies of them count
CHUNK = 500_000  # candidate pairs looked at at once
_NOT_WORD = re.compile(r"[^\w]+")
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Copies:
    """For each text the earliest earlier text that it copies, or -1, and how alike the two are (0 where none)."""

    of: IntArray
    likeness: NDArray[np.float64]

    @property
    def copied(self) -> NDArray[np.bool_]:
        """Which texts are copies."""
        return self.of >= 0


def normalised(text: str) -> str:
    """Return a text's words in one case with single spaces, without marks: NFKC, case folded."""
    return _NOT_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def is_long(text: str) -> bool:
    """Tell whether a text has so many words that two people hardly write the same by chance."""
    return normalised(text).count(" ") + 1 >= LEAST_WORDS


def copies(texts: Sequence[str], authors: Sequence[Hashable], likeness: float = LIKENESS) -> Copies:
    """Return which texts copy an earlier one; n texts, oldest first, with their authors.

    Args:
        likeness: the least Jaccard index of two sets of words, above 0.5 and up to 1.
    """
    plain = [normalised(text) for text in texts]
    first: dict[tuple[Hashable, str], int] = {}
    unique: list[int] = []
    of = np.full(len(texts), -1, np.int64)
    alike = np.zeros(len(texts), np.float64)
    for at, (text, author) in enumerate(zip(plain, authors, strict=True)):
        if not text:
            continue
        long = text.count(" ") + 1 >= LEAST_WORDS
        known = first.setdefault((None if long else author, text), at)
        if known != at:
            of[at], alike[at] = known, 1.0
        elif long:
            unique.append(at)
    found, values = _join([plain[at] for at in unique], likeness)
    places = np.array(unique, np.int64)
    near = found >= 0
    of[places[near]] = places[found[near]]
    alike[places[near]] = values[near]
    return Copies(of, alike)


def _join(texts: Sequence[str], likeness: float) -> tuple[IntArray, NDArray[np.float64]]:
    """Return for each of n different texts the first earlier one that is alike, or -1, and how alike."""
    of = np.full(len(texts), -1, np.int64)
    values = np.zeros(len(texts), np.float64)
    if not texts:
        return of, values
    words, starts, sizes = _coded(texts)
    bits = _bitmaps(words, starts, sizes)
    for earlier, later in _candidates(words, starts, sizes, likeness):
        # |x ^ y| of alike sets is at most this, and equal words set equal bits.
        apart = (sizes[earlier] + sizes[later]) * ((1 - likeness) / (1 + likeness)) + _EPSILON
        fits = np.bitwise_count(bits[earlier] ^ bits[later]) <= apart
        one, other = earlier[fits], later[fits]
        shared = _shared(words, starts, sizes, one, other)
        index = shared / (sizes[one] + sizes[other] - shared)
        enough = index >= likeness - _EPSILON
        _keep_first(of, values, one[enough], other[enough], index[enough])
    return of, values


def _coded(texts: Sequence[str]) -> tuple[IntArray, IntArray, IntArray]:
    """Return all sets of words as one array of codes, rare words first (0 is the rarest), with starts and sizes."""
    sets = [set(text.split()) for text in texts]
    often = Counter(word for words in sets for word in words)
    code = {word: at for at, (word, _) in enumerate(sorted(often.items(), key=lambda row: (row[1], row[0])))}
    sizes = np.array([len(words) for words in sets], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    flat = np.fromiter((code[word] for words in sets for word in words), np.int64, int(sizes.sum()))
    owner = np.repeat(np.arange(len(texts)), sizes)
    return flat[np.lexsort((flat, owner))], starts, sizes


def _bitmaps(words: IntArray, starts: IntArray, sizes: IntArray) -> NDArray[np.uint64]:
    """Return 64 bits for each set: one for each of its words, by a multiplicative hash."""
    hashed = (words.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(58)
    bits = np.bitwise_or.reduceat(np.uint64(1) << hashed, starts)
    return np.where(sizes > 0, bits, np.uint64(0))


def _candidates(
    words: IntArray, starts: IntArray, sizes: IntArray, likeness: float
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield (earlier, later) positions that share a prefix word and may be alike by their sizes."""
    prefix = sizes - np.ceil(likeness * sizes - _EPSILON).astype(np.int64) + 1
    owner = np.repeat(np.arange(sizes.size), prefix)
    offset = np.arange(int(prefix.sum())) - np.repeat(np.cumsum(prefix) - prefix, prefix)
    keys = words[starts[owner] + offset]
    # Within a word by size: the partners that an entry can have come right after it.
    order = np.lexsort((owner, sizes[owner], keys))
    keys, owner = keys[order], owner[order]
    size = sizes[owner]
    span = int(sizes.max()) + 1
    most = np.floor(size / likeness + _EPSILON).astype(np.int64)
    reach = np.searchsorted(keys * span + size, keys * span + np.minimum(most, span - 1), side="right")
    partners = reach - np.arange(keys.size) - 1
    done = np.cumsum(partners)
    begin = 0
    while begin < keys.size:
        before = done[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(done, before + CHUNK, side="right")))
        counts = partners[begin:end]
        left = np.repeat(np.arange(begin, end), counts)
        right = left + 1 + np.arange(left.size) - np.repeat(np.cumsum(counts) - counts, counts)
        one, other = owner[left], owner[right]
        yield np.minimum(one, other), np.maximum(one, other)
        begin = end


def _shared(words: IntArray, starts: IntArray, sizes: IntArray, one: IntArray, other: IntArray) -> IntArray:
    """Return how many words each pair of sets has in common."""
    # Both sets of a pair as (pair, word) numbers: what both have is there twice.
    span = int(words.max()) + 1
    left = _members(words, starts, sizes, one, span)
    right = _members(words, starts, sizes, other, span)
    both = np.sort(np.concatenate([left, right]))
    twice = both[1:][both[1:] == both[:-1]]
    return np.bincount(twice // span, minlength=one.size).astype(np.int64)


def _members(words: IntArray, starts: IntArray, sizes: IntArray, which: IntArray, span: int) -> IntArray:
    counts = sizes[which]
    pair = np.repeat(np.arange(which.size), counts)
    offset = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return pair * span + words[starts[which][pair] + offset]


def _keep_first(
    of: IntArray, values: NDArray[np.float64], earlier: IntArray, later: IntArray, index: NDArray[np.float64]
) -> None:
    """Write down for each later text its first earlier one, unless one that is earlier still is known."""
    order = np.lexsort((earlier, later))
    earlier, later, index = earlier[order], later[order], index[order]
    new = np.ones(later.size, np.bool_)
    new[1:] = later[1:] != later[:-1]
    earlier, later, index = earlier[new], later[new], index[new]
    better = (of[later] < 0) | (earlier < of[later])
    of[later[better]], values[later[better]] = earlier[better], index[better]
