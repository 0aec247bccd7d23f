"""Bootstrap draws of counts, and intervals of what follows from them (Efron & Tibshirani 1993, §13.3).

Shares of triplets follow from a few outcome cells, so one multinomial draw of the cells gives all of them together.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.intervals import LEVEL, REPLICATES, Figure
from validation.domain.agreement.pairwise import MIN_BOOTSTRAP_VALUES

PERCENT = 100.0
_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


def draw_counts(counts: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return bootstrap draws of counts by cell: (REPLICATES, cells) of (cells,), at least one of them above 0."""
    n = int(counts.sum())
    return rng.multinomial(n, counts / n, size=REPLICATES)


def make_figure(value: float | None, draws: NDArray[np.floating] | None, *, n: int, scale: float) -> Figure:
    """Return a value with the percentile interval of its draws, both times ``scale``.

    There are no bounds with fewer than ten values, or if all draws are equal; undefined draws (NaN) are left out.
    """
    if value is None:
        return Figure()
    drawn = np.zeros(0) if draws is None else draws[~np.isnan(draws)]
    if n < MIN_BOOTSTRAP_VALUES or not len(drawn) or drawn.min() == drawn.max():
        return Figure(scale * value)
    low, high = np.quantile(drawn, _TAILS)
    return Figure(scale * value, scale * float(low), scale * float(high))


def share_figures(
    shares: Mapping[str, float | None], draws: Mapping[str, NDArray[np.floating]], n: int
) -> dict[str, Any]:
    """Return shares by name as JSON figures in percent, with the intervals of their draws (REPLICATES,)."""
    return {
        name: make_figure(share, draws.get(name), n=n, scale=PERCENT).as_json()
        for name, share in shares.items()
    }


def none_if_nan(value: float) -> float | None:
    """Return a float, or None for NaN: nothing to measure."""
    return None if np.isnan(value) else float(value)


def divide(totals: NDArray[np.number] | float, counts: NDArray[np.number] | float) -> NDArray[np.float64]:
    """Return totals / counts; NaN where a count is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(counts) == 0, np.nan, np.asarray(totals, dtype=np.float64) / counts)
