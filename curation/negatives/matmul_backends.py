"""Matrix products of images' and inferences' unit vectors, with a proven bound on their error.

The rules compare plausibilities exactly; a matrix product only decides the clear pairs. So the product may be
imprecise, and may represent scores by numbers of its own (words), if it can bound the plausibility of each word.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

PART_SIZE = (
    2048  # columns per part: the scores of a few hundred rows are still in the cache when they are counted
)


class PreparedScores(Protocol):
    """The product of m images with c inferences, computed part by part. Words have the order of the scores."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of a word."""
        ...

    @property
    def error_bound(self) -> float:
        """Bound of the difference between a score and the exact inner product of the input vectors."""
        ...

    def fill(self, images: NDArray[np.intp], out: NDArray[Any]) -> Iterator[slice]:
        """Write the words (b, c) of some images; yield each part of the columns when it is written."""
        ...

    def uncertain_range(self, plausibility: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return low and high, (b,): words below low have less, words above high more than the (b,) plausibility."""
        ...

    def upper_bounds(self, words: NDArray[Any]) -> NDArray[np.float64]:
        """Return upper bounds (k,) of the plausibility of (k,) words."""
        ...

    def limit_to_one_core(self) -> AbstractContextManager[object]:
        """Return a context in which each thread multiplies on one core; the caller's threads share the blocks."""
        ...


class ScoreBackend(Protocol):
    """A backend that multiplies images with inferences."""

    name: str

    def prepare(self, images: NDArray[Any], inferences: NDArray[Any]) -> PreparedScores:
        """Prepare to multiply unit vectors, (m, d) and (c, d) of one type; they are not changed."""


class NumpyScoreBackend:
    """numpy's product in the vectors' own precision."""

    name = "plain"

    def prepare(self, images: NDArray[Any], inferences: NDArray[Any]) -> PreparedScores:
        """Return the product; no preparation is needed."""
        return _NumpyScores(images, inferences)


class _NumpyScores:
    def __init__(self, images: NDArray[Any], inferences: NDArray[Any]) -> None:
        self._images, self._inferences = images, inferences
        self.dtype: np.dtype[Any] = inferences.dtype
        self.error_bound = matmul_error_bound(inferences)

    def fill(self, images: NDArray[np.intp], out: NDArray[Any]) -> Iterator[slice]:
        rows = self._images[images]
        for part in block_slices(len(self._inferences), PART_SIZE):
            np.matmul(rows, self._inferences[part].T, out=out[:, part])
            yield part

    def uncertain_range(self, plausibility: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        return round_outward(plausibility, self.error_bound, self.dtype)

    def upper_bounds(self, words: NDArray[Any]) -> NDArray[np.float64]:
        return words.astype(np.float64) + self.error_bound

    def limit_to_one_core(self) -> AbstractContextManager[object]:
        return threadpool_limits(1, user_api="blas")


def matmul_error_bound(vectors: NDArray[Any]) -> float:
    """Return the error bound of a product of unit vectors like (n, d) ``vectors`` in their precision."""
    d = vectors.shape[1]
    return total_error_bound(summation_error(d, vectors.dtype), d)


def total_error_bound(error: float, d: int) -> float:
    """Return a product's error plus the error of the float64 sum of d components that defines the plausibility.

    The sum is increased by 1 %, since rounded unit vectors do not have exactly length 1.
    """
    return 1.01 * (error + summation_error(d, np.dtype(np.float64)))


def summation_error(d: int, kind: np.dtype[Any]) -> float:
    """Return the error bound of the product of unit vectors of d components, summed in any order.

    With unit roundoff u at most d u / (1 - d u). Source: N. Higham, Accuracy and Stability of Numerical Algorithms,
    2nd ed., section 3.1.
    """
    rounding = d * float(np.finfo(kind).eps) / 2
    return rounding / (1 - rounding)


def round_outward(
    values: NDArray[np.float64], margin: float, kind: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (b,) values minus and plus a margin, rounded outward to a float type."""
    low = np.nextafter((values - margin).astype(kind), kind.type(-np.inf))
    high = np.nextafter((values + margin).astype(kind), kind.type(np.inf))
    return low, high


def block_slices(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` that cover 0 to n."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
