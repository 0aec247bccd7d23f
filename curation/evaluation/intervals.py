"""Percentile bootstrap intervals of figures, over images or instances.

The sampling units are images (localization, comparison) or instances (retrieval), so these are resampled; ranks and
assignments are not recomputed. Source: Efron & Tibshirani 1993, §13.3, doi:10.1201/9780429246593.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from validation.domain.agreement.pairwise import bootstrap_means, can_bootstrap

REPLICATES = 1000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its 95 % interval. All are None without data; the bounds are None if there is too little."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def as_json(self) -> dict[str, float | None]:
        """Return ``{"value", "low", "high"}``."""
        return asdict(self)


def mean_figure(values: NDArray[np.floating], *, rng: np.random.Generator) -> Figure:
    """Return the mean of independent values (n,) with its interval."""
    return mean_of_means([values], rng=rng)


def ratio_figure(
    values: NDArray[np.floating], groups: NDArray[np.integer], *, rng: np.random.Generator
) -> Figure:
    """Return the mean of values (n,) with its interval if whole groups are resampled, such as questions by image.

    Each replicate is the sum of the drawn groups' values, divided by the number of these values: a ratio estimator
    (Cochran 1977, §2.11).

    Args:
        groups: (n,) the group of each value, from 0.
    """
    if not len(values):
        return Figure()
    values = np.asarray(values, dtype=np.float64)
    value = float(values.mean())
    counts = np.bincount(groups)
    sums = np.bincount(groups, weights=values)[counts > 0]
    counts = counts[counts > 0]
    if not can_bootstrap(sums / counts):
        return Figure(value)
    pairs, times = np.unique(np.column_stack([sums, counts]), axis=0, return_counts=True)
    drawn = rng.multinomial(len(counts), times / len(counts), size=REPLICATES)
    totals = drawn @ pairs
    low, high = np.quantile(totals[:, 0] / totals[:, 1], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Figure(value, float(low), float(high))


def mean_of_means(groups: Sequence[NDArray[np.floating]], *, rng: np.random.Generator) -> Figure:
    """Return the mean of the groups' means, with its interval; values are resampled within their group.

    Retrieval is averaged over its chunks in this way (Hessel et al. 2022 §4.1). Groups are (n,) each; empty ones are
    ignored.
    """
    filled = [np.asarray(group, dtype=np.float64) for group in groups if len(group)]
    if not filled:
        return Figure()
    value = float(np.mean([group.mean() for group in filled]))
    if not can_bootstrap(np.concatenate(filled)):
        return Figure(value)
    means = np.mean([bootstrap_means(group, rng=rng, replicates=REPLICATES) for group in filled], axis=0)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Figure(value, float(low), float(high))
