"""Find images of different splits that show nearly the same, without a matrix of all pairs.

The rows of each two splits are multiplied block by block in float32. For unit vectors u, v of length d the
computed product differs from the exact one by at most γ = d·ε / (1 - d·ε) with ε = 2⁻²⁴, whatever the order
of summation (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1,
doi:10.1137/1.9780898718027), and rounding the components of u and v to float32 adds at most 2ε + ε². So a
pair whose float32 product lies below ``threshold`` by more than the sum of both (``margin``) is surely
below. All others are computed again in float64 from the vectors as they came in, and that value decides.
The answer is therefore that of float64, and does not depend on the size of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

BLOCK = 2048
CHUNK = 8192  # pairs computed again at a time
LEAST_THRESHOLD = 0.5
UNIT_ROUNDOFF = 2.0**-24
BINS = 50

Step = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class CrossPairs:
    """Pairs of different splits with a cosine of at least the threshold.

    Args:
        rows: (m, 2) int64, the better pairs first, equal ones by their rows; at most ``limit`` of them.
        cosines: (m,) float64.
        found: how many there are in all.
        by_splits: how many there are for each two splits.
        nearest: (n,) float32, each image's largest cosine with any image of another split; -1 where there is none.
    """

    rows: NDArray[np.int64]
    cosines: NDArray[np.float64]
    found: int
    by_splits: dict[tuple[str, str], int]
    nearest: NDArray[np.float32]


def cross_pairs(
    vectors: NDArray[np.floating],
    splits: Sequence[str],
    *,
    threshold: float,
    limit: int,
    block: int = BLOCK,
    step: Step = lambda _: None,
) -> CrossPairs:
    """Return the pairs of rows of different splits whose cosine is at least ``threshold``.

    Memory: the unit vectors, (n, d) float32, one block of products, and at most ``limit`` + found-in-a-block pairs.

    Args:
        vectors: (n, d); a row of zeros has no direction and is in no pair.
        splits: the split of each row.
        limit: how many pairs to keep; the best ones.
        step: told after each block how many products were made; may raise to stop.

    Raises:
        InvalidInput: other shapes, a value that is not finite, or a threshold that is not within 0.5 to 1.
    """
    _check(vectors, splits, threshold, limit)
    search = _Search(vectors, threshold, limit)
    names = np.asarray(splits, dtype=object)
    rows = {split: np.flatnonzero(names == split) for split in dict.fromkeys(splits)}
    by_splits = {}
    for first, second in combinations(rows, 2):
        before = search.found
        for left, right in _blocks(rows[first], rows[second], block):
            search.look(left, right)
            step(len(left) * len(right))
        by_splits[first, second] = search.found - before
    pairs, cosines = search.best()
    return CrossPairs(pairs, cosines, search.found, by_splits, search.nearest)


def products(splits: Sequence[str]) -> int:
    """Return how many products a search makes, for its progress."""
    counts = [splits.count(split) for split in dict.fromkeys(splits)]
    return sum(first * second for first, second in combinations(counts, 2))


def cosines_of(vectors: NDArray[np.floating], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cosine of each pair of rows in float64, (m,); 0 where a row is all zeros."""
    values = np.zeros(len(pairs))
    for start in range(0, len(pairs), CHUNK):
        few = pairs[start : start + CHUNK]
        first, second = vectors[few[:, 0]].astype(np.float64), vectors[few[:, 1]].astype(np.float64)
        norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
        dots = np.einsum("ij,ij->i", first, second)
        values[start : start + CHUNK] = np.divide(dots, norms, out=np.zeros(len(few)), where=norms > 0)
    return np.clip(values, -1.0, 1.0)


def margin(dimensions: int) -> float:
    """Return by how much a float32 product of two unit vectors may miss the exact one (module's docstring)."""
    gathered = dimensions * UNIT_ROUNDOFF
    return gathered / (1 - gathered) * (1 + 4 * UNIT_ROUNDOFF) + 4 * UNIT_ROUNDOFF


