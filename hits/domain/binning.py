"""Bins of equal width for values from 0."""

from collections.abc import Sequence
from math import floor, log10
from typing import Any

from hits.domain.quantiles import quantile

BINS = 20


def bin_counts(values: Sequence[float], *, end: float | None = None) -> dict[str, Any]:
    """Return how many of ``values`` (sorted, at least 0) lie in each of 20 equal bins, as plain data.

    Args:
        end: where the last bin begins, which holds all larger values; by default a round number that 19 of 20 values
            stay below, so that a few very large ones do not flatten the rest.
    """
    if not values:
        return {"width": 0.0, "counts": [], "over": 0}
    upper = end if end is not None else max(quantile(list(values), 0.95), 1e-9)
    width = next_round_number(upper / (BINS - 1))
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int(value / width))] += 1
    return {"width": width, "counts": counts, "over": sum(value >= BINS * width for value in values)}


def next_round_number(step: float, *, factors: Sequence[float] = (1, 2, 2.5, 5)) -> float:
    """Return the smallest round number from ``step`` (above 0) on: one of ``factors`` times a power of ten."""
    size = 10.0 ** floor(log10(step))
    return next(size * factor for factor in (*factors, 10) if size * factor >= step * (1 - 1e-9))
