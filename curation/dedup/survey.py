"""What a sample of rows says about the distances, to guess how far the pairs must reach.

No result depends on it: a guess is verified by the merges that it allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup import kernels
from curation.dedup.crew import Crew
from curation.dedup.rows import Rows

FARTHEST = 2.0  # cosine distance of opposite rows
SAMPLE = 512
BINS = 8192


@dataclass(frozen=True, slots=True)
class Survey:
    """Distances seen from a sample.

    nearest: (sample,) distance of each sampled row to the nearest other row. pairs: (BINS,) estimate of how many
    pairs of all rows lie up to the end of each of equal steps from 0 to FARTHEST.
    """

    nearest: NDArray[np.float32]
    pairs: NDArray[np.float64]

    def quantile(self, share: float) -> float:
        """The distance within which this share of the rows has its nearest other row."""
        return max(0.0, float(np.quantile(self.nearest, share)))

    def pairs_within(self, reach: float) -> float:
        """About how many pairs lie within reach."""
        return float(self.pairs[min(len(self.pairs) - 1, int(reach / FARTHEST * len(self.pairs)))])

    def reach_of(self, pairs: float) -> float:
        """The greatest distance within which there are about so many pairs; FARTHEST when there are fewer in all."""
        return FARTHEST * int(np.searchsorted(self.pairs, pairs, side="right")) / len(self.pairs)


def survey(rows: Rows, crew: Crew) -> Survey:
    """Compare SAMPLE of the rows, always the same ones, with all rows."""
    unit = rows.unit()
    chosen = np.sort(np.random.default_rng(0).choice(unit.n, min(SAMPLE, unit.n), replace=False))
    sample = rows.unit_at(chosen)
    nearest = np.full(len(chosen), FARTHEST, dtype=np.float32)
    histograms = np.zeros((crew.size, BINS), dtype=np.int64)
    for start, stop in unit.chunks():
        cosines = sample @ unit.chunk(start, stop).T
        _count(crew, cosines, chosen - start, nearest, histograms)
    estimate = np.cumsum(histograms.sum(axis=0)) * (kernels.HISTOGRAM_STEP * unit.n / (2 * len(chosen)))
    return Survey(nearest, estimate)


def _count(
    crew: Crew,
    cosines: NDArray[np.float32],
    own: NDArray[np.int64],
    nearest: NDArray[np.float32],
    histograms: NDArray[np.int64],
) -> None:
    spans = crew.spans(len(cosines))
    crew.each(lambda worker: kernels.survey(cosines, own, spans[worker], nearest, histograms[worker]))
