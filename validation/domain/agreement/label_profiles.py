"""Chance-corrected agreement from the label counts of each item.

Krippendorff's alpha, Fleiss' kappa and the share of agreeing pairs depend only on an item's label counts. Items with
equal counts form one *profile*: a table of 121,000 items with three ratings on a scale of four has at most twenty
profiles. Coefficients are computed from weighted profiles, so a thousand bootstrap replicates are one array of
weights and cost only as much as the profiles.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from validation.domain.judging.ratings import IntArray, RatingTable

FloatArray = NDArray[np.float64]
PAIRABLE = 2  # ratings of one item that can be compared


class Metric(StrEnum):
    """The difference of two labels: equal or unequal, the ratings between them, or squared differences."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


@dataclass(frozen=True)
class Profiles:
    """The distinct label counts of a table's items.

    ``sizes`` (P,) ratings of an item with that profile; ``times`` (P,) items that have it; ``profile_of_item``
    (items,) each item's profile, -1 without ratings. A cell is a label that a profile holds: ``cell_profile``,
    ``cell_label`` and ``cell_count`` are (C,), sorted by profile, then by label. ``values`` (labels,) are the labels
    as numbers.
    """

    sizes: IntArray
    times: IntArray
    profile_of_item: IntArray
    cell_profile: IntArray
    cell_label: IntArray
    cell_count: IntArray
    values: FloatArray

    @property
    def pairable(self) -> NDArray[np.bool_]:
        """(P,) profiles of items with two ratings or more."""
        return self.sizes >= PAIRABLE

    @cached_property
    def starts(self) -> IntArray:
        """(P,) the first cell of each profile."""
        return np.searchsorted(self.cell_profile, np.arange(self.sizes.size))

    @cached_property
    def agreeing_pairs(self) -> FloatArray:
        """(P,) ordered pairs of ratings of an item that are equal."""
        return np.add.reduceat(self.cell_count**2, self.starts) - self.sizes.astype(np.float64)

    @cached_property
    def _by_label(self) -> tuple[IntArray, IntArray, IntArray]:
        order = np.argsort(self.cell_label, kind="stable")
        present, starts = np.unique(self.cell_label[order], return_index=True)
        return order, present, starts

    @property
    def present(self) -> IntArray:
        """(K,) codes of the labels that were given, ascending."""
        return self._by_label[1]

    def totals(self, weights: FloatArray, *, cell_values: FloatArray | None = None) -> FloatArray:
        """Sum cells over profiles: (B, K) for ``weights`` (B, P) and the labels in ``present``.

        ``of`` (C,) is what a cell counts for; by default its ratings.
        """
        order, _, starts = self._by_label
        counted = self.cell_count.astype(np.float64) if cell_values is None else cell_values
        return np.add.reduceat(weights[:, self.cell_profile[order]] * counted[order], starts, axis=1)

    def squared_deviations(self, values: FloatArray) -> FloatArray:
        """Sum squared deviations from the mean within each profile: (B, P) for ``values`` (B, K) of the labels."""
        cell_values = values[:, np.searchsorted(self.present, self.cell_label)]
        means = np.add.reduceat(cell_values * self.cell_count, self.starts, axis=1) / self.sizes
        deviations = (cell_values - means[:, self.cell_profile]) ** 2
        return np.add.reduceat(deviations * self.cell_count, self.starts, axis=1)


def profiles_of(table: RatingTable) -> Profiles:
    """Group a table's items by equal label counts, in time and memory proportional to the ratings."""
    labels = max(1, len(table.scale))
    ordered = np.sort(table.items * labels + table.labels)
    items, codes = np.divmod(ordered, labels)
    sizes = np.bincount(items, minlength=len(table.item_ids))
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes.size else sizes
    keys = _number_equal_items(codes, first, sizes, labels)
    rated = np.flatnonzero(sizes)
    _, example, inverse, times = np.unique(
        keys[rated], return_index=True, return_inverse=True, return_counts=True
    )
    profile_of_item = np.full(sizes.size, -1, dtype=np.int64)
    profile_of_item[rated] = inverse
    chosen = rated[example]
    lengths = sizes[chosen]
    positions = np.repeat(first[chosen], lengths) + _ranges(lengths)
    profile = np.repeat(np.arange(chosen.size), lengths)
    cells, counts = np.unique(profile * labels + codes[positions], return_counts=True)
    return Profiles(
        sizes=lengths,
        times=times,
        profile_of_item=profile_of_item,
        cell_profile=cells // labels,
        cell_label=cells % labels,
        cell_count=counts,
        values=table.values,
    )


def _number_equal_items(codes: IntArray, first: IntArray, sizes: IntArray, labels: int) -> IntArray:
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


def _ranges(lengths: IntArray) -> IntArray:
    """Return the concatenated ranges 0, 1, 2 … of each of ``lengths``."""
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - lengths, lengths)


