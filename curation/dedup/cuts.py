"""The options and the result of hierarchical clustering."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

# Called with (steps done, total) every few tenths of a second; the total may grow. An exception from it ends the
# work, which is how a job is cancelled.
Progress = Callable[[int, int], None]


def ignore_progress(done: int, total: int) -> None:
    """Do nothing."""


class Linkage(StrEnum):
    """The distance of two clusters.

    AVERAGE, COMPLETE, SINGLE: mean, greatest, least cosine distance between their members. WARD, on unit vectors: the
    square root of twice the increase of the within-cluster sum of squares, as scipy defines it.
    """

    AVERAGE = "average"
    COMPLETE = "complete"
    SINGLE = "single"
    WARD = "ward"


class ClusteringMethod(StrEnum):
    """AUTO: choose. SPARSE: ``curation.dedup.sparse``. DENSE: scipy on all distances. NONE: no search was needed."""

    AUTO = "auto"
    SPARSE = "sparse"
    DENSE = "dense"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ByNumber:
    """Merge until this many clusters remain."""

    clusters: int


@dataclass(frozen=True, slots=True)
class ByFraction:
    """Merge until round(fraction x rows) clusters remain, at least one."""

    fraction: float


@dataclass(frozen=True, slots=True)
class ByDistance:
    """Merge while the nearest two clusters are at most this far apart, in the linkage's own unit."""

    distance: float


Cut = ByNumber | ByFraction | ByDistance


def target_cluster_count(cut: Cut, n: int) -> int | None:
    """Return the number of clusters to make of n rows; None for a cut by distance. Raises InvalidInput."""
    if isinstance(cut, ByNumber):
        if not 1 <= cut.clusters <= n:
            raise InvalidInput(f"clusters: {cut.clusters} is not possible with {n} rows; choose 1 to {n}")
        return cut.clusters
    if isinstance(cut, ByFraction):
        if not 0 < cut.fraction <= 1:
            raise InvalidInput(f"fraction: {cut.fraction} is out of range; give more than 0 and at most 1")
        return max(1, round(cut.fraction * n))
    if not 0 <= cut.distance < np.inf:
        raise InvalidInput(f"distance: {cut.distance} is out of range; give a number of at least 0")
    return None


@dataclass(frozen=True, slots=True)
class Clustering:
    """A partition of n rows, and how it was found.

    labels: (n,) 0, 1, 2, … in order of first appearance. heights: the distance of each merge, ascending up to
    rounding; empty if no search was needed. reason: why the method was chosen. stages: seconds by stage.
    """

    labels: NDArray[np.int64]
    heights: NDArray[np.float64]
    method: ClusteringMethod
    reason: str
    stages: Mapping[str, float] = field(default_factory=dict)

    @property
    def cluster_count(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @property
    def threshold(self) -> float | None:
        """Distance of the last merge; a cut there gives the same clusters, except for ties. None without merges."""
        return float(self.heights[-1]) if len(self.heights) else None


def relabel_by_first_appearance(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Renumber (n,) labels as 0, 1, 2, … in order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    new_labels = np.empty(len(first), dtype=np.int64)
    new_labels[np.argsort(first)] = np.arange(len(first))
    return new_labels[inverse]