def histogram(nearest: NDArray[np.floating], bins: int = BINS) -> list[int]:
    """Return how many images have their nearest neighbour in each of ``bins`` equal parts of 0 to 1.

    Values below 0 count in the first part, those of images without any counterpart (-1 exactly) nowhere.
    """
    real = np.clip(nearest[nearest > -1], 0.0, 1.0)
    counts, _ = np.histogram(real, bins=bins, range=(0.0, 1.0))
    return [int(count) for count in counts]


def shared_keys(keys: Sequence[frozenset[str]], splits: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the pairs of rows of different splits that share a key, (first, second, key), each pair once.

    Args:
        keys: what makes a row a copy of another, such as the hash of its bytes.
    """
    holders: dict[str, list[int]] = {}
    for row, names in enumerate(keys):
        for name in names:
            holders.setdefault(name, []).append(row)
    found: dict[tuple[int, int], str] = {}
    for name, rows in sorted(holders.items()):
        for first, second in combinations(rows, 2):
            if splits[first] != splits[second]:
                found.setdefault((first, second), name)
    return [(first, second, name) for (first, second), name in sorted(found.items())]


class _Search:
    """Collects pairs block by block and keeps the best."""

    def __init__(self, vectors: NDArray[np.floating], threshold: float, limit: int) -> None:
        self._vectors = vectors
        self._unit = _unit(vectors)
        self._threshold = threshold
        self._cut = np.float32(threshold - margin(vectors.shape[1]) - UNIT_ROUNDOFF)
        self._limit = limit
        self._pairs = np.empty((0, 2), dtype=np.int64)
        self._cosines = np.empty(0)
        self.found = 0
        self.nearest = np.full(len(vectors), -1, dtype=np.float32)

    def look(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        """Multiply two blocks of rows and take what is near enough."""
        block = self._unit[left] @ self._unit[right].T
        across, down = block.max(axis=1), block.max(axis=0)
        self.nearest[left] = np.maximum(self.nearest[left], across)
        self.nearest[right] = np.maximum(self.nearest[right], down)
        near_rows = np.flatnonzero(across >= self._cut)
        for few in _parts(near_rows, max(1, CHUNK * 8 // max(len(right), 1))):
            at, to = np.nonzero(block[few] >= self._cut)
            self._take(np.column_stack([left[few[at]], right[to]]))

    def _take(self, pairs: NDArray[np.int64]) -> None:
        cosines = cosines_of(self._vectors, pairs)
        near = cosines >= self._threshold
        self.found += int(near.sum())
        ordered = np.sort(pairs[near], axis=1)
        self._pairs = np.concatenate([self._pairs, ordered])
        self._cosines = np.concatenate([self._cosines, cosines[near]])
        if len(self._pairs) > 2 * self._limit:
            self._pairs, self._cosines = self.best()

    def best(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the best pairs so far, best first; equal cosines in the order of rows."""
        order = np.lexsort((self._pairs[:, 1], self._pairs[:, 0], -self._cosines))[: self._limit]
        return self._pairs[order], self._cosines[order]


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return rows of length 1, rounded from float64; a row of zeros stays one."""
    unit = np.empty(vectors.shape, dtype=np.float32)
    for start in range(0, len(vectors), CHUNK):
        rows = vectors[start : start + CHUNK].astype(np.float64)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit[start : start + CHUNK] = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit


def _blocks(
    first: NDArray[np.int64], second: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    for left in _parts(first, size):
        for right in _parts(second, size):
            yield left, right


def _parts(rows: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _check(vectors: NDArray[np.floating], splits: Sequence[str], threshold: float, limit: int) -> None:
    if vectors.ndim != 2 or len(vectors) != len(splits):  # noqa: PLR2004 - rows and columns
        raise InvalidInput(
            f"vectors: shape {vectors.shape} for {len(splits)} splits; give one row for each image"
        )
    for start in range(0, len(vectors), CHUNK):
        finite = np.isfinite(vectors[start : start + CHUNK]).all(axis=1)
        if not finite.all():
            raise InvalidInput(f"vectors: row {start + int(np.argmin(finite))} holds NaN or infinity")
    if not LEAST_THRESHOLD <= threshold <= 1:
        raise InvalidInput(f"threshold: {threshold:g} is not within {LEAST_THRESHOLD:g} to 1")
    if limit < 1:
        raise InvalidInput(f"limit: {limit} is too few; keep at least 1 pair")
