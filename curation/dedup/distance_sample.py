"""Estimate the distribution of distances from a sample of rows, to guess the radius of pairs.

No result depends on the estimate: the merges verify each guess.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup import kernels
from curation.dedup.rows import DistinctRows
from curation.dedup.thread_pool import ThreadPool

MAX_DISTANCE = 2.0  # cosine distance of opposite rows
SAMPLE_SIZE = 512
BINS = 8192


@dataclass(frozen=True, slots=True)
class DistanceSample:
    """Distances between a sample of rows and all rows.

    nearest: (sample,) distance of each sampled row to the nearest other row. cumulative_pairs: (BINS,) estimated
    numbers of pairs of all rows, in equal steps from 0 to MAX_DISTANCE.
    """

    nearest: NDArray[np.float32]
    cumulative_pairs: NDArray[np.float64]

    def nearest_quantile(self, share: float) -> float:
        """Return the distance within which this share of the rows has its nearest other row."""
        return max(0.0, float(np.quantile(self.nearest, share)))

    def estimate_pair_count(self, radius: float) -> float:
        """Return the estimated number of pairs within a radius."""
        count = len(self.cumulative_pairs)
        return float(self.cumulative_pairs[min(count - 1, int(radius / MAX_DISTANCE * count))])

    def radius_for_pair_count(self, pair_count: float) -> float:
        """Return the greatest radius with about this many pairs; MAX_DISTANCE if there are fewer."""
        steps = int(np.searchsorted(self.cumulative_pairs, pair_count, side="right"))
        return MAX_DISTANCE * steps / len(self.cumulative_pairs)


def sample_distances(rows: DistinctRows, threads: ThreadPool) -> DistanceSample:
    """Compare a fixed sample of SAMPLE_SIZE rows with all rows."""
    unit_rows = rows.as_unit_rows()
    size = min(SAMPLE_SIZE, unit_rows.n)
    chosen = np.sort(np.random.default_rng(0).choice(unit_rows.n, size, replace=False))
    sample = rows.unit_rows_at(chosen)
    nearest = np.full(len(chosen), MAX_DISTANCE, dtype=np.float32)
    histograms = np.zeros((threads.size, BINS), dtype=np.int64)
    for start, stop in unit_rows.chunks():
        cosines = sample @ unit_rows.chunk(start, stop).T
        _add_block_distances(threads, cosines, chosen - start, nearest, histograms)
    estimate = np.cumsum(histograms.sum(axis=0)) * (kernels.HISTOGRAM_STEP * unit_rows.n / (2 * len(chosen)))
    return DistanceSample(nearest, estimate)


def _add_block_distances(
    threads: ThreadPool,
    cosines: NDArray[np.float32],
    own: NDArray[np.int64],
    nearest: NDArray[np.float32],
    histograms: NDArray[np.int64],
) -> None:
    spans = threads.row_spans(len(cosines))
    threads.run_on_each(
        lambda worker: kernels.add_block_distances(cosines, own, spans[worker], nearest, histograms[worker])
    )
