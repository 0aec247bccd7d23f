"""What a hierarchical clustering is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

# Told (steps done, steps in all) between steps of a few tenths of a second; the total may grow. What it raises ends
# the work: that is how a job is cancelled.
Progress = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Tell nobody."""


class Linkage(StrEnum):
    """How far apart two clusters are.

    AVERAGE, COMPLETE, SINGLE: mean, greatest, least cosine distance between their members. WARD, on unit vectors: the
    square root of twice what merging adds to the sum of squares about the means, which is scipy's height.
    """

    AVERAGE = "average"
    COMPLETE = "complete"
    SINGLE = "single"
    WARD = "ward"


class Method(StrEnum):
    """AUTO picks. SPARSE: ``curation.dedup.exact``. DENSE: scipy on every distance. NONE: nothing had to be found."""

    AUTO = "auto"
    SPARSE = "sparse"
    DENSE = "dense"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ByNumber:
    """Merge until this many clusters are left."""

    clusters: int


@dataclass(frozen=True, slots=True)
class ByFraction:
    """Merge until round(fraction x rows) clusters are left, at least one."""

    fraction: float


@dataclass(frozen=True, slots=True)
class ByDistance:
    """Merge while the nearest two clusters are at most this far apart, in the linkage's own unit."""

    distance: float


Cut = ByNumber | ByFraction | ByDistance


def clusters_wanted(cut: Cut, n: int) -> int | None:
    """The number of clusters to make of n rows; None when a distance decides. Raises InvalidInput."""
    if isinstance(cut, ByNumber):
        if not 1 <= cut.clusters <= n:
            raise InvalidInput(
                f"clusters: {cut.clusters} asked for from {n} rows of features; ask for 1 to {n}"
            )
        return cut.clusters
    if isinstance(cut, ByFraction):
        if not 0 < cut.fraction <= 1:
            raise InvalidInput(f"fraction: {cut.fraction} is not a share; give more than 0 and at most 1")
        return max(1, round(cut.fraction * n))
    if not 0 <= cut.distance < np.inf:
        raise InvalidInput(f"distance: {cut.distance} is none; give a number of at least 0")
    return None


@dataclass(frozen=True, slots=True)
class Clustering:
    """A partition of n rows, and how it was found.

    labels: (n,) 0, 1, 2, … in order of first appearance. heights: the distance at which each merge was made,
    ascending up to rounding; empty when nothing had to be found. why: one line on the choice of the method. stages:
    seconds by stage.
    """

    labels: NDArray[np.int64]
    heights: NDArray[np.float64]
    method: Method
    why: str
    stages: Mapping[str, float] = field(default_factory=dict)

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.labels.max()) + 1

    @property
    def threshold(self) -> float | None:
        """The distance of the last merge: cut there, the same clusters come out, ties apart. None without a merge."""
        return float(self.heights[-1]) if len(self.heights) else None


def relabel_by_first_appearance(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Rename (n,) labels to 0, 1, 2, … in the order in which they first occur."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    names = np.empty(len(first), dtype=np.int64)
    names[np.argsort(first)] = np.arange(len(first))
    return names[inverse]
