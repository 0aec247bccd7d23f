"""Find near-identical images in different splits, without a matrix of all pairs.

The rows of every two splits are multiplied block by block in float32. For unit vectors u, v of length d the computed
product differs from the exact one by at most γ = d·ε / (1 - d·ε) with ε = 2⁻²⁴, in any order of summation (Higham,
Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1, doi:10.1137/1.9780898718027), and rounding the
components of u and v to float32 adds at most 2ε + ε². So a pair whose float32 product is below ``threshold`` by more
than the sum of both (``rounding_margin``) is certainly below. All other pairs are recomputed in float64 from the
input vectors. The result is therefore that of float64, independent of the block size.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

BLOCK_SIZE = 2048
CHUNK_SIZE = 8192  # pairs that are recomputed at a time
MIN_THRESHOLD = 0.5
UNIT_ROUNDOFF = 2.0**-24
BINS = 50

Step = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class CrossPairs:
    """Pairs of different splits with a cosine of at least the threshold.

    Args:
        rows: (m, 2) int64, the best pairs first, ties by their rows; at most ``limit``.
        cosines: (m,) float64.
        found: number of all pairs.
        by_splits: number of pairs of every two splits.
        nearest: (n,) float32, each image's largest cosine with any image of another split; -1 if there is none.
    """

    rows: NDArray[np.int64]
    cosines: NDArray[np.float64]
    found: int
    by_splits: dict[tuple[str, str], int]
    nearest: NDArray[np.float32]


def find_cross_pairs(
    vectors: NDArray[np.floating],
    splits: Sequence[str],
    *,
    threshold: float,
    limit: int,
    block: int = BLOCK_SIZE,
    step: Step = lambda _: None,
) -> CrossPairs:
    """Return the pairs of rows of different splits whose cosine is at least ``threshold``.

    Memory: the unit vectors, (n, d) float32, one block of products, and at most ``limit`` pairs plus those of a
    block.

    Args:
        vectors: (n, d); a zero row has no direction and is in no pair.
        splits: the split of each row.
        limit: number of best pairs to return.
        step: called after each block with its number of products; may raise to stop.

    Raises:
        InvalidInput: wrong shapes, a value that is not finite, or a threshold outside 0.5 to 1.
    """
    _check_inputs(vectors, splits, threshold, limit)
    search = _CrossPairSearch(vectors, threshold, limit)
    names = np.asarray(splits, dtype=object)
    rows = {split: np.flatnonzero(names == split) for split in dict.fromkeys(splits)}
    by_splits = {}
    for first, second in combinations(rows, 2):
        before = search.found
        for left, right in _block_pairs(rows[first], rows[second], block):
            search.compare_blocks(left, right)
            step(len(left) * len(right))
        by_splits[first, second] = search.found - before
    pairs, cosines = search.best_pairs()
    return CrossPairs(pairs, cosines, search.found, by_splits, search.nearest)


def count_products(splits: Sequence[str]) -> int:
    """Return the number of products of a search, for progress."""
    counts = [splits.count(split) for split in dict.fromkeys(splits)]
    return sum(first * second for first, second in combinations(counts, 2))


def pair_cosines(vectors: NDArray[np.floating], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cosine of each pair of rows in float64, (m,); 0 if a row is all zeros."""
    values = np.zeros(len(pairs))
    for start in range(0, len(pairs), CHUNK_SIZE):
        chunk = pairs[start : start + CHUNK_SIZE]
        first, second = vectors[chunk[:, 0]].astype(np.float64), vectors[chunk[:, 1]].astype(np.float64)
        norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
        dots = np.einsum("ij,ij->i", first, second)
        values[start : start + CHUNK_SIZE] = np.divide(dots, norms, out=np.zeros(len(chunk)), where=norms > 0)
    return np.clip(values, -1.0, 1.0)


def rounding_margin(dimensions: int) -> float:
    """Return the error bound of a float32 product of two unit vectors (see the module's docstring)."""
    accumulated = dimensions * UNIT_ROUNDOFF
    return accumulated / (1 - accumulated) * (1 + 4 * UNIT_ROUNDOFF) + 4 * UNIT_ROUNDOFF


def nearest_histogram(nearest: NDArray[np.floating], bins: int = BINS) -> list[int]:
    """Return the number of images by the cosine of their nearest neighbour, in ``bins`` equal bins from 0 to 1.

    Values below 0 count in the first bin; images without a neighbour (exactly -1) are omitted.
    """
    real = np.clip(nearest[nearest > -1], 0.0, 1.0)
    counts, _ = np.histogram(real, bins=bins, range=(0.0, 1.0))
    return [int(count) for count in counts]


