"""torch's bfloat16 product for comparison sets, if the processor supports it: scores in a third of the time.

Bound. Let a and b be the measured greatest lengths of (rounded vector - unit vector) on the two sides. By
Cauchy-Schwarz, rounding changes an inner product by at most a + b + ab; summing in float32 adds ``summation_error``
times (1 + a)(1 + b). The final rounding to bfloat16 is monotonic; thresholds are rounded outward to bfloat16, so that
they hold for the rounded sums.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from curation.features.parallel import limit_torch_threads_if_loaded
from curation.negatives import matmul_backends
from curation.negatives.kernels import to_ordered_integers
from curation.pipelines.matmul_backends import has_bfloat16_instructions, round_into

BLOCK_ROWS = 512
HALF = 16  # bits
FLOAT32 = np.dtype(np.float32)


def choose_score_backend() -> matmul_backends.ScoreBackend:
    """Return the fastest backend of this machine: bfloat16 if the processor multiplies it, else numpy's."""
    return BFloat16ScoreBackend() if has_bfloat16_instructions() else matmul_backends.NumpyScoreBackend()


class BFloat16ScoreBackend:
    """torch's bfloat16 product. A word is the score's sign and magnitude as one 16-bit integer."""

    name = "bf16"

    def prepare(self, images: NDArray[Any], inferences: NDArray[Any]) -> matmul_backends.PreparedScores:
        """Round both sides and measure the rounding error."""
        return _BFloat16Scores(images, inferences)


class _BFloat16Scores:
    def __init__(self, images: NDArray[Any], inferences: NDArray[Any]) -> None:
        (self._images, a), (self._inferences, b) = _round_vectors(images), _round_vectors(inferences)
        d = images.shape[1]
        error = a + b + a * b + matmul_backends.summation_error(d + 1, FLOAT32) * (1 + a) * (1 + b)
        self.error_bound = matmul_backends.total_error_bound(error, d)
        self.dtype = np.dtype(np.int16)

    def fill(self, images: NDArray[np.intp], out: NDArray[Any]) -> Iterator[slice]:
        torch.set_num_threads(1)  # OpenMP stores the setting per thread
        rows, scores = self._images[torch.from_numpy(images)], torch.from_numpy(out).view(torch.bfloat16)
        for part in matmul_backends.block_slices(len(self._inferences), matmul_backends.PART_SIZE):
            torch.mm(rows, self._inferences[part].T, out=scores[:, part])
            to_ordered_integers(out[:, part])
            yield part

    def uncertain_range(self, plausibility: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        low, high = matmul_backends.round_outward(plausibility, self.error_bound, FLOAT32)
        return _floor_words(low), -_floor_words(-high)

    def upper_bounds(self, words: NDArray[Any]) -> NDArray[np.float64]:
        # A sum that was rounded to a word is nearer to it than to the next word.
        return (_word_values(words) + _word_values(words + np.int16(1))) / 2 + self.error_bound

    def limit_to_one_core(self) -> AbstractContextManager[object]:
        return limit_torch_threads_if_loaded()


def _round_vectors(vectors: NDArray[Any]) -> tuple[torch.Tensor, float]:
    """Return the (n, d) vectors in bfloat16, and the greatest length of the rounding error."""
    rounded = torch.empty(vectors.shape, dtype=torch.bfloat16)
    error = 0.0
    for part in matmul_backends.block_slices(len(vectors), BLOCK_ROWS):
        error = max(error, round_into(rounded[part], torch.from_numpy(vectors[part])))
    return rounded, error


def _floor_words(values: NDArray[np.float32]) -> NDArray[np.int16]:
    """Return for each value the greatest word whose number is not above it."""
    bits = values.view(np.int32)
    magnitudes = bits & np.int32(0x7FFFFFFF)
    up = (magnitudes + np.int32(2**HALF - 1)) >> HALF
    return np.where(bits < 0, -up, magnitudes >> HALF).astype(np.int16)


def _word_values(words: NDArray[np.int16]) -> NDArray[np.float64]:
    """Return the numbers of words."""
    wide = words.astype(np.int32)
    magnitudes = (np.abs(wide) << HALF).view(np.float32).astype(np.float64)
    return np.where(wide < 0, -magnitudes, magnitudes)
