"""Agreement of several raters' labels: coefficients with intervals, per item and per rater.

All functions take a ``RatingTable``; a missing rating is an absent row. Sources; each function names its own:
Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania, ASC working paper.
Hayes, A. F. and Krippendorff, K. (2007). doi:10.1080/19312450709336664
Fleiss, J. L. (1971). doi:10.1037/h0031619; with missing ratings Gwet, K. L. (2014), Handbook of Inter-Rater
Reliability, 4th edition, chapter 2.
Cohen, J. (1960). doi:10.1177/001316446002000104; with weights Cohen, J. (1968). doi:10.1037/h0026256
Intervals: bootstrap over items, Zapf, A. et al. (2016). doi:10.1186/s12874-016-0200-9
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isnan

import numpy as np

from validation.domain.agreement import label_profiles
from validation.domain.agreement.box_agreement import (
    BoxAgreement,
    BoxError,
    BoxMatch,
    BoxRating,
    Region,
    box_agreement,
    iou_alpha,
    match_boxes,
    region,
    region_iou,
)
from validation.domain.agreement.cohen import (
    GraderAgreement,
    Weights,
    cohen_kappa,
    confusion_matrix,
    grader_agreement,
)
from validation.domain.agreement.label_profiles import FloatArray, Metric, Profiles, profiles_of
from validation.domain.agreement.pairwise import (
    MIN_VALUES,
    PUBLISHED_CANDIDATES,
    TIE_BREAK_SCALE,
    TIE_BREAK_SEED,
    PairwiseAccuracy,
    mean_interval,
    pairwise_accuracy,
    pairwise_agreement,
    published_generator,
    tie_break_noise,
)
from validation.domain.judging.ratings import IntArray, RatingTable

__all__ = [
    "PUBLISHED_CANDIDATES",
    "TIE_BREAK_SCALE",
    "TIE_BREAK_SEED",
    "BoxAgreement",
    "BoxError",
    "BoxMatch",
    "BoxRating",
    "Coefficient",
    "GraderAgreement",
    "Metric",
    "PairwiseAccuracy",
    "Region",
    "Statistic",
    "Weights",
    "agreement_by_item",
    "agreement_by_rater",
    "box_agreement",
    "coefficient_with_interval",
    "coefficients",
    "cohen_kappa",
    "coincidence_matrix",
    "confusion_matrix",
    "fleiss_kappa",
    "grader_agreement",
    "hardest_items",
    "iou_alpha",
    "krippendorff_alpha",
    "match_boxes",
    "mean_interval",
    "pairwise_accuracy",
    "pairwise_agreement",
    "percent_agreement",
    "published_generator",
    "region",
    "region_iou",
    "tie_break_noise",
]

_CELLS_CHUNK_SIZE = 2_000_000


class Statistic(StrEnum):
    """A coefficient over all raters of a table; the values are the keys in reports."""

    ALPHA_NOMINAL = "alpha_nominal"
    ALPHA_ORDINAL = "alpha_ordinal"
    ALPHA_INTERVAL = "alpha_interval"
    FLEISS = "fleiss"
    PERCENT = "percent"


_STATISTIC_FUNCTIONS: dict[Statistic, Callable[[Profiles, FloatArray], FloatArray]] = {
    Statistic.ALPHA_NOMINAL: label_profiles.alpha_nominal,
    Statistic.ALPHA_ORDINAL: label_profiles.alpha_ordinal,
    Statistic.ALPHA_INTERVAL: label_profiles.alpha_interval,
    Statistic.FLEISS: label_profiles.fleiss,
    Statistic.PERCENT: label_profiles.percent,
}
_ALPHA_STATISTICS = {
    Metric.NOMINAL: Statistic.ALPHA_NOMINAL,
    Metric.ORDINAL: Statistic.ALPHA_ORDINAL,
    Metric.INTERVAL: Statistic.ALPHA_INTERVAL,
}


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient with its bootstrap interval and the counts behind it.

    ``value`` is ``None`` if it is undefined. ``low`` and ``high`` are ``None`` then, and with fewer than two items
    (or sets of items) to draw from. ``items`` counts items with at least two ratings; ``ratings`` and ``raters``
    count the ratings of these items and their raters.
    """

    value: float | None
    low: float | None
    high: float | None
    items: int
    ratings: int
    raters: int


