"""Products of unit images with unit inferences, with a proven bound on their error.

The rules compare plausibilities exactly; a product only finds which pairs are clear. So it may be coarse, and may
speak in words of its own, provided that it says what a word can stand for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

PART_SIZE = 2048  # scores of a few hundred rows are still in the cache when they are counted


class PreparedScores(Protocol):
    """The product of m images with c inferences, ready to be computed part by part.

    It is written in words whose order is that of the scores.
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of a word."""
        ...

    @property
    def margin(self) -> float:
        """How far a score may be from the exact inner product of the vectors as they were given."""
        ...

    def fill(self, images: NDArray[np.intp], out: NDArray[Any]) -> Iterator[slice]:
        """Write the words (b, c) of some images; give each part of the columns as soon as it is written."""
        ...

    def band(self, plausibility: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Words low and high, (b,) each: below low is less, above high is more than the (b,) plausibility."""
        ...

    def upper_bounds(self, words: NDArray[Any]) -> NDArray[np.float64]:
        """The greatest plausibility, (k,), that such (k,) words can stand for."""
        ...

    def single_thread(self) -> AbstractContextManager[object]:
        """While this lasts, a thread multiplies on one processor: our own threads share out the blocks."""
        ...


class ScoreBackend(Protocol):
    """A way to multiply."""

    name: str

    def prepare(self, images: NDArray[Any], inferences: NDArray[Any]) -> PreparedScores:
        """Get ready to multiply unit vectors, (m, d) and (c, d) of one type; they are not changed."""


class NumpyScoreBackend:
    """numpy's product in the vectors' own precision."""

    name = "plain"

    def prepare(self, images: NDArray[Any], inferences: NDArray[Any]) -> PreparedScores:
        """Nothing needs to be done."""
        return _NumpyScores(images, inferences)


class _NumpyScores:
    def __init__(self, images: NDArray[Any], inferences: NDArray[Any]) -> None:
        self._images, self._inferences = images, inferences
        self.dtype: np.dtype[Any] = inferences.dtype
        self.margin = matmul_margin(inferences)

    def fill(self, images: NDArray[np.intp], out: NDArray[Any]) -> Iterator[slice]:
        rows = self._images[images]
        for part in block_slices(len(self._inferences), PART_SIZE):
            np.matmul(rows, self._inferences[part].T, out=out[:, part])
            yield part

    def band(self, plausibility: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        return round_outward(plausibility, self.margin, self.dtype)

    def upper_bounds(self, words: NDArray[Any]) -> NDArray[np.float64]:
        return words.astype(np.float64) + self.margin

    def single_thread(self) -> AbstractContextManager[object]:
        return threadpool_limits(1, user_api="blas")


def matmul_margin(vectors: NDArray[Any]) -> float:
    """How far a product of unit vectors like the (n, d) given, in their precision, may be from the plausibility."""
    d = vectors.shape[1]
    return total_margin(summation_error(d, vectors.dtype), d)


def total_margin(error: float, d: int) -> float:
    """The error of a product and that of the float64 sum that stands for the plausibility, of d components.

    A little wider, as unit vectors that were rounded are not quite of length 1.
    """
    return 1.01 * (error + summation_error(d, np.dtype(np.float64)))


def summation_error(d: int, kind: np.dtype[Any]) -> float:
    """How far the product of unit vectors of d components may be off, in whatever order they are summed.

    With unit roundoff u at most d u / (1 - d u). Source: N. Higham, Accuracy and Stability of Numerical Algorithms,
    2nd ed., section 3.1.
    """
    rounding = d * float(np.finfo(kind).eps) / 2
    return rounding / (1 - rounding)


def round_outward(
    values: NDArray[np.float64], margin: float, kind: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """(b,) values less and plus a margin, rounded away from them to a type of floats."""
    low = np.nextafter((values - margin).astype(kind), kind.type(-np.inf))
    high = np.nextafter((values + margin).astype(kind), kind.type(np.inf))
    return low, high


def block_slices(n: int, size: int) -> Iterator[slice]:
    """Slices of at most size that cover 0 to n."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
