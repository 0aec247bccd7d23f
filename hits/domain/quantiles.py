"""Quantiles, and an interval for a median that supposes nothing of the shape of what is measured."""

from collections.abc import Sequence
from math import ceil, floor, sqrt

EXACT_UP_TO = 1_000
_TAIL = 40  # 1/40 of the probability on either side: 95 % between them
_NORMAL = 1.959964


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` (0 to 1) of sorted values lie, between two values by their distance.

    Hyndman and Fan's type 7 (The American Statistician 50, 1996), as numpy and spreadsheets have it. Raises
    ValueError of nothing.
    """
    if not ordered:
        raise ValueError("There is no quantile of nothing.")
    place = (len(ordered) - 1) * share
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def reaching(ordered: Sequence[int], share: float) -> int:
    """Return the smallest of sorted values that at least ``share`` of them do not exceed.

    Raises ValueError of nothing.
    """
    if not ordered:
        raise ValueError("There is no quantile of nothing.")
    return ordered[max(0, ceil(len(ordered) * share) - 1)]


def median_ranks(n: int) -> tuple[int, int] | None:
    """Return the ranks, from 1, of two sorted values between which the median lies with 95 % confidence or more.

    Each value falls below the true median as a coin falls, whatever the distribution, so the ranks come from the
    binomial distribution (Conover, Practical Nonparametric Statistics, 3rd ed. 1999, 3.2; Hahn and Meeker,
    Statistical Intervals, 1991, 5.2), and from its normal approximation beyond a thousand values. ``None`` below six
    values, of which no two are 95 % sure.
    """
    if n > EXACT_UP_TO:
        rank = floor((n + 1) / 2 - _NORMAL * sqrt(n) / 2)
        return rank, n + 1 - rank
    rank, below, ways = 0, 0, 1  # ``below`` of 2**n equally likely falls put fewer than ``rank`` values below
    while (below + ways) * _TAIL <= 2**n:
        below += ways
        ways = ways * (n - rank) // (rank + 1)
        rank += 1
    return (rank, n + 1 - rank) if rank else None
