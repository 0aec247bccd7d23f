"""Approximate cosines of whole blocks of rows, with a proven bound on their error.

The exact clustering uses a matrix product only to exclude pairs that are too far apart, so the product may be
imprecise if its error is bounded: ``min_score`` converts a cosine to the least score of a pair with that cosine.

Bound of a float32 product. Let u = 2^-24 and |x|, |y| the true unit rows, rounded to float32 first: each coordinate
is off by a factor of at most 1 + u, which changes the inner product by at most 2u + u^2 (Cauchy-Schwarz). Summing d
products in float32 adds at most g |x|.|y| <= g (1 + u)^2 with g = (d + 1) u / (1 - (d + 1) u), in any order of
summation, with or without fused multiply-add. Source: N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd
ed., section 3.1. At d = 512 that is 3.1e-5; observed errors are about a hundred times smaller.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

FLOAT32_ROUNDING = 2.0**-24
UNDERFLOW_BOUND = 2.0**-100  # far above the sum of coordinates that are too small for float32
CHUNK_ROWS = 4096


@dataclass(frozen=True, slots=True)
class BlockShape:
    """The maximum shape of a block of scores."""

    rows: int
    columns: int

    @property
    def score_count(self) -> int:
        """Number of scores."""
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class UnitRows:
    """Unit vectors computed on demand: ``chunk`` returns rows start to stop as float32, (stop - start, d)."""

    n: int
    d: int
    chunk: Callable[[int, int], NDArray[np.float32]]

    def chunks(self) -> list[tuple[int, int]]:
        """Return ranges of rows that cover all rows."""
        return [(start, min(start + CHUNK_ROWS, self.n)) for start in range(0, self.n, CHUNK_ROWS)]


class MatmulThread(Protocol):
    """Computes blocks of the product in one thread, with a buffer of its own."""

    def block(self, rows: slice, columns: slice) -> NDArray[np.int32]:
        """Return scores, (rows, columns / per_word rounded up) words; the next call reuses the array.

        columns start at an even row. Padding of the last word is arbitrary.
        """


class PreparedMatmul(Protocol):
    """A product that is prepared for the given rows.

    Its scores are bit patterns: as signed integers they keep the order of numbers above zero, and all others are
    lower. ``per_word`` scores share a word of 32 bits: 1, or 2 of 16 bits.
    """

    @property
    def per_word(self) -> int:
        """Number of scores per word."""

    def min_score(self, cosine: float) -> np.int32:
        """Return the least word of pairs with at least this cosine (as the high half, if two share a word)."""

    def threads(self, count: int) -> AbstractContextManager[Sequence[MatmulThread]]:
        """Yield one MatmulThread for each of ``count`` threads; each multiplies on one core."""


class MatmulBackend(Protocol):
    """A backend that multiplies blocks of rows."""

    name: str

    def bytes_needed(self, n: int, d: int, block: BlockShape, threads: int) -> int:
        """Return the bytes that n prepared rows of length d and the threads' buffers need."""

    def prepare(self, rows: UnitRows, block: BlockShape) -> PreparedMatmul:
        """Prepare to multiply these rows in blocks of at most this shape."""


def float32_product_error(d: int) -> float:
    """Return the bound of the error of a float32 inner product of two rounded unit rows of length d."""
    u = FLOAT32_ROUNDING
    return accumulation_error(d) * (1 + u) ** 2 + 2 * u + u * u + UNDERFLOW_BOUND


def accumulation_error(d: int) -> float:
    """Return the greatest error of d products summed in float32 in any order, relative to the rows' lengths."""
    steps = (d + 1) * FLOAT32_ROUNDING
    return steps / (1 - steps)


def bits_just_below(threshold: float) -> np.int32:
    """Return the bits of the next lower float32; below the bits of all numbers if that is not above zero."""
    below = np.nextafter(np.float32(threshold), np.float32(-np.inf))
    return below.view(np.int32) if below > 0 else np.int32(-(2**31))


class NumpyFloat32Backend:
    """numpy's float32 product, one buffer per thread."""

    name = "fp32"

    def bytes_needed(self, n: int, d: int, block: BlockShape, threads: int) -> int:
        """Return the bytes of the rounded rows and of the buffers."""
        return 4 * (n * d + threads * block.score_count)

    def prepare(self, rows: UnitRows, block: BlockShape) -> PreparedMatmul:
        """Round the rows to float32."""
        return _Float32Matmul(round_rows(rows), block, float32_product_error(rows.d))


def round_rows(rows: UnitRows) -> NDArray[np.float32]:
    """Return the rows as one float32 array, (n, d)."""
    rounded = np.empty((rows.n, rows.d), dtype=np.float32)
    for start, stop in rows.chunks():
        rounded[start:stop] = rows.chunk(start, stop)
    return rounded


@dataclass(frozen=True, slots=True)
class _Float32Matmul:
    rows: NDArray[np.float32]
    shape: BlockShape
    error: float
    per_word: int = 1

    def min_score(self, cosine: float) -> np.int32:
        return bits_just_below(cosine - self.error)

    @contextmanager
    def threads(self, count: int) -> Iterator[Sequence[MatmulThread]]:
        # A product per thread, scanned while it is in the cache, is faster than a product that all threads share:
        # no thread waits for another at every block.
        with threadpool_limits(1, user_api="blas"):
            buffers = (np.empty(self.shape.score_count, dtype=np.float32) for _ in range(count))
            yield [_Float32Thread(self.rows, buffer) for buffer in buffers]


@dataclass(frozen=True, slots=True)
class _Float32Thread:
    rows: NDArray[np.float32]
    buffer: NDArray[np.float32]

    def block(self, rows: slice, columns: slice) -> NDArray[np.int32]:
        left, right = self.rows[rows], self.rows[columns]
        out = self.buffer[: len(left) * len(right)].reshape(len(left), len(right))
        return np.matmul(left, right.T, out=out).view(np.int32)