def krippendorff_alpha(table: RatingTable, metric: Metric) -> float | None:
    """Return Krippendorff's alpha, 1 less the observed over the expected disagreement (Krippendorff 2011).

    Items with one rating are left out. ``None`` if no item has two ratings, or all ratings have one label (for
    ``INTERVAL``: one value), so that no disagreement is possible. ``ORDINAL`` uses the order of ``table.scale``,
    ``INTERVAL`` uses ``table.values``.
    """
    return _compute_value(table, _ALPHA_STATISTICS[metric])


def fleiss_kappa(table: RatingTable) -> float | None:
    """Return Fleiss' kappa (1971) in Gwet's form for missing ratings, which is the same if no rating is missing.

    Agreement is the mean share of agreeing pairs over items with at least two ratings; chance is the sum of squares
    of the labels' mean shares over all rated items. ``None`` if no item has two ratings, or if all ratings have one
    label.
    """
    return _compute_value(table, Statistic.FLEISS)


def percent_agreement(table: RatingTable) -> float | None:
    """Return the mean over items of the share of their pairs that agree, 0 to 1; ``None`` without a pair."""
    return _compute_value(table, Statistic.PERCENT)


def coincidence_matrix(table: RatingTable) -> FloatArray:
    """Return Krippendorff's coincidence matrix (2011): (labels, labels), symmetric; it sums to the pairable ratings.

    Each ordered pair of ratings of an item with m ratings counts 1 / (m - 1).
    """
    scale = len(table.scale)
    if not table.size:
        return np.zeros((scale, scale))
    profiles = profiles_of(table)
    counts = np.zeros((profiles.sizes.size, scale))
    counts[profiles.cell_profile, profiles.cell_label] = profiles.cell_count
    weights = np.where(profiles.pairable, profiles.times / np.maximum(1, profiles.sizes - 1), 0.0)[:, None]
    return counts.T @ (weights * counts) - np.diag((weights * counts).sum(axis=0))


