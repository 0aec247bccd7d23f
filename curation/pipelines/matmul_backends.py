"""torch's block products for the exact clustering: bfloat16 where the processor has it, and float32.

Bound of bfloat16. The processor multiplies bfloat16 rows exactly and sums in float32, then rounds the sum to
bfloat16. Let e be the greatest length of (rounded row - unit row), which is measured, not assumed (2^-8 bounds it
before looking at the rows): by Cauchy-Schwarz rounding moves an inner product by at most 2e + e^2. Summing adds at
most g (1 + e)^2, g as in ``curation.dedup.products``. Rounding the result never puts a smaller number above a greater
one, so a threshold rounded down to bfloat16 is met by every sum that met it before.
"""

from __future__ import annotations

import timeit
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from curation.dedup.products import (
    FLOAT32_ROUNDING,
    UNDERFLOW,
    Block,
    BlockProduct,
    Float32Product,
    Lane,
    Scores,
    UnitRows,
    accumulation_error,
    bits_below,
    float32_error,
    rounded_rows,
)
from curation.features.parallel import one_core_each

BFLOAT16_INSTRUCTIONS = ("amx_bf16", "avx512_bf16", "arm_bf16")
HIGH_HALF = np.int32(-(2**16))
# Lengths of errors are themselves summed in float32.
LENGTH_SLACK = 1.001
TRIAL, TRIAL_LENGTH, TRIES = Block(1024, 1024), 512, 5


def best_product() -> BlockProduct:
    """The quickest product of this machine: bfloat16 where the processor multiplies it, else float32."""
    return BFloat16Product() if multiplies_bfloat16() else float32_product()


def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for bfloat16 and torch uses them."""
    found = torch.cpu.get_capabilities()
    return torch.backends.mkldnn.is_available() and any(found.get(name) for name in BFLOAT16_INSTRUCTIONS)


@cache
def float32_product() -> BlockProduct:
    """The quicker float32 product of this machine, numpy's or that of torch's MKL; they are timed once.

    Which one it is differs from processor to processor, by a fifth and more. Where torch rounds more, it is numpy's.
    """
    exact = torch.get_float32_matmul_precision() == "highest"
    if not (exact and torch.backends.mkl.is_available()):
        return Float32Product()
    products: tuple[BlockProduct, ...] = (Float32Product(), TorchFloat32Product())
    return min(products, key=_seconds_a_block)


def _seconds_a_block(product: BlockProduct) -> float:
    rows = np.random.default_rng(0).standard_normal((TRIAL.rows, TRIAL_LENGTH), dtype=np.float32)
    unit = UnitRows(len(rows), TRIAL_LENGTH, lambda start, stop: rows[start:stop])
    every = slice(0, TRIAL.rows)
    with product.prepare(unit, TRIAL).lanes(1) as (lane,):
        return min(timeit.repeat(lambda: lane.block(every, every), number=1, repeat=TRIES))


class TorchFloat32Product:
    """torch's float32 product, a buffer a lane. The bound of any float32 product holds for it."""

    name = "fp32"

    def bytes_needed(self, n: int, d: int, block: Block, lanes: int) -> int:
        """Return the bytes of the rounded rows and of the buffers."""
        return 4 * (n * d + lanes * block.values)

    def prepare(self, rows: UnitRows, block: Block) -> Scores:
        """Round the rows to float32."""
        unit = torch.from_numpy(rounded_rows(rows))
        return _TorchScores(unit, block, 1, float32_error(rows.d), np.int32(-1))


class BFloat16Product:
    """torch's bfloat16 product, a buffer a lane, read as 16-bit integers."""

    name = "bf16"

    def bytes_needed(self, n: int, d: int, block: Block, lanes: int) -> int:
        """Return the bytes of the rounded rows and of the buffers."""
        return 2 * ((n + 1) * d + lanes * block.values)

    def prepare(self, rows: UnitRows, block: Block) -> Scores:
        """Round the rows to bfloat16 and measure what that does to them."""
        even = rows.n + rows.n % 2  # two scores share a word: an odd last column gets a companion
        rounded = torch.zeros((even, rows.d), dtype=torch.bfloat16)
        error = 0.0
        for start, stop in rows.chunks():
            unit = torch.from_numpy(rows.chunk(start, stop))
            error = max(error, rounded_into(rounded[start:stop], unit) + FLOAT32_ROUNDING)
        bound = 2 * error + error**2 + accumulation_error(rows.d) * (1 + error) ** 2 + UNDERFLOW
        return _TorchScores(rounded, block, 2, bound, HIGH_HALF)


def rounded_into(place: torch.Tensor, rows: torch.Tensor) -> float:
    """Round (n, d) rows into their place; return the greatest length of what that changed, a little raised."""
    place.copy_(rows)
    return LENGTH_SLACK * (place.to(rows.dtype) - rows).norm(dim=1).max().item()


@dataclass(frozen=True, slots=True)
class _TorchScores:
    """mask: the bits of a word that a threshold keeps; the others are rounded down."""

    rows: torch.Tensor
    shape: Block
    per_word: int
    error: float
    mask: np.int32

    def lowest(self, cosine: float) -> np.int32:
        return bits_below(cosine - self.error) & self.mask

    @contextmanager
    def lanes(self, count: int) -> Iterator[Sequence[Lane]]:
        with one_core_each():
            yield [
                _TorchLane(self.rows, torch.empty(self.shape.values, dtype=self.rows.dtype), self.per_word)
                for _ in range(count)
            ]


@dataclass(frozen=True, slots=True)
class _TorchLane:
    rows: torch.Tensor
    buffer: torch.Tensor
    per_word: int

    def block(self, rows: slice, columns: slice) -> NDArray[np.int32]:
        torch.set_num_threads(1)  # OpenMP keeps the number for each thread by itself
        width = columns.stop - columns.start
        left, right = self.rows[rows], self.rows[columns.start : columns.stop + width % self.per_word]
        out = self.buffer[: len(left) * len(right)].view(len(left), len(right))
        torch.mm(left, right.T, out=out)
        return out.view(torch.int32).numpy()