def find_shared_keys(keys: Sequence[frozenset[str]], splits: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the pairs of rows of different splits that share a key, (first, second, key), each pair once.

    Args:
        keys: rows that share a key are copies; for instance the hash of the bytes.
    """
    holders: dict[str, list[int]] = {}
    for row, names in enumerate(keys):
        for name in names:
            holders.setdefault(name, []).append(row)
    pairs: dict[tuple[int, int], str] = {}
    for name, rows in sorted(holders.items()):
        for first, second in combinations(rows, 2):
            if splits[first] != splits[second]:
                pairs.setdefault((first, second), name)
    return [(first, second, name) for (first, second), name in sorted(pairs.items())]


class _CrossPairSearch:
    """Collects pairs block by block and keeps the best."""

    def __init__(self, vectors: NDArray[np.floating], threshold: float, limit: int) -> None:
        self._vectors = vectors
        self._unit = _unit_rows(vectors)
        self._threshold = threshold
        self._cut = np.float32(threshold - rounding_margin(vectors.shape[1]) - UNIT_ROUNDOFF)
        self._limit = limit
        self._pairs = np.empty((0, 2), dtype=np.int64)
        self._cosines = np.empty(0)
        self.found = 0
        self.nearest = np.full(len(vectors), -1, dtype=np.float32)

    def compare_blocks(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        """Multiply two blocks of rows and collect the near pairs."""
        block = self._unit[left] @ self._unit[right].T
        across, down = block.max(axis=1), block.max(axis=0)
        self.nearest[left] = np.maximum(self.nearest[left], across)
        self.nearest[right] = np.maximum(self.nearest[right], down)
        near_rows = np.flatnonzero(across >= self._cut)
        for rows in _chunks(near_rows, max(1, CHUNK_SIZE * 8 // max(len(right), 1))):
            left_rows, right_rows = np.nonzero(block[rows] >= self._cut)
            self._collect(np.column_stack([left[rows[left_rows]], right[right_rows]]))

    def _collect(self, pairs: NDArray[np.int64]) -> None:
        cosines = pair_cosines(self._vectors, pairs)
        near = cosines >= self._threshold
        self.found += int(near.sum())
        ordered = np.sort(pairs[near], axis=1)
        self._pairs = np.concatenate([self._pairs, ordered])
        self._cosines = np.concatenate([self._cosines, cosines[near]])
        if len(self._pairs) > 2 * self._limit:
            self._pairs, self._cosines = self.best_pairs()

    def best_pairs(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the best pairs so far, best first; ties in the order of rows."""
        order = np.lexsort((self._pairs[:, 1], self._pairs[:, 0], -self._cosines))[: self._limit]
        return self._pairs[order], self._cosines[order]


def _unit_rows(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return rows of length 1, rounded from float64; zero rows stay zero."""
    unit = np.empty(vectors.shape, dtype=np.float32)
    for start in range(0, len(vectors), CHUNK_SIZE):
        rows = vectors[start : start + CHUNK_SIZE].astype(np.float64)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit[start : start + CHUNK_SIZE] = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit


def _block_pairs(
    first: NDArray[np.int64], second: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    for left in _chunks(first, size):
        for right in _chunks(second, size):
            yield left, right


def _chunks(rows: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _check_inputs(vectors: NDArray[np.floating], splits: Sequence[str], threshold: float, limit: int) -> None:
    if vectors.ndim != 2 or len(vectors) != len(splits):  # noqa: PLR2004 - rows and columns
        shape = f"shape {vectors.shape} for {len(splits)} splits"
        raise InvalidInput(f"vectors: {shape}; give one row for each image")
    for start in range(0, len(vectors), CHUNK_SIZE):
        finite = np.isfinite(vectors[start : start + CHUNK_SIZE]).all(axis=1)
        if not finite.all():
            raise InvalidInput(f"vectors: row {start + int(np.argmin(finite))} holds NaN or infinity")
    if not MIN_THRESHOLD <= threshold <= 1:
        raise InvalidInput(f"threshold: {threshold:g} is not between {MIN_THRESHOLD:g} and 1")
    if limit < 1:
        raise InvalidInput(f"limit: {limit} is too small; keep at least 1 pair")
