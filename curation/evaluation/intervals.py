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
