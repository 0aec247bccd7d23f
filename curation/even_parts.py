"""Divide groups among parts of nearly equal size, so that no group is in two parts."""

from collections import Counter
from collections.abc import Iterable

import numpy as np


def spread_evenly(groups: Iterable[str], parts: int, *, seed: int | None = None) -> dict[str, int]:
    """Return the part of each group, from 0: the largest group comes first, each into the smallest part.

    Args:
        groups: the group of each item.
        seed: orders groups of equal size at random; without it, names do.
    """
    sizes = Counter(groups)
    order = sorted(sizes)
    if seed is not None:
        np.random.default_rng(seed).shuffle(order)
    totals = [0] * parts
    part_of: dict[str, int] = {}
    for group in sorted(order, key=lambda name: -sizes[name]):
        part_of[group] = totals.index(min(totals))
        totals[part_of[group]] += sizes[group]
    return part_of
