"""Fleiss' kappa and the percent agreement that it corrects for chance, for a table, per item and per rater.

Fleiss, J. L. (1971). doi:10.1037/h0031619; with missing ratings Gwet, K. L. (2014), Handbook of Inter-Rater
Reliability, 4th edition, chapter 2.
All functions take a ``RatingTable``; a missing rating is an absent row.
"""

import numpy as np

from validation.domain.agreement.label_profiles import (
    FloatArray,
    LabelProfiles,
    build_label_profiles,
    coefficient_of_table,
    one_minus_ratio,
)
from validation.domain.judging.ratings import RatingTable


def fleiss_kappa(table: RatingTable) -> float | None:
    """Return Fleiss' kappa (1971) in Gwet's form for missing ratings, which is the same if no rating is missing.

    Agreement is the mean share of agreeing pairs over items with at least two ratings; chance is the sum of squares
    of the labels' mean shares over all rated items. ``None`` if no item has two ratings, or if all ratings have one
    label.
    """
    return coefficient_of_table(table, fleiss_of_profiles)


def fleiss_of_profiles(profiles: LabelProfiles, weights: FloatArray) -> FloatArray:
    """Return Fleiss' kappa in Gwet's form for missing ratings: (B,) for weights (B, P)."""
    items = weights.sum(axis=1)
    shares = (
        profiles.label_totals(
            weights, cell_values=profiles.cell_count / profiles.sizes[profiles.cell_profile]
        )
        / np.maximum(1, items)[:, None]
    )
    by_chance = np.where((shares > 0).sum(axis=1) > 1, (shares**2).sum(axis=1), 1.0)
    return one_minus_ratio(1 - agreement_share_of_profiles(profiles, weights), 1 - by_chance)


def percent_agreement(table: RatingTable) -> float | None:
    """Return the mean over items of the share of their pairs that agree, 0 to 1; ``None`` without a pair."""
    return coefficient_of_table(table, agreement_share_of_profiles)


def agreement_share_of_profiles(profiles: LabelProfiles, weights: FloatArray) -> FloatArray:
    """Return the mean share of agreeing pairs over pairable items, 0 to 1: (B,) for weights (B, P)."""
    weights = weights * profiles.is_pairable
    share = profiles.agreeing_pairs / np.maximum(1, profiles.sizes * (profiles.sizes - 1))
    items = weights.sum(axis=1)
    return np.where(items > 0, (weights @ share) / np.maximum(1, items), np.nan)


def agreement_by_item(table: RatingTable) -> FloatArray:
    """Return for each item the share, 0 to 1, of its pairs of ratings that agree: (items,), NaN without a pair."""
    shares = np.full(len(table.item_ids), np.nan)
    if table.size:
        profiles = build_label_profiles(table)
        by_profile = np.where(
            profiles.is_pairable,
            profiles.agreeing_pairs / np.maximum(1, profiles.sizes * (profiles.sizes - 1)),
            np.nan,
        )
        rated = profiles.profile_of_item >= 0
        shares[rated] = by_profile[profiles.profile_of_item[rated]]
    return shares


def agreement_by_rater(table: RatingTable) -> FloatArray:
    """Return for each rater the mean share, 0 to 1, of an item's other raters with the same label: (raters,).

    NaN for a rater whose items have no other rater.
    """
    labels = max(1, len(table.scale))
    _, cell_of, cell_counts = np.unique(
        table.items * labels + table.labels, return_inverse=True, return_counts=True
    )
    others = np.bincount(table.items, minlength=len(table.item_ids))[table.items] - 1
    shared = others > 0
    share = (cell_counts[cell_of] - 1)[shared] / others[shared]
    size = len(table.rater_ids)
    count = np.bincount(table.raters[shared], minlength=size)
    total = np.bincount(table.raters[shared], weights=share, minlength=size)
    return np.where(count > 0, total / np.maximum(1, count), np.nan)