def alpha_nominal(profiles: Profiles, weights: FloatArray) -> FloatArray:
    """Krippendorff's alpha for unordered labels: (B,) for weights (B, P), NaN if no disagreement is possible."""
    disagreeing = (profiles.sizes**2 - profiles.agreeing_pairs - profiles.sizes) / np.maximum(
        1, profiles.sizes - 1
    )
    weights = weights * profiles.pairable
    totals, ratings = profiles.totals(weights), weights @ profiles.sizes
    return _one_minus_ratio((ratings - 1) * (weights @ disagreeing), ratings**2 - (totals**2).sum(axis=1))


def alpha_interval(profiles: Profiles, weights: FloatArray) -> FloatArray:
    """Krippendorff's alpha with squared differences of the labels' values: (B,) for weights (B, P)."""
    weights = weights * profiles.pairable
    return _alpha_of_values(
        profiles, weights, profiles.totals(weights), profiles.values[profiles.present][None, :]
    )


def alpha_ordinal(profiles: Profiles, weights: FloatArray) -> FloatArray:
    """Krippendorff's alpha for ordered labels: (B,) for weights (B, P).

    His ordinal difference, the ratings between two labels with half of those at the ends, is the difference of the
    labels' mean ranks among all pairable ratings; so this is the interval form over ranks.
    """
    weights = weights * profiles.pairable
    totals = profiles.totals(weights)
    return _alpha_of_values(profiles, weights, totals, midranks(totals))


def midranks(totals: FloatArray) -> FloatArray:
    """Return the number of ratings below each label, plus half of its own: (B, K) of (B, K)."""
    return np.cumsum(totals, axis=1) - totals / 2


def _alpha_of_values(
    profiles: Profiles, weights: FloatArray, totals: FloatArray, values: FloatArray
) -> FloatArray:
    scaled = profiles.squared_deviations(values) * (profiles.sizes / np.maximum(1, profiles.sizes - 1))
    within = (weights * scaled).sum(axis=1)
    return _one_minus_ratio((totals.sum(axis=1) - 1) * within, _squared_differences(totals, values))


def _squared_differences(totals: FloatArray, values: FloatArray) -> FloatArray:
    """Sum squared differences over unordered pairs of ratings: (B,), exactly 0 if all have one value."""
    ratings = totals.sum(axis=1)
    means = (totals * values).sum(axis=1) / np.maximum(1, ratings)
    given = np.where(totals > 0, values, np.nan)
    has_several = (np.fmax.reduce(given, axis=1) - np.fmin.reduce(given, axis=1)) > 0
    return np.where(has_several, ratings * (totals * (values - means[:, None]) ** 2).sum(axis=1), 0.0)


def relative_disagreement(profiles: Profiles, metric: Metric) -> FloatArray:
    """Return the mean difference of a profile's pairs of ratings over that of any two ratings: (P,).

    0 where all agree, where there is one rating alone, and where nothing in the table could disagree.
    """
    weights = (profiles.times * profiles.pairable).astype(np.float64)[None, :]
    totals = profiles.totals(weights)
    ratings = totals.sum()
    pairs = np.maximum(1, profiles.sizes * (profiles.sizes - 1))
    if metric is Metric.NOMINAL:
        within, expected = 1 - profiles.agreeing_pairs / pairs, ratings**2 - (totals**2).sum()
    else:
        values = midranks(totals) if metric is Metric.ORDINAL else profiles.values[profiles.present][None, :]
        within = 2 * profiles.sizes * profiles.squared_deviations(values)[0] / pairs
        expected = 2 * _squared_differences(totals, values)[0]
    if not expected > 0:
        return np.zeros(profiles.sizes.size)
    return np.where(profiles.pairable, within, 0.0) * ratings * (ratings - 1) / expected


def fleiss(profiles: Profiles, weights: FloatArray) -> FloatArray:
    """Fleiss' kappa in Gwet's form for missing ratings: (B,) for weights (B, P)."""
    items = weights.sum(axis=1)
    shares = (
        profiles.totals(weights, cell_values=profiles.cell_count / profiles.sizes[profiles.cell_profile])
        / np.maximum(1, items)[:, None]
    )
    by_chance = np.where((shares > 0).sum(axis=1) > 1, (shares**2).sum(axis=1), 1.0)
    return _one_minus_ratio(1 - percent(profiles, weights), 1 - by_chance)


def percent(profiles: Profiles, weights: FloatArray) -> FloatArray:
    """Mean over pairable items of the share, 0 to 1, of an item's pairs that agree: (B,) for weights (B, P)."""
    weights = weights * profiles.pairable
    share = profiles.agreeing_pairs / np.maximum(1, profiles.sizes * (profiles.sizes - 1))
    items = weights.sum(axis=1)
    return np.where(items > 0, (weights @ share) / np.maximum(1, items), np.nan)


def _one_minus_ratio(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return 1 - observed / expected, NaN if the expected disagreement is 0."""
    defined = expected > 0
    return np.where(defined, 1 - observed / np.where(defined, expected, 1.0), np.nan)
