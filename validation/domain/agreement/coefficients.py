"""Agreement coefficients of all raters with bootstrap intervals over items, several at a time.

Zapf, A. et al. (2016). doi:10.1186/s12874-016-0200-9; Hayes, A. F. and Krippendorff, K. (2007).
doi:10.1080/19312450709336664. All functions take a ``RatingTable``; a missing rating is an absent row.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from validation.domain.agreement.fleiss import agreement_share_of_profiles, fleiss_of_profiles
from validation.domain.agreement.krippendorff import interval_alpha, nominal_alpha, ordinal_alpha
from validation.domain.agreement.label_profiles import (
    FloatArray,
    LabelProfiles,
    WeightedCoefficient,
    build_label_profiles,
    none_if_nan,
)
from validation.domain.agreement.pairwise import MIN_BOOTSTRAP_VALUES
from validation.domain.judging.ratings import IntArray, RatingTable

_CELLS_CHUNK_SIZE = 2_000_000  # array cells in memory at a time


class CoefficientName(StrEnum):
    """A coefficient over all raters of a table; the values are the keys in reports."""

    ALPHA_NOMINAL = "alpha_nominal"
    ALPHA_ORDINAL = "alpha_ordinal"
    ALPHA_INTERVAL = "alpha_interval"
    FLEISS = "fleiss"
    PERCENT = "percent"


_STATISTIC_FUNCTIONS: dict[CoefficientName, WeightedCoefficient] = {
    CoefficientName.ALPHA_NOMINAL: nominal_alpha,
    CoefficientName.ALPHA_ORDINAL: ordinal_alpha,
    CoefficientName.ALPHA_INTERVAL: interval_alpha,
    CoefficientName.FLEISS: fleiss_of_profiles,
    CoefficientName.PERCENT: agreement_share_of_profiles,
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


def coefficients(
    table: RatingTable,
    names: Iterable[CoefficientName] = tuple(CoefficientName),
    *,
    rng: np.random.Generator,
    replicates: int = 1000,
    level: float = 0.95,
) -> dict[CoefficientName, Coefficient]:
    """Return coefficients with percentile bootstrap intervals over items (Zapf et al. 2016).

    Items are drawn with replacement; items with one rating are drawn separately. Each draw recomputes the
    coefficient, including its expected agreement; draws with an undefined coefficient are left out. Items of one set
    (see ``RatingTable.sets``) share an image and raters, so whole sets are drawn. Hayes and Krippendorff (2007)
    resample pairs with a fixed expected agreement instead. Raters are not drawn: the interval is for other items,
    same raters.

    Args:
        names: the coefficients. rng: draws the items. replicates: number of draws. level: confidence level, 0 to 1.
    """
    statistics = list(names)
    if not table.size:
        return {name: Coefficient(None, None, None, 0, 0, 0) for name in statistics}
    profiles = build_label_profiles(table)
    weights = profiles.item_counts.astype(np.float64)
    pairable_items = int(weights[profiles.is_pairable].sum())
    replicate_values: dict[CoefficientName, list[FloatArray]] = {name: [] for name in statistics}
    for draws in _bootstrap_draws(profiles, table.set_codes(), rng, replicates):
        for name in statistics:
            replicate_values[name].append(_STATISTIC_FUNCTIONS[name](profiles, draws))
    base_counts = (
        pairable_items,
        int((weights * profiles.sizes)[profiles.is_pairable].sum()),
        _count_pairable_raters(table, profiles),
    )
    results = {}
    for name in statistics:
        value = none_if_nan(_STATISTIC_FUNCTIONS[name](profiles, weights[None, :])[0])
        low, high = _percentile_interval(replicate_values[name], level) if value is not None else (None, None)
        has_few_sets = _count_pairable_sets(table, profiles) < MIN_BOOTSTRAP_VALUES
        if name is CoefficientName.PERCENT and (low == high or has_few_sets):
            low = high = None  # a mean of too few or equal shares, as in ``pairwise.can_bootstrap``
        results[name] = Coefficient(value, low, high, *base_counts)
    return results


def _bootstrap_draws(
    profiles: LabelProfiles, sets: IntArray, rng: np.random.Generator, replicates: int
) -> Iterator[FloatArray]:
    """Yield draws as counts of each profile, (b, P) at a time; nothing if there is only one set."""
    rated = profiles.profile_of_item >= 0
    is_ungrouped = sets.size == int(sets.max()) + 1
    pairable = rated & profiles.is_pairable[profiles.profile_of_item]
    if not pairable.any() or (sets[pairable] == sets[pairable][0]).all():
        return
    cells = profiles.cell_count.size if is_ungrouped else sets.size
    rows = max(1, _CELLS_CHUNK_SIZE // cells)
    for start in range(0, replicates, rows):
        size = min(rows, replicates - start)
        yield (
            _draw_items(profiles, rng, size) if is_ungrouped else _draw_sets(profiles, sets[rated], rng, size)
        )


def _draw_items(profiles: LabelProfiles, rng: np.random.Generator, size: int) -> FloatArray:
    draws = np.zeros((size, profiles.sizes.size))
    for mask in (profiles.is_pairable, ~profiles.is_pairable):
        times = profiles.item_counts[mask]
        if times.size:
            draws[:, mask] = rng.multinomial(times.sum(), times / times.sum(), size=size)
    return draws


def _draw_sets(profiles: LabelProfiles, sets: IntArray, rng: np.random.Generator, size: int) -> FloatArray:
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


def _count_pairable_sets(table: RatingTable, profiles: LabelProfiles) -> int:
    """Count the sets (an item without a set is its own) that have a pairable item."""
    rated = profiles.profile_of_item >= 0
    return int(np.unique(table.set_codes()[rated & profiles.is_pairable[profiles.profile_of_item]]).size)


def _count_pairable_raters(table: RatingTable, profiles: LabelProfiles) -> int:
    """Count the raters with a rating of a pairable item."""
    pairable = profiles.is_pairable[profiles.profile_of_item[table.items]]
    return int(np.unique(table.raters[pairable]).size)
