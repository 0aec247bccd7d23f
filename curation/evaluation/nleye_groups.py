"""Groups of image triplets: by reasoning category, domain and temporal cell (Ventura et al. 2025 §5.2, figure 6).

The micro mean is over triplets, the macro mean over the groups that occur. An empty group has no value and n = 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.nleye_draws import share_figures
from curation.evaluation.nleye_key import TripletKey
from hits.domain.answers.scene_facets import CATEGORIES, DOMAINS, TEMPORAL_CELLS

CATEGORY, DOMAIN, TEMPORAL = "category", "domain", "temporal"
Draws = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Grouping:
    """A grouping of n triplets. labels: the groups in the order of tables. codes: (n,) the group of each triplet."""

    name: str
    labels: tuple[str, ...]
    codes: NDArray[np.int64]

    @classmethod
    def from_values(cls, name: str, values: Sequence[str], known: Sequence[str] = ()) -> "Grouping":
        """Return the grouping of values: the known ones in their order, then the others, sorted."""
        labels = (*known, *sorted(set(values) - set(known)))
        codes = {label: code for code, label in enumerate(labels)}
        return cls(name, labels, np.array([codes[value] for value in values], dtype=np.int64))

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of triplets of each group."""
        return np.bincount(self.codes, minlength=len(self.labels)).astype(np.int64)

    def rows(self) -> list[NDArray[np.int64]]:
        """Return the rows of each group."""
        order = np.argsort(self.codes, kind="stable")
        return np.split(order, np.cumsum(self.counts)[:-1])


@dataclass(frozen=True, slots=True)
class GroupMeans:
    """Means of a value by group, with the number of triplets; over triplets (micro) and over groups (macro)."""

    by_group: Mapping[str, tuple[int, float | None]]
    micro: float | None
    macro: float | None


def make_groupings(key: TripletKey) -> tuple[Grouping, ...]:
    """Return the groupings by category, domain and temporal cell."""
    return (
        Grouping.from_values(CATEGORY, key.categories, CATEGORIES),
        Grouping.from_values(DOMAIN, key.domains, DOMAINS),
        Grouping.from_values(TEMPORAL, key.cells, TEMPORAL_CELLS),
    )


def group_means(values: NDArray[np.number] | NDArray[np.bool_], grouping: Grouping) -> GroupMeans:
    """Return the means of values (n,) by group."""
    numbers = np.asarray(values, dtype=np.float64)
    found = {
        label: (len(rows), _mean(numbers[rows].tolist()))
        for label, rows in zip(grouping.labels, grouping.rows(), strict=True)
    }
    return GroupMeans(found, _mean(numbers.tolist()), macro_mean([mean for _, mean in found.values()]))


def macro_mean(values: Sequence[float | None]) -> float | None:
    """Return the mean over the groups that have a value."""
    return _mean([value for value in values if value is not None])


def macro_figures(
    shares: Sequence[Mapping[str, float | None]], draws: Sequence[Draws], counts: Sequence[int]
) -> dict[str, Any]:
    """Return macro means of shares as JSON figures in percent; triplets are drawn within their group.

    Args:
        shares, draws, counts: of each group that occurs: its shares by name, their draws, and its triplets.
    """
    if not shares:
        return {}
    means = {name: macro_mean([found[name] for found in shares]) for name in shares[0]}
    drawn = {
        name: np.mean(
            [found[name] for group, found in zip(shares, draws, strict=True) if group[name] is not None],
            axis=0,
        )
        for name, mean in means.items()
        if mean is not None
    }
    return share_figures(means, drawn, sum(counts))


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
