"""Krippendorff's alpha: its value, its coincidence matrix, and the items that lower it most.

Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania, ASC working paper.
All functions take a ``RatingTable``; a missing rating is an absent row.
"""

from collections.abc import Hashable
from enum import StrEnum

import numpy as np

from validation.domain.agreement.label_profiles import (
    FloatArray,
    LabelProfiles,
    build_label_profiles,
    coefficient_of_table,
    one_minus_ratio,
)
from validation.domain.judging.ratings import RatingTable


class Metric(StrEnum):
    """How the difference of two labels is measured: equal or not, by the ratings between them, or squared."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


def krippendorff_alpha(table: RatingTable, metric: Metric) -> float | None:
    """Return Krippendorff's alpha: 1 - observed / expected disagreement (Krippendorff 2011).

    Items with one rating are left out. ``None`` if no item has two ratings, or all ratings have one label (for
    ``INTERVAL``: one value), so that no disagreement is possible. ``ORDINAL`` uses the order of ``table.scale``,
    ``INTERVAL`` uses ``table.values``.
    """
    return coefficient_of_table(table, _WEIGHTED_ALPHA[metric])


def nominal_alpha(profiles: LabelProfiles, weights: FloatArray) -> FloatArray:
    """Krippendorff's alpha for unordered labels: (B,) for weights (B, P), NaN if no disagreement is possible."""
    disagreeing = (profiles.sizes**2 - profiles.agreeing_pairs - profiles.sizes) / np.maximum(
        1, profiles.sizes - 1
    )
    weights = weights * profiles.is_pairable
    totals, ratings = profiles.label_totals(weights), weights @ profiles.sizes
    return one_minus_ratio((ratings - 1) * (weights @ disagreeing), ratings**2 - (totals**2).sum(axis=1))


def interval_alpha(profiles: LabelProfiles, weights: FloatArray) -> FloatArray:
    """Krippendorff's alpha with squared differences of the labels' values: (B,) for weights (B, P)."""
    weights = weights * profiles.is_pairable
    return _alpha_of_values(
        profiles, weights, profiles.label_totals(weights), profiles.values[profiles.given_labels][None, :]
    )


def ordinal_alpha(profiles: LabelProfiles, weights: FloatArray) -> FloatArray:
    """Krippendorff's alpha for ordered labels: (B,) for weights (B, P).

    Krippendorff's ordinal difference counts the ratings between two labels, and half of the ratings of either label.
    That is the difference of the labels' mean ranks among all pairable ratings: the interval form over ranks.
    """
    weights = weights * profiles.is_pairable
    totals = profiles.label_totals(weights)
    return _alpha_of_values(profiles, weights, totals, _midranks(totals))


_WEIGHTED_ALPHA = {
    Metric.NOMINAL: nominal_alpha,
    Metric.ORDINAL: ordinal_alpha,
    Metric.INTERVAL: interval_alpha,
}


def coincidence_matrix(table: RatingTable) -> FloatArray:
    """Return Krippendorff's coincidence matrix (2011): (labels, labels), symmetric; it sums to the pairable ratings.

    Each ordered pair of ratings of an item with m ratings counts 1 / (m - 1).
    """
    scale = len(table.scale)
    if not table.size:
        return np.zeros((scale, scale))
    profiles = build_label_profiles(table)
    counts = np.zeros((profiles.sizes.size, scale))
    counts[profiles.cell_profile, profiles.cell_label] = profiles.cell_count
    weights = np.where(profiles.is_pairable, profiles.item_counts / np.maximum(1, profiles.sizes - 1), 0.0)
    weighted = weights[:, None] * counts
    return counts.T @ weighted - np.diag(weighted.sum(axis=0))


def hardest_items(table: RatingTable, metric: Metric, n: int) -> list[tuple[Hashable, float]]:
    """Return the ``n`` items with the most disagreement, in falling order: ``(item id, disagreement)``.

    An item's disagreement is the mean difference of its pairs of ratings, divided by that of any two ratings in the
    table: 0 is agreement, 1 is chance. Alpha is 1 minus the mean disagreement, weighted by ratings. Items without
    disagreement are left out; ties keep the order of the table.
    """
    if not table.size:
        return []
    profiles = build_label_profiles(table)
    relative = _relative_disagreement(profiles, metric)
    disagreement = np.where(profiles.profile_of_item >= 0, relative[profiles.profile_of_item], 0.0)
    order = np.argsort(-disagreement, kind="stable")[:n]
    return [(table.item_ids[index], float(disagreement[index])) for index in order if disagreement[index] > 0]


def _midranks(totals: FloatArray) -> FloatArray:
    """Return the number of ratings below each label, plus half of its own: (B, K) of (B, K)."""
    return np.cumsum(totals, axis=1) - totals / 2


def _alpha_of_values(
    profiles: LabelProfiles, weights: FloatArray, totals: FloatArray, values: FloatArray
) -> FloatArray:
    scaled = profiles.squared_deviations(values) * (profiles.sizes / np.maximum(1, profiles.sizes - 1))
    within = (weights * scaled).sum(axis=1)
    return one_minus_ratio((totals.sum(axis=1) - 1) * within, _squared_differences(totals, values))


def _squared_differences(totals: FloatArray, values: FloatArray) -> FloatArray:
    """Sum squared differences over unordered pairs of ratings: (B,), exactly 0 if all have one value."""
    ratings = totals.sum(axis=1)
    means = (totals * values).sum(axis=1) / np.maximum(1, ratings)
    given = np.where(totals > 0, values, np.nan)
    has_several = (np.fmax.reduce(given, axis=1) - np.fmin.reduce(given, axis=1)) > 0
    return np.where(has_several, ratings * (totals * (values - means[:, None]) ** 2).sum(axis=1), 0.0)


def _relative_disagreement(profiles: LabelProfiles, metric: Metric) -> FloatArray:
    """Return the mean difference of each profile's pairs of ratings, divided by that of any two ratings: (P,).

    It is 0 if the ratings agree, if there is only one, or if all ratings in the table are equal.
    """
    weights = (profiles.item_counts * profiles.is_pairable).astype(np.float64)[None, :]
    totals = profiles.label_totals(weights)
    ratings = totals.sum()
    pairs = np.maximum(1, profiles.sizes * (profiles.sizes - 1))
    if metric is Metric.NOMINAL:
        within, expected = 1 - profiles.agreeing_pairs / pairs, ratings**2 - (totals**2).sum()
    else:
        values = (
            _midranks(totals) if metric is Metric.ORDINAL else profiles.values[profiles.given_labels][None, :]
        )
        within = 2 * profiles.sizes * profiles.squared_deviations(values)[0] / pairs
        expected = 2 * _squared_differences(totals, values)[0]
    if not expected > 0:
        return np.zeros(profiles.sizes.size)
    return np.where(profiles.is_pairable, within, 0.0) * ratings * (ratings - 1) / expected
