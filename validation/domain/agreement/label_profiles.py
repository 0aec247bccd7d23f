"""Label counts of a table's items: alpha, Fleiss' kappa and the share of agreeing pairs depend on them alone.

Items with equal counts form one *profile*: a table of 121,000 items with three ratings on a scale of four has at most
twenty profiles. Coefficients are computed from weighted profiles, so a thousand bootstrap replicates are one array of
weights (replicates, profiles), whose size does not depend on the number of items.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isnan

import numpy as np
from numpy.typing import NDArray

from validation.domain.judging.ratings import IntArray, RatingTable

FloatArray = NDArray[np.float64]
MIN_PAIRABLE_RATINGS = 2  # of one item, so that they can be compared


@dataclass(frozen=True)
class LabelProfiles:
    """The distinct label counts of a table's items.

    P is the number of profiles, C of cells. ``sizes`` (P,): ratings of an item with the profile; ``item_counts``
    (P,): items with the profile; ``profile_of_item`` (items,): each item's profile, -1 without ratings. A cell is a
    label that a profile holds: ``cell_profile``, ``cell_label`` and ``cell_count`` are (C,), sorted by profile, then
    by label. ``values`` (labels,) are the labels as numbers.
    """

    sizes: IntArray
    item_counts: IntArray
    profile_of_item: IntArray
    cell_profile: IntArray
    cell_label: IntArray
    cell_count: IntArray
    values: FloatArray

    @property
    def is_pairable(self) -> NDArray[np.bool_]:
        """(P,) profiles of items with two ratings or more."""
        return self.sizes >= MIN_PAIRABLE_RATINGS

    @cached_property
    def first_cells(self) -> IntArray:
        """(P,) the first cell of each profile."""
        return np.searchsorted(self.cell_profile, np.arange(self.sizes.size))

    @cached_property
    def agreeing_pairs(self) -> FloatArray:
        """(P,) ordered pairs of ratings of an item that are equal."""
        return np.add.reduceat(self.cell_count**2, self.first_cells) - self.sizes.astype(np.float64)

    @cached_property
    def _cells_by_label(self) -> tuple[IntArray, IntArray, IntArray]:
        order = np.argsort(self.cell_label, kind="stable")
        present, starts = np.unique(self.cell_label[order], return_index=True)
        return order, present, starts

    @property
    def given_labels(self) -> IntArray:
        """(K,) codes of the labels that were given, ascending."""
        return self._cells_by_label[1]

    def label_totals(self, weights: FloatArray, *, cell_values: FloatArray | None = None) -> FloatArray:
        """Sum cells over profiles: (B, K) for ``weights`` (B, P) and the labels in ``given_labels``.

        ``cell_values`` (C,) are the summed values, by default each cell's number of ratings.
        """
        order, _, starts = self._cells_by_label
        counted = self.cell_count.astype(np.float64) if cell_values is None else cell_values
        return np.add.reduceat(weights[:, self.cell_profile[order]] * counted[order], starts, axis=1)

    def squared_deviations(self, values: FloatArray) -> FloatArray:
        """Sum squared deviations from the mean within each profile: (B, P) for ``values`` (B, K) of the labels."""
        cell_values = values[:, np.searchsorted(self.given_labels, self.cell_label)]
        means = np.add.reduceat(cell_values * self.cell_count, self.first_cells, axis=1) / self.sizes
        deviations = (cell_values - means[:, self.cell_profile]) ** 2
        return np.add.reduceat(deviations * self.cell_count, self.first_cells, axis=1)


def build_label_profiles(table: RatingTable) -> LabelProfiles:
    """Group a table's items by equal label counts, in time and memory proportional to the ratings."""
    labels = max(1, len(table.scale))
    ordered = np.sort(table.items * labels + table.labels)
    items, codes = np.divmod(ordered, labels)
    sizes = np.bincount(items, minlength=len(table.item_ids))
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes.size else sizes
    keys = _profile_keys(codes, first, sizes, labels)
    rated = np.flatnonzero(sizes)
    _, example, inverse, item_counts = np.unique(
        keys[rated], return_index=True, return_inverse=True, return_counts=True
    )
    profile_of_item = np.full(sizes.size, -1, dtype=np.int64)
    profile_of_item[rated] = inverse
    examples = rated[example]  # one item of each profile
    lengths = sizes[examples]
    positions = np.repeat(first[examples], lengths) + _concatenated_ranges(lengths)
    profile = np.repeat(np.arange(examples.size), lengths)
    cells, counts = np.unique(profile * labels + codes[positions], return_counts=True)
    return LabelProfiles(
        sizes=lengths,
        item_counts=item_counts,
        profile_of_item=profile_of_item,
        cell_profile=cells // labels,
        cell_label=cells % labels,
        cell_count=counts,
        values=table.values,
    )


def _profile_keys(codes: IntArray, first: IntArray, sizes: IntArray, labels: int) -> IntArray:
    """Number items (n,) so that two items have the same number exactly if their sorted labels are equal."""
    keys = np.zeros(sizes.size, dtype=np.int64)
    used = 1
    for position in range(int(sizes.max(initial=0))):
        active = np.flatnonzero(sizes > position)
        longer, inverse = np.unique(
            keys[active] * labels + codes[first[active] + position], return_inverse=True
        )
        keys[active] = used + inverse  # never the number of a shorter item
        used += longer.size
    return keys


def _concatenated_ranges(lengths: IntArray) -> IntArray:
    """Return the concatenated ranges 0, 1, 2 … of each of ``lengths``."""
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - lengths, lengths)


# A coefficient for B sets of weights (B, P) of the P profiles: (B,), NaN where it is undefined.
WeightedCoefficient = Callable[[LabelProfiles, FloatArray], FloatArray]


def coefficient_of_table(table: RatingTable, coefficient: WeightedCoefficient) -> float | None:
    """Return the coefficient of a table's ratings; ``None`` if it is undefined."""
    if not table.size:
        return None
    profiles = build_label_profiles(table)
    return none_if_nan(coefficient(profiles, profiles.item_counts.astype(np.float64)[None, :])[0])


def none_if_nan(value: float) -> float | None:
    """Return the number, or ``None`` for NaN."""
    return None if isnan(value) else float(value)


def one_minus_ratio(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return 1 - observed / expected, NaN if the expected disagreement is 0."""
    defined = expected > 0
    return np.where(defined, 1 - observed / np.where(defined, expected, 1.0), np.nan)