def agreement_by_item(table: RatingTable) -> FloatArray:
    """Return for each item the share, 0 to 1, of its pairs of ratings that agree: (items,), NaN without a pair."""
    shares = np.full(len(table.item_ids), np.nan)
    if table.size:
        profiles = profiles_of(table)
        by_profile = np.where(
            profiles.pairable,
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


def hardest_items(table: RatingTable, metric: Metric, n: int) -> list[tuple[Hashable, float]]:
    """Return the ``n`` items with the most disagreement, in falling order: ``(item id, disagreement)``.

    The disagreement is the mean difference of an item's pairs of ratings over that of any two ratings in the table:
    0 is agreement, 1 is chance; alpha is 1 less its mean weighted by ratings. Items without disagreement are left
    out; ties keep the order of the table.
    """
    if not table.size:
        return []
    profiles = profiles_of(table)
    relative = label_profiles.relative_disagreement(profiles, metric)
    disagreement = np.where(profiles.profile_of_item >= 0, relative[profiles.profile_of_item], 0.0)
    order = np.argsort(-disagreement, kind="stable")[:n]
    return [(table.item_ids[index], float(disagreement[index])) for index in order if disagreement[index] > 0]


def coefficient_with_interval(
    table: RatingTable,
    name: Statistic,
    *,
    rng: np.random.Generator,
    replicates: int = 1000,
    level: float = 0.95,
) -> Coefficient:
    """Return one coefficient with its interval; ``coefficients`` computes several with shared work."""
    return coefficients(table, [name], rng=rng, replicates=replicates, level=level)[name]


def coefficients(
    table: RatingTable,
    names: Iterable[Statistic] = tuple(Statistic),
    *,
    rng: np.random.Generator,
    replicates: int = 1000,
    level: float = 0.95,
) -> dict[Statistic, Coefficient]:
    """Return coefficients with percentile bootstrap intervals over items (Zapf et al. 2016).

    Items are drawn with replacement, items with one rating separately, and each draw gives a coefficient with its own
    chance term; draws in which it is undefined are left out. Items of one set (see ``RatingTable.sets``) share an
    image and their raters, so whole sets are drawn. Hayes and Krippendorff (2007) resample pairs around a fixed
    chance term instead. Raters are fixed: the interval is about other items and the same crowd.

    Args:
        names: the coefficients. rng: draws the items. replicates: number of draws. level: of the interval, 0 to 1.
    """
    statistics = list(names)
    if not table.size:
        return {name: Coefficient(None, None, None, 0, 0, 0) for name in statistics}
    profiles = profiles_of(table)
    weights = profiles.times.astype(np.float64)
    pairable_items = int(weights[profiles.pairable].sum())
    replicate_values: dict[Statistic, list[FloatArray]] = {name: [] for name in statistics}
    for draws in _bootstrap_draws(profiles, table.sets(), rng, replicates):
        for name in statistics:
            replicate_values[name].append(_STATISTIC_FUNCTIONS[name](profiles, draws))
    base_counts = (
        pairable_items,
        int((weights * profiles.sizes)[profiles.pairable].sum()),
        _count_pairable_raters(table, profiles),
    )
    results = {}
    for name in statistics:
        value = _none_if_nan(_STATISTIC_FUNCTIONS[name](profiles, weights[None, :])[0])
        low, high = _percentile_interval(replicate_values[name], level) if value is not None else (None, None)
        if name is Statistic.PERCENT and (low == high or _count_pairable_sets(table, profiles) < MIN_VALUES):
            low = high = None  # a share: see ``pairwise.can_bootstrap``
        results[name] = Coefficient(value, low, high, *base_counts)
    return results


def _compute_value(table: RatingTable, name: Statistic) -> float | None:
    if not table.size:
        return None
    profiles = profiles_of(table)
    return _none_if_nan(_STATISTIC_FUNCTIONS[name](profiles, profiles.times.astype(np.float64)[None, :])[0])


def _none_if_nan(value: float) -> float | None:
    return None if isnan(value) else float(value)


def _bootstrap_draws(
    profiles: Profiles, sets: IntArray, rng: np.random.Generator, replicates: int
) -> Iterator[FloatArray]:
    """Yield draws as counts of each profile, (b, P) at a time; nothing if there is only one set."""
    rated = profiles.profile_of_item >= 0
    is_ungrouped = sets.size == int(sets.max()) + 1
    pairable = rated & profiles.pairable[profiles.profile_of_item]
    if not pairable.any() or (sets[pairable] == sets[pairable][0]).all():
        return
    cells = profiles.cell_count.size if is_ungrouped else sets.size
    rows = max(1, _CELLS_CHUNK_SIZE // cells)
    for start in range(0, replicates, rows):
        size = min(rows, replicates - start)
        yield (
            _draw_items(profiles, rng, size) if is_ungrouped else _draw_sets(profiles, sets[rated], rng, size)
        )


def _draw_items(profiles: Profiles, rng: np.random.Generator, size: int) -> FloatArray:
    draws = np.zeros((size, profiles.sizes.size))
    for mask in (profiles.pairable, ~profiles.pairable):
        times = profiles.times[mask]
        if times.size:
            draws[:, mask] = rng.multinomial(times.sum(), times / times.sum(), size=size)
    return draws


def _draw_sets(profiles: Profiles, sets: IntArray, rng: np.random.Generator, size: int) -> FloatArray:
    """Draw sets and sum their items' profiles: (size, P); ``sets`` is the set of each rated item."""
    codes = np.unique(sets, return_inverse=True)[1]
    count = int(codes.max()) + 1
    cells, times = np.unique(
        profiles.profile_of_item[profiles.profile_of_item >= 0] * count + codes, return_counts=True
    )
    starts = np.searchsorted(cells // count, np.arange(profiles.sizes.size))
    draws = rng.multinomial(count, np.full(count, 1 / count), size=size)
    return np.add.reduceat((draws[:, cells % count] * times).astype(np.float64), starts, axis=1)


def _percentile_interval(draws: Sequence[FloatArray], level: float) -> tuple[float | None, float | None]:
    values = np.concatenate(draws) if draws else np.zeros(0)
    values = values[~np.isnan(values)]
    if not values.size:
        return None, None
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def _count_pairable_sets(table: RatingTable, profiles: Profiles) -> int:
    """Count the sets (an item without a set is its own) that have a pairable item."""
    rated = profiles.profile_of_item >= 0
    return int(np.unique(table.sets()[rated & profiles.pairable[profiles.profile_of_item]]).size)


def _count_pairable_raters(table: RatingTable, profiles: Profiles) -> int:
    """Count the raters with a rating of a pairable item."""
    pairable = profiles.pairable[profiles.profile_of_item[table.items]]
    return int(np.unique(table.raters[pairable]).size)
