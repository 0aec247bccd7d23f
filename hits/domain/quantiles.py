"""Quantiles, and a distribution-free interval for a median."""

from collections.abc import Sequence
from math import ceil, floor, sqrt

EXACT_UP_TO = 1_000
_TAIL = 40  # 1/40 of the probability on either side: 95 % between them
_NORMAL_95 = 1.959964


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile ``share`` (0 to 1) of sorted values, interpolated linearly between two of them.

    Hyndman and Fan's type 7 (The American Statistician 50, 1996), the default of numpy and spreadsheets. Raises
    ValueError if there are no values.
    """
    if not ordered:
        raise ValueError("A quantile needs at least one value.")
    position = (len(ordered) - 1) * share
    below = floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def lower_quantile(ordered: Sequence[int], share: float) -> int:
    """Return the smallest of sorted values that at least ``share`` of them do not exceed.

    Raises ValueError if there are no values.
    """
    if not ordered:
        raise ValueError("A quantile needs at least one value.")
    return ordered[max(0, ceil(len(ordered) * share) - 1)]


def median_interval_ranks(n: int) -> tuple[int, int] | None:
    """Return the ranks, from 1, of two sorted values that enclose the median with at least 95 % confidence.

    Each value is below the true median with probability 1/2 for any distribution, so the ranks follow from the
    binomial distribution (Conover, Practical Nonparametric Statistics, 3rd ed. 1999, 3.2; Hahn and Meeker,
    Statistical Intervals, 1991, 5.2), and from its normal approximation above a thousand values. ``None`` below six
    values, since no two of them reach 95 %.
    """
    if n > EXACT_UP_TO:
        rank = floor((n + 1) / 2 - _NORMAL_95 * sqrt(n) / 2)
        return rank, n + 1 - rank
    # In ``below`` of 2**n equally likely cases fewer than ``rank`` values are below the median.
    rank, below, ways = 0, 0, 1
    while (below + ways) * _TAIL <= 2**n:
        below += ways
        ways = ways * (n - rank) // (rank + 1)
        rank += 1
    return (rank, n + 1 - rank) if rank else None
