"""Find texts that copy an earlier text, exactly or nearly, in subquadratic time.

Two texts are near copies if the Jaccard index of their sets of words is at least 0.8 (Broder 1997,
doi:10.1109/SEQUEN.1997.666900): a sentence of nine words with one word replaced is a near copy. Shingles have one
word because the texts are single sentences; with two or three, one replaced word would change a third of them.

The join is exact. Words are ordered from rare to frequent. Two similar sets share a word among the first few of each
(prefix filter: Chaudhuri et al. 2006, doi:10.1109/ICDE.2006.9; Bayardo et al. 2007, doi:10.1145/1242572.1242591), so
an inverted index of those words gives all candidates. A bitmap of each set bounds the overlap of two sets (Sandes et
al. 2020, doi:10.1016/j.is.2019.101449) before they are compared.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

MIN_SIMILARITY = 0.8
MIN_WORDS = 5  # shorter texts are often equal by chance: only an author's own exact copies of them count
PAIRS_CHUNK_SIZE = 500_000  # candidate pairs compared in one array
_NON_WORD_PATTERN = re.compile(r"[^\w]+")
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class TextCopies:
    """For each text: the first earlier text that it copies, or -1, and their similarity (0 without a source)."""

    source: IntArray
    similarity: NDArray[np.float64]


def normalise_text(text: str) -> str:
    """Return a text's words case-folded in NFKC, without punctuation, separated by single spaces."""
    return _NON_WORD_PATTERN.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def is_long_text(text: str) -> bool:
    """Return whether a text has so many words that two people hardly ever write it by chance."""
    return normalise_text(text).count(" ") + 1 >= MIN_WORDS


def find_copies(
    texts: Sequence[str], authors: Sequence[Hashable], min_similarity: float = MIN_SIMILARITY
) -> TextCopies:
    """Return which texts copy an earlier one; n texts, oldest first, with their authors.

    Args:
        min_similarity: the minimum Jaccard index of two sets of words, above 0.5 and at most 1.
    """
    normalised = [normalise_text(text) for text in texts]
    first_indices: dict[tuple[Hashable, str], int] = {}
    unique: list[int] = []
    source = np.full(len(texts), -1, np.int64)
    similarity = np.zeros(len(texts), np.float64)
    for index, (text, author) in enumerate(zip(normalised, authors, strict=True)):
        if not text:
            continue
        long = text.count(" ") + 1 >= MIN_WORDS
        first_index = first_indices.setdefault((None if long else author, text), index)
        if first_index != index:
            source[index], similarity[index] = first_index, 1.0
        elif long:
            unique.append(index)
    earlier, values = _find_earlier_similar_texts([normalised[index] for index in unique], min_similarity)
    positions = np.array(unique, np.int64)
    is_near = earlier >= 0
    source[positions[is_near]] = positions[earlier[is_near]]
    similarity[positions[is_near]] = values[is_near]
    return TextCopies(source, similarity)


def _find_earlier_similar_texts(
    texts: Sequence[str], min_similarity: float
) -> tuple[IntArray, NDArray[np.float64]]:
    """Return for each of n distinct texts the first similar earlier one, or -1, and their similarity."""
    source = np.full(len(texts), -1, np.int64)
    values = np.zeros(len(texts), np.float64)
    if not texts:
        return source, values
    words, starts, sizes = _encode_words(texts)
    bits = _word_bitmaps(words, starts, sizes)
    for earlier, later in _pairs_to_compare(words, starts, sizes, min_similarity):
        # The symmetric difference of similar sets is at most this, and equal words set equal bits.
        max_difference = (sizes[earlier] + sizes[later]) * (
            (1 - min_similarity) / (1 + min_similarity)
        ) + _EPSILON
        is_candidate = np.bitwise_count(bits[earlier] ^ bits[later]) <= max_difference
        left, right = earlier[is_candidate], later[is_candidate]
        shared = _count_shared_words(words, starts, sizes, left, right)
        jaccard = shared / (sizes[left] + sizes[right] - shared)
        is_similar = jaccard >= min_similarity - _EPSILON
        _update_earliest_sources(source, values, left[is_similar], right[is_similar], jaccard[is_similar])
    return source, values


