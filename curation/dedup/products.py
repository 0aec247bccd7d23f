"""Approximate cosines of whole blocks of rows, with a proven bound on their error.

The exact clustering uses a product only to leave out pairs that lie too far apart, so a product may be as coarse as
it likes, provided that it says how coarse: ``lowest`` turns a cosine into the score that no pair of at least that
cosine falls below.

Bound of a float32 product. Let u = 2^-24 and |x|, |y| the true unit rows, rounded to float32 first: each coordinate
is off by a factor of at most 1 + u, which moves the inner product by at most 2u + u^2 (Cauchy-Schwarz). Summing d
products in float32 adds at most g |x|.|y| <= g (1 + u)^2 with g = (d + 1) u / (1 - (d + 1) u), in any order of
summation, with or without fused multiply-add. Source: N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd
ed., section 3.1. At d = 512 that is 3.1e-5; errors seen are about a hundred times smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

FLOAT32_ROUNDING = 2.0**-24
UNDERFLOW = 2.0**-100  # far above what coordinates too small for float32 can add up to
CHUNK_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Block:
    """The greatest shape of a block of scores."""

    rows: int
    columns: int

    @property
    def values(self) -> int:
        """How many scores it has."""
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class UnitRows:
    """Unit vectors that are made on demand: ``chunk`` gives rows start to stop as float32, (stop - start, d)."""

    n: int
    d: int
    chunk: Callable[[int, int], NDArray[np.float32]]

    def chunks(self) -> list[tuple[int, int]]:
        """Ranges of rows that cover all of them."""
        return [(start, min(start + CHUNK_ROWS, self.n)) for start in range(0, self.n, CHUNK_ROWS)]


class Lane(Protocol):
    """One of several threads' way to multiply, with a buffer of its own."""

    def block(self, rows: slice, columns: slice) -> NDArray[np.int32]:
        """Return scores, (rows, columns / per_word rounded up) words; the next call uses the array again.

        columns start at an even row. What fills up the last word is of no matter.
        """


class Scores(Protocol):
    """A product that is ready for the given rows.

    It speaks in bits: as signed integers they keep the order of numbers above zero, and put all others below them.
    ``per_word`` scores share a word of 32 bits: 1, or 2 of 16 bits.
    """

    @property
    def per_word(self) -> int:
        """How many scores a word holds."""

    def lowest(self, cosine: float) -> np.int32:
        """Return the word that every pair of at least this cosine reaches (as the high half, when two share one)."""

    def lanes(self, count: int) -> AbstractContextManager[Sequence[Lane]]:
        """Give so many threads a lane each; while the ``with`` block lasts, each multiplies on one processor."""


class BlockProduct(Protocol):
    """A way to multiply blocks of rows."""

    name: str

    def bytes_needed(self, n: int, d: int, block: Block, lanes: int) -> int:
        """Return the memory that ``prepare`` takes for n rows of length d, and the lanes' buffers."""

    def prepare(self, rows: UnitRows, block: Block) -> Scores:
        """Get ready to multiply these rows in blocks of at most this shape."""


def float32_error(d: int) -> float:
    """How far a float32 inner product of two rounded unit rows of length d may be from the true one."""
    u = FLOAT32_ROUNDING
    return accumulation_error(d) * (1 + u) ** 2 + 2 * u + u * u + UNDERFLOW


def accumulation_error(d: int) -> float:
    """Relative to the lengths of the rows: the greatest error of d products summed in float32 in any order."""
    steps = (d + 1) * FLOAT32_ROUNDING
    return steps / (1 - steps)


def bits_below(threshold: float) -> np.int32:
    """The bits of the next lower float32; those of every number are above them when that is not above zero."""
    below = np.nextafter(np.float32(threshold), np.float32(-np.inf))
    return below.view(np.int32) if below > 0 else np.int32(-(2**31))


class Float32Product:
    """numpy's float32 product, a buffer a lane."""

    name = "fp32"

    def bytes_needed(self, n: int, d: int, block: Block, lanes: int) -> int:
        """Return the bytes of the rounded rows and of the buffers."""
        return 4 * (n * d + lanes * block.values)

    def prepare(self, rows: UnitRows, block: Block) -> Scores:
        """Round the rows to float32."""
        return _Float32Scores(rounded_rows(rows), block, float32_error(rows.d))


def rounded_rows(rows: UnitRows) -> NDArray[np.float32]:
    """The rows as one float32 array, (n, d)."""
    rounded = np.empty((rows.n, rows.d), dtype=np.float32)
    for start, stop in rows.chunks():
        rounded[start:stop] = rows.chunk(start, stop)
    return rounded


@dataclass(frozen=True, slots=True)
class _Float32Scores:
    rows: NDArray[np.float32]
    shape: Block
    error: float
    per_word: int = 1

    def lowest(self, cosine: float) -> np.int32:
        return bits_below(cosine - self.error)

    @contextmanager
    def lanes(self, count: int) -> Iterator[Sequence[Lane]]:
        # Two threads with a product each, and a scan of it while it is still in the cache, are quicker than one
        # product by two threads: nobody waits for the other at every block.
        with threadpool_limits(1, user_api="blas"):
            yield [
                _Float32Lane(self.rows, np.empty(self.shape.values, dtype=np.float32)) for _ in range(count)
            ]


@dataclass(frozen=True, slots=True)
class _Float32Lane:
    rows: NDArray[np.float32]
    buffer: NDArray[np.float32]

    def block(self, rows: slice, columns: slice) -> NDArray[np.int32]:
        left, right = self.rows[rows], self.rows[columns]
        out = self.buffer[: len(left) * len(right)].reshape(len(left), len(right))
        return np.matmul(left, right.T, out=out).view(np.int32)
