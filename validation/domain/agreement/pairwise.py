"""Pairwise accuracy: how often one rating orders two candidates like another rating, as on the Sherlock leaderboard.

In each image, a pair of candidates with different ratings gives a point if the ranking orders it in the same way;
chance (50 %) is subtracted and the rest doubled. To break ties the published scorer adds a tiny vector to the
ranking, drawn for each image from a generator seeded with 1; this module uses the same draw for any number of
candidates. Source: Hessel et al. 2022 §4.3 and §5.1, doi:10.1007/978-3-031-20059-5_32.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation.domain.judging.ratings import IntArray, RatingTable

TIE_BREAK_SEED = 1
TIE_BREAK_SCALE = 1e-9
PUBLISHED_CANDIDATES = 10  # length of the published draw, even for fewer candidates
CHANCE = 0.5
MIN_BOOTSTRAP_VALUES = 10  # fewer values give no meaningful interval of their mean
_CHUNK_SIZE = 1_000_000  # comparisons in memory at a time

FloatArray = NDArray[np.float64]
GeneratorFactory = Callable[[], np.random.RandomState]


@dataclass(frozen=True, slots=True)
class PairwiseAccuracy:
    """How well one rater's ratings predict another's order of candidates, in percent.

    ``value`` is 0 at chance and 100 for perfect order, as published; ``accuracy`` is the plain accuracy, 50 at
    chance. Both are ``None`` if no set has two raters. ``low`` and ``high`` bound ``value``. ``pairs`` counts ordered
    pairs of raters; ``by_set`` is each set's value in the order of the table.
    """

    value: float | None
    accuracy: float | None
    low: float | None
    high: float | None
    sets: int
    pairs: int
    by_set: dict[Hashable, float]


def published_generator() -> np.random.RandomState:
    """Return the generator of the published figures in its initial state."""
    return np.random.RandomState(TIE_BREAK_SEED)


def tie_break_noise(generator: np.random.RandomState, n: int) -> FloatArray:
    """Draw the published noise for ``n`` candidates: (n,), far below any difference of ratings."""
    return draw_like_published_scorer(generator, n) * TIE_BREAK_SCALE


def draw_like_published_scorer(generator: np.random.RandomState, n: int) -> FloatArray:
    """Draw ``n`` numbers from 0 to 1 as the published scorer does, which always draws ten: (n,)."""
    return generator.random_sample(max(PUBLISHED_CANDIDATES, n))[:n]


def pairwise_agreement(ratings: NDArray[np.floating], ranking: NDArray[np.floating]) -> float:
    """Return how well a ranking orders the pairs that the ratings order, from -1 to 1.

    Both (n,), higher is better. Pairs with equal ratings are left out; a pair tied only in the ranking is wrong.
    Without a usable pair the result is 0, which counts in means, as published.
    """
    return float(_agreement_by_row(np.asarray(ratings)[None, :], np.asarray(ranking)[None, :])[0])


def pairwise_accuracy(
    table: RatingTable,
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1000,
) -> PairwiseAccuracy:
    """Return how well raters of the same candidates predict one another's order.

    In each set every ordered pair of raters who share a candidate counts: the second rater's ratings with the
    published noise are the ranking for the first rater. The result is the mean over a set's pairs, then over sets.
    With two raters in each set it is the human accuracy of the Sherlock leaderboard.

    Args:
        table: items are ``(set, candidate)``; a set's candidates get the noise in the order of ``item_ids``.
        rng: draws sets for the bootstrap; without ``rng``, or if ``can_bootstrap`` is false, there is no interval.
        replicates: number of bootstrap samples.
    """
    agreements = _agreements_by_set(table)
    values = np.array(list(agreements.values()), dtype=np.float64).reshape(-1, 2)
    by_set = {key: 100 * value for key, (value, _) in agreements.items()}
    pairs = int(values[:, 1].sum())
    if not agreements:
        return PairwiseAccuracy(None, None, None, None, 0, 0, {})
    mean = float(100 * values[:, 0].mean())
    low = high = None
    if rng is not None and can_bootstrap(values[:, 0]):
        low, high = mean_interval(100 * values[:, 0], rng=rng, replicates=replicates)
    return PairwiseAccuracy(mean, 50 + mean / 2, low, high, len(agreements), pairs, by_set)


def can_bootstrap(values: FloatArray) -> bool:
    """Return whether a bootstrap of ``values`` (n,) gives a meaningful interval of their mean.

    With fewer than ten values, or equal ones, the interval is too narrow: all draws are nearly the same.
    """
    return len(values) >= MIN_BOOTSTRAP_VALUES and float(np.min(values)) < float(np.max(values))


def mean_interval(
    values: FloatArray, *, rng: np.random.Generator, replicates: int = 1000, level: float = 0.95
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean of independent ``values`` (n,), at least one."""
    tail = (1 - level) / 2
    low, high = np.quantile(bootstrap_means(values, rng=rng, replicates=replicates), [tail, 1 - tail])
    return float(low), float(high)