def _encode_words(texts: Sequence[str]) -> tuple[IntArray, IntArray, IntArray]:
    """Return all sets of words as one array of codes, rare words first (0 is the rarest), with starts and sizes."""
    sets = [set(text.split()) for text in texts]
    frequencies = Counter(word for words in sets for word in words)
    codes = {
        word: rank
        for rank, (word, _) in enumerate(sorted(frequencies.items(), key=lambda row: (row[1], row[0])))
    }
    sizes = np.array([len(words) for words in sets], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    flat = np.fromiter((codes[word] for words in sets for word in words), np.int64, int(sizes.sum()))
    owner = np.repeat(np.arange(len(texts)), sizes)
    return flat[np.lexsort((flat, owner))], starts, sizes


def _word_bitmaps(words: IntArray, starts: IntArray, sizes: IntArray) -> NDArray[np.uint64]:
    """Return 64 bits for each set: a multiplicative hash of each word sets one of them."""
    hashed = (words.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(58)
    bits = np.bitwise_or.reduceat(np.uint64(1) << hashed, starts)
    return np.where(sizes > 0, bits, np.uint64(0))


def _pairs_to_compare(
    words: IntArray, starts: IntArray, sizes: IntArray, min_similarity: float
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield (earlier, later) positions that share a prefix word and have sizes that allow similarity."""
    prefix = sizes - np.ceil(min_similarity * sizes - _EPSILON).astype(np.int64) + 1
    owner = np.repeat(np.arange(sizes.size), prefix)
    offset = np.arange(int(prefix.sum())) - np.repeat(np.cumsum(prefix) - prefix, prefix)
    keys = words[starts[owner] + offset]
    # Entries of one word are sorted by set size, so an entry's possible partners follow it directly.
    order = np.lexsort((owner, sizes[owner], keys))
    keys, owner = keys[order], owner[order]
    size = sizes[owner]
    span = int(sizes.max()) + 1
    max_size = np.floor(size / min_similarity + _EPSILON).astype(np.int64)
    end_positions = np.searchsorted(
        keys * span + size, keys * span + np.minimum(max_size, span - 1), side="right"
    )
    partners = end_positions - np.arange(keys.size) - 1
    done = np.cumsum(partners)
    start = 0
    while start < keys.size:
        already_done = done[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(done, already_done + PAIRS_CHUNK_SIZE, side="right")))
        counts = partners[start:end]
        left = np.repeat(np.arange(start, end), counts)
        right = left + 1 + np.arange(left.size) - np.repeat(np.cumsum(counts) - counts, counts)
        left_owner, right_owner = owner[left], owner[right]
        yield np.minimum(left_owner, right_owner), np.maximum(left_owner, right_owner)
        start = end


def _count_shared_words(
    words: IntArray, starts: IntArray, sizes: IntArray, left: IntArray, right: IntArray
) -> IntArray:
    """Return how many words each pair of sets has in common."""
    # Both sets of a pair as (pair, word) numbers: a shared word occurs twice.
    span = int(words.max()) + 1
    left_members = _pair_and_word_codes(words, starts, sizes, left, span)
    right_members = _pair_and_word_codes(words, starts, sizes, right, span)
    both = np.sort(np.concatenate([left_members, right_members]))
    repeated = both[1:][both[1:] == both[:-1]]
    return np.bincount(repeated // span, minlength=left.size).astype(np.int64)


def _pair_and_word_codes(
    words: IntArray, starts: IntArray, sizes: IntArray, selected: IntArray, span: int
) -> IntArray:
    counts = sizes[selected]
    pair = np.repeat(np.arange(selected.size), counts)
    offset = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return pair * span + words[starts[selected][pair] + offset]


def _update_earliest_sources(
    source: IntArray,
    values: NDArray[np.float64],
    earlier: IntArray,
    later: IntArray,
    similarity: NDArray[np.float64],
) -> None:
    """Record each later text's first earlier one, unless an even earlier one is recorded."""
    order = np.lexsort((earlier, later))
    earlier, later, similarity = earlier[order], later[order], similarity[order]
    is_first = np.ones(later.size, np.bool_)
    is_first[1:] = later[1:] != later[:-1]
    earlier, later, similarity = earlier[is_first], later[is_first], similarity[is_first]
    better = (source[later] < 0) | (earlier < source[later])
    source[later[better]], values[later[better]] = earlier[better], similarity[better]
