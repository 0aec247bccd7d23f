"""torch's matrix products for the exact clustering: bfloat16 if the processor supports it, and float32.

Bound of bfloat16. The processor multiplies bfloat16 rows exactly and sums in float32, then rounds the sum to
bfloat16. Let e be the greatest length of (rounded row - unit row), which is measured (2^-8 is its a-priori bound): by
Cauchy-Schwarz, rounding changes an inner product by at most 2e + e^2. Summing adds at most g (1 + e)^2, g as in
``curation.dedup.matmul_backends``. Rounding the result is monotonic, so every sum that meets a threshold also meets
the threshold rounded down to bfloat16.
"""

import timeit
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from curation.dedup.matmul_backends import (
    FLOAT32_ROUNDING,
    UNDERFLOW_BOUND,
    BlockShape,
    MatmulBackend,
    MatmulThread,
    NumpyFloat32Backend,
    PreparedMatmul,
    UnitRows,
    accumulation_error,
    bits_just_below,
    float32_product_error,
    round_rows,
)
from curation.features.parallel import limit_torch_threads_if_loaded

BFLOAT16_INSTRUCTIONS = ("amx_bf16", "avx512_bf16", "arm_bf16")
HIGH_HALF = np.int32(-(2**16))  # mask of a word's 16 high bits
# Lengths of errors are themselves summed in float32.
LENGTH_SLACK = 1.001
TRIAL_BLOCK, TRIAL_LENGTH, TRIAL_RUNS = BlockShape(1024, 1024), 512, 5


def choose_matmul_backend() -> MatmulBackend:
    """Return the fastest backend of this machine: bfloat16 if the processor multiplies it, else float32."""
    return BFloat16Backend() if has_bfloat16_instructions() else choose_float32_backend()


def has_bfloat16_instructions() -> bool:
    """Whether the processor has instructions for bfloat16 and torch uses them."""
    found = torch.cpu.get_capabilities()
    return torch.backends.mkldnn.is_available() and any(found.get(name) for name in BFLOAT16_INSTRUCTIONS)


@cache
def choose_float32_backend() -> MatmulBackend:
    """Return the faster float32 backend of this machine, numpy's or torch's MKL; they are timed once.

    The difference is 20 % and more. If torch uses reduced precision, it is numpy's backend.
    """
    exact = torch.get_float32_matmul_precision() == "highest"
    if not (exact and torch.backends.mkl.is_available()):
        return NumpyFloat32Backend()
    backends: tuple[MatmulBackend, ...] = (NumpyFloat32Backend(), TorchFloat32Backend())
    return min(backends, key=_time_block)


def _time_block(backend: MatmulBackend) -> float:
    rows = np.random.default_rng(0).standard_normal((TRIAL_BLOCK.rows, TRIAL_LENGTH), dtype=np.float32)
    unit = UnitRows(len(rows), TRIAL_LENGTH, lambda start, stop: rows[start:stop])
    every = slice(0, TRIAL_BLOCK.rows)
    with backend.prepare(unit, TRIAL_BLOCK).threads(1) as (thread,):
        return min(timeit.repeat(lambda: thread.block(every, every), number=1, repeat=TRIAL_RUNS))


class TorchFloat32Backend:
    """torch's float32 product, one buffer per thread. The general bound of float32 products applies."""

    name = "fp32"

    def bytes_needed(self, n: int, d: int, block: BlockShape, threads: int) -> int:
        """Return the bytes of the rounded rows and of the buffers."""
        return 4 * (n * d + threads * block.score_count)

    def prepare(self, rows: UnitRows, block: BlockShape) -> PreparedMatmul:
        """Round the rows to float32."""
        unit = torch.from_numpy(round_rows(rows))
        return _TorchMatmul(unit, block, 1, float32_product_error(rows.d), np.int32(-1))


class BFloat16Backend:
    """torch's bfloat16 product, one buffer per thread, read as 16-bit integers."""

    name = "bf16"

    def bytes_needed(self, n: int, d: int, block: BlockShape, threads: int) -> int:
        """Return the bytes of the rounded rows and of the buffers."""
        return 2 * ((n + 1) * d + threads * block.score_count)

    def prepare(self, rows: UnitRows, block: BlockShape) -> PreparedMatmul:
        """Round the rows to bfloat16 and measure the rounding error."""
        even = rows.n + rows.n % 2  # two scores share a word: pad an odd last column
        rounded = torch.zeros((even, rows.d), dtype=torch.bfloat16)
        error = 0.0
        for start, stop in rows.chunks():
            unit = torch.from_numpy(rows.chunk(start, stop))
            error = max(error, round_into(rounded[start:stop], unit) + FLOAT32_ROUNDING)
        bound = 2 * error + error**2 + accumulation_error(rows.d) * (1 + error) ** 2 + UNDERFLOW_BOUND
        return _TorchMatmul(rounded, block, 2, bound, HIGH_HALF)


def round_into(target: torch.Tensor, rows: torch.Tensor) -> float:
    """Round (n, d) rows into ``target``; return an upper bound of the greatest length of the change."""
    target.copy_(rows)
    return LENGTH_SLACK * (target.to(rows.dtype) - rows).norm(dim=1).max().item()


@dataclass(frozen=True, slots=True)
class _TorchMatmul:
    """Prepared rows. mask: the bits of a word that a threshold keeps; lower bits are rounded down."""

    rows: torch.Tensor
    shape: BlockShape
    per_word: int
    error: float
    mask: np.int32

    def min_score(self, cosine: float) -> np.int32:
        return bits_just_below(cosine - self.error) & self.mask

    @contextmanager
    def threads(self, count: int) -> Iterator[Sequence[MatmulThread]]:
        with limit_torch_threads_if_loaded():
            yield [
                _TorchThread(
                    self.rows, torch.empty(self.shape.score_count, dtype=self.rows.dtype), self.per_word
                )
                for _ in range(count)
            ]


@dataclass(frozen=True, slots=True)
class _TorchThread:
    rows: torch.Tensor
    buffer: torch.Tensor
    per_word: int

    def block(self, rows: slice, columns: slice) -> NDArray[np.int32]:
        torch.set_num_threads(1)  # OpenMP stores the setting per thread
        width = columns.stop - columns.start
        left, right = self.rows[rows], self.rows[columns.start : columns.stop + width % self.per_word]
        out = self.buffer[: len(left) * len(right)].view(len(left), len(right))
        torch.mm(left, right.T, out=out)
        return out.view(torch.int32).numpy()