def bootstrap_means(values: FloatArray, *, rng: np.random.Generator, replicates: int) -> FloatArray:
    """Return the means of bootstrap samples of ``values`` (n,), at least one: (replicates,)."""
    distinct, times = np.unique(values, return_counts=True)
    rows = max(1, _CHUNK_SIZE // distinct.size)
    sums = [
        rng.multinomial(values.size, times / values.size, size=min(rows, replicates - start)) @ distinct
        for start in range(0, replicates, rows)
    ]
    return np.concatenate(sums) / values.size


def _agreements_by_set(table: RatingTable) -> dict[Hashable, tuple[float, int]]:
    """Return each set's agreement, -1 to 1, and its number of ordered rater pairs, in the table's order of sets."""
    if not table.size:
        return {}
    set_ids = list(dict.fromkeys(item[0] if isinstance(item, tuple) else item for item in table.item_ids))
    set_of = table.set_codes()
    rank, sizes = _indexes_in_set(set_of), np.bincount(set_of)
    block_keys, block_of = np.unique(
        set_of[table.items] * max(1, len(table.rater_ids)) + table.raters, return_inverse=True
    )
    block_set = block_keys // max(1, len(table.rater_ids))
    total, pairs = np.zeros(len(set_ids)), np.zeros(len(set_ids), dtype=np.int64)
    for size in np.unique(sizes[np.unique(block_set)]):
        blocks = np.flatnonzero(sizes[block_set] == size)
        row_of = np.full(block_set.size, -1)
        row_of[blocks] = np.arange(blocks.size)
        selected = row_of[block_of] >= 0
        dense = np.full((blocks.size, int(size)), np.nan)
        dense[row_of[block_of[selected]], rank[table.items[selected]]] = table.values[table.labels[selected]]
        _add_pair_agreements(
            dense, block_set[blocks], tie_break_noise(published_generator(), int(size)), total, pairs
        )
    return {
        set_ids[index]: (float(total[index] / pairs[index]), int(pairs[index]))
        for index in np.flatnonzero(pairs)
    }


def _indexes_in_set(sets: IntArray) -> IntArray:
    """Return each item's index within its set: (items,) of (items,)."""
    order = np.argsort(sets, kind="stable")
    sizes = np.bincount(sets)
    ranks = np.empty(sets.size, dtype=np.int64)
    ranks[order] = np.arange(sets.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return ranks


def _add_pair_agreements(
    dense: FloatArray, sets: IntArray, noise: FloatArray, total: FloatArray, pairs: IntArray
) -> None:
    """Add up the agreements of all ordered pairs of rows of ``dense`` (blocks, n) that belong to one set."""
    first, second = _ordered_pairs_within_sets(sets)
    rows = max(1, _CHUNK_SIZE // max(1, noise.size**2))
    for start in range(0, first.size, rows):
        a, b = first[start : start + rows], second[start : start + rows]
        shared = ~(np.isnan(dense[a]) | np.isnan(dense[b])).all(axis=1)
        a, b = a[shared], b[shared]
        np.add.at(total, sets[a], _agreement_by_row(dense[a], dense[b] + noise))
        np.add.at(pairs, sets[a], 1)


def _ordered_pairs_within_sets(sets: IntArray) -> tuple[IntArray, IntArray]:
    """Return all ordered pairs of positions in ``sets`` (ascending) with the same set."""
    sizes = np.unique(sets, return_counts=True)[1]
    starts = np.cumsum(sizes) - sizes
    each = np.repeat(sizes, sizes)  # partners of each position, itself included
    first = np.repeat(np.arange(sets.size), each)
    step = np.arange(first.size) - np.repeat(np.cumsum(each) - each, each)
    second = np.repeat(np.repeat(starts, sizes), each) + step
    other = first != second
    return first[other], second[other]


def _agreement_by_row(ratings: NDArray[np.floating], ranking: NDArray[np.floating]) -> FloatArray:
    """Return the agreement of each row of two (k, n) arrays, -1 to 1: (k,). A pair with a NaN is not usable."""
    first, second = np.triu_indices(ratings.shape[1], k=1)
    higher = ratings[:, first] > ratings[:, second]
    lower = ratings[:, first] < ratings[:, second]
    usable = (higher | lower) & ~np.isnan(ranking[:, first]) & ~np.isnan(ranking[:, second])
    right = np.where(higher, ranking[:, first] > ranking[:, second], ranking[:, first] < ranking[:, second])
    right &= usable
    count = usable.sum(axis=1)
    share = right.sum(axis=1) / np.maximum(1, count)
    return np.where(count > 0, (share - CHANCE) / (1 - CHANCE), 0.0)
