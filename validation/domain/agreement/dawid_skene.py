"""Dawid and Skene's model: estimates of the true labels and of each rater's reliability from the ratings alone.

Model. Item ``i`` has one true label ``z_i``, drawn with the priors ``p``: ``P(z_i = k) = p[k]``. Rater ``r`` gives an
item of true label ``k`` the label ``l`` with probability ``e[r, k, l]``, independently of all else. Symbols:
``q[i, k] = P(z_i = k | all labels)`` the posteriors, ``e`` the errors (one row of probabilities for each true label),
``p`` the priors.

Expectation and maximisation:

1. Start: ``q[i, k]`` is the share of item ``i``'s labels that are ``k``.
2. M: ``p[k]`` is the mean of ``q[:, k]``; ``e[r, k, l]`` is the sum of ``q[i, k]`` over the items that ``r`` labelled
   ``l``, divided by the same sum over all items of ``r``.
3. E: ``q[i, k]`` is ``p[k]`` times the product of ``e[r, k, l]`` over the labels of ``i``, normalised to sum to 1.
4. Repeat from 2 until the bound (below) grows by less than the tolerance, or ``iterations`` repetitions are done.

This is the maximum likelihood procedure of Dawid and Skene. It finds a local maximum; the start from the votes
selects the one in which most raters are better than chance. The start, the floors and the stopping criterion are
those of crowd-kit 1.4.2 (Ustalov, Pavlichenko and Tseitlin), so both give the same figures for a table. Its bound,
divided by the number of ratings, counts ``log p`` once per rating; the evidence lower bound of the model counts it
once per item. The bound can therefore fall, and iterations then end slightly early. Only the stopping criterion uses
the bound.

References:
    Dawid, A. P. and Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM
    algorithm. Journal of the Royal Statistical Society C 28(1), 20-28. doi:10.2307/2346806
    Ustalov, D., Pavlichenko, N. and Tseitlin, B. (2024). Learning from crowds with Crowd-Kit. Journal of Open Source
    Software 9(96), 6227. doi:10.21105/joss.06227
    Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20(1),
    37-46. doi:10.1177/001316446002000104 (for ``rater_reliabilities``)

Example:
    >>> right = ["yes" if item % 3 else "no" for item in range(30)]
    >>> rows = [(item, rater, right[item]) for item in range(30) for rater in "ab"]
    >>> rows += [(item, "c", "no" if right[item] == "yes" else "yes") for item in range(30)]
    >>> table = RatingTable.from_rows(rows, ("no", "yes"))
    >>> found = fit(table)
    >>> found.posteriors[:2].round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> rater_reliabilities(found, table).round(2).tolist()  # c gives the opposite labels
    [0.82, 0.82, -0.55]
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation.domain.judging.ratings import IntArray, RatingTable

FloatArray = NDArray[np.float64]
# For decisions and rankings: maximum likelihood is overconfident on few ratings (docs/decisions.md).
SMOOTHING = 0.3
FLOOR = 1e-10  # minimum expected count and prior, so that logarithms exist; crowd-kit's value
MAX_LAYERS = 50  # more than the ratings of any item in practice; affects only speed
PRIOR_RATINGS = 10.0  # ratings in the crowd's proportions added to a rater's own; see ``rater_reliabilities``


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """A fitted model of ``n`` items, ``m`` raters and ``L`` labels, indexed as the table that it was fitted to.

    ``posteriors`` (n, L): probability of each true label; rows sum to 1. ``errors`` (m, L, L):
    ``errors[rater, true, given]``; rows sum to 1. ``priors`` (L,). A label that nobody gave has prior and posteriors
    0. Items without ratings do not affect the fit; their posteriors are the priors. The error row of a rater or true
    label without ratings is uniform. ``log_likelihood`` is the natural logarithm of the probability of all labels
    under ``errors`` and ``priors``.
    """

    posteriors: FloatArray
    errors: FloatArray
    priors: FloatArray
    iterations: int
    log_likelihood: float


@dataclass(frozen=True, slots=True)
class _Ratings:
    """The ratings; a cell is one (rater, given label) as a number, and items with the most ratings come first.

    ``layers[j]`` holds the cell of rating ``j`` of each item with more than ``j`` ratings. Those are the first items,
    so sums by item are sums of whole arrays, and sums by cell read the items in order. Ratings beyond ``MAX_LAYERS``
    of an item are in ``rest_items`` and ``rest_cells``. Memory grows with the ratings, not with items x raters.
    """

    layers: list[IntArray]
    rest_items: IntArray
    rest_cells: IntArray
    per_item: IntArray  # (items,) how many ratings
    used: NDArray[np.bool_]  # (cells,) whether a rating has this cell
    raters: int
    labels: int

    def sum_by_item(self, cell_rows: FloatArray) -> FloatArray:
        """Sum (labels, cells) over the ratings of each item: (labels, items)."""
        n = len(self.per_item)
        sums = np.zeros((len(cell_rows), n))
        for label, row in enumerate(cell_rows):
            for layer in self.layers:
                # "clip" is the fastest mode of take; no index is out of range.
                sums[label, : layer.size] += row.take(layer, mode="clip")
            if self.rest_items.size:
                sums[label] += np.bincount(self.rest_items, row[self.rest_cells], n)
        return sums

    def sum_by_cell(self, item_rows: FloatArray) -> FloatArray:
        """Sum (labels, items) over the ratings in each cell: (labels, cells)."""
        n = self.used.size
        sums = np.zeros((len(item_rows), n))
        for label, row in enumerate(item_rows):
            for layer in self.layers:
                sums[label] += np.bincount(layer, row[: layer.size], n)
            if self.rest_items.size:
                sums[label] += np.bincount(self.rest_cells, row[self.rest_items], n)
        return sums


def fit(
    table: RatingTable, *, iterations: int = 100, tolerance: float = 1e-5, smoothing: float = 0.0
) -> DawidSkene:
    """Fit the model to all ratings of ``table``.

    Args:
        iterations: the maximum number, at least 1. tolerance: the fit stops if the bound per rating grows by less, in
            nats; ``-inf`` runs all iterations. smoothing: ratings added to each (true, given) pair of each
            rater, whether or not they ever gave that label; 0 gives the plain maximum likelihood.

    Raises:
        ValueError: fewer than one iteration, or smoothing below 0.
    """
    if iterations < 1 or smoothing < 0:
        raise ValueError(
            f"iterations {iterations}, smoothing {smoothing}: use at least 1 iteration and a smoothing of at least 0"
        )
    if not table.size:
        return _empty_fit(table)
    seen, rated, ratings = _renumber_ratings(table)
    q = ratings.sum_by_item(_one_hot_cell_labels(ratings)) / ratings.per_item  # (labels, items)
    priors, counts = q.mean(axis=1), ratings.sum_by_cell(q)
    errors = _maximisation_step(counts, ratings, smoothing)
    bound, completed = -np.inf, 0
    while completed < iterations:
        completed += 1
        q, entropy, _ = _expectation_step(ratings, errors, priors)
        priors, counts = q.mean(axis=1), ratings.sum_by_cell(q)
        errors = _maximisation_step(counts, ratings, smoothing)
        label_term = float(np.einsum("kc,kc->", counts, _floored_logs(errors)))
        prior_term = float(_floored_logs(priors, FLOOR) @ (q @ ratings.per_item))
        new_bound = (label_term + prior_term + entropy) / table.size
        if new_bound - bound < tolerance:
            break
        bound = new_bound
    likelihood = _expectation_step(ratings, errors, priors)[2]
    return _map_fit_to_table(table, (q, errors, priors), (seen, rated), completed, likelihood)


def _renumber_ratings(table: RatingTable) -> tuple[IntArray, IntArray, _Ratings]:
    """Return the labels and items that occur, and the ratings renumbered to them."""
    seen, labels = np.unique(table.labels, return_inverse=True)
    rated, items, per_item = np.unique(table.items, return_inverse=True, return_counts=True)
    by_count = np.argsort(-per_item, kind="stable")
    rank = np.empty_like(by_count)
    rank[by_count] = np.arange(by_count.size)
    rated, items, per_item = rated[by_count], rank[items], per_item[by_count]
    order = np.argsort(items, kind="stable")
    items, cells = items[order], (table.raters * len(seen) + labels)[order]
    starts = np.cumsum(per_item) - per_item
    layers = [
        cells[starts[: np.count_nonzero(per_item > layer)] + layer]
        for layer in range(min(MAX_LAYERS, int(per_item[0])))
    ]
    rest = np.arange(cells.size) - starts[items] >= MAX_LAYERS
    used = np.bincount(cells, minlength=len(table.rater_ids) * len(seen)) > 0
    ratings = _Ratings(layers, items[rest], cells[rest], per_item, used, len(table.rater_ids), len(seen))
    return seen, rated, ratings


def _one_hot_cell_labels(ratings: _Ratings) -> FloatArray:
    return np.tile(np.eye(ratings.labels), ratings.raters)


def _maximisation_step(counts: FloatArray, ratings: _Ratings, smoothing: float) -> FloatArray:
    """Turn expected counts (true, cells) into probabilities that sum to 1 for each rater and true label.

    Without smoothing, a label that a rater never gave has probability 0; the floor only changes true labels without
    counts.
    """
    floored = np.maximum(counts + smoothing, FLOOR)
    if not smoothing:
        floored *= ratings.used
    by_rater = floored.reshape(ratings.labels, ratings.raters, ratings.labels)
    sums = by_rater.sum(axis=2, keepdims=True)
    return np.divide(by_rater, sums, out=np.zeros_like(by_rater), where=sums > 0).reshape(counts.shape)


def _floored_logs(probabilities: FloatArray, floor: float = 1e-300) -> FloatArray:
    return np.log(np.maximum(probabilities, floor))


def _expectation_step(
    ratings: _Ratings, errors: FloatArray, priors: FloatArray
) -> tuple[FloatArray, float, float]:
    """Return the posteriors (labels, items), their entropy in nats, and the log-likelihood of all labels."""
    logs = ratings.sum_by_item(_floored_logs(errors))
    logs += _floored_logs(priors, FLOOR)[:, None]
    max_log = logs.max(axis=0)
    logs -= max_log  # the greatest term becomes 1, so that products of many small numbers do not vanish
    q = np.exp(logs)
    total = q.sum(axis=0)
    q /= total
    logs -= np.log(total)
    return q, -float(np.einsum("ki,ki->", q, logs)), float(max_log.sum() + np.log(total).sum())


def _empty_fit(table: RatingTable) -> DawidSkene:
    n, m, labels = len(table.item_ids), len(table.rater_ids), len(table.scale)
    even = 1 / max(1, labels)
    return DawidSkene(
        np.full((n, labels), even), np.full((m, labels, labels), even), np.full(labels, even), 0, 0.0
    )


def _map_fit_to_table(
    table: RatingTable,
    fitted: tuple[FloatArray, FloatArray, FloatArray],
    occurring: tuple[IntArray, IntArray],
    iterations: int,
    likelihood: float,
) -> DawidSkene:
    """Map the fit of the occurring labels and items back to the table's numbering."""
    (q, errors, priors), (seen, rated) = fitted, occurring
    empty = _empty_fit(table)
    full_priors = np.zeros(len(table.scale))
    full_priors[seen] = priors
    posteriors = np.tile(full_priors, (len(table.item_ids), 1))
    posteriors[np.ix_(rated, seen)] = q.T
    active_raters = np.unique(table.raters)
    rows = errors.reshape(len(seen), -1, len(seen)).transpose(1, 0, 2)  # (raters, true, given)
    full = empty.errors
    full[np.ix_(active_raters, seen)] = 0.0
    full[np.ix_(active_raters, seen, seen)] = rows[active_raters]
    return DawidSkene(posteriors, full, full_priors, iterations, likelihood)


def rater_reliabilities(fit: DawidSkene, table: RatingTable) -> FloatArray:
    """Return each rater's agreement with the fitted truth, corrected for chance: (raters,), from -1 to 1.

    1: always right. 0: no better than giving the same labels equally often without looking: raters who answer at
    random or always give one label are near 0, even if that label is common. Below 0: wrong more often than chance.
    nan: no other rater rated the rater's items (their label would be compared with itself), or the expected
    agreement by chance is 1.

    It is Cohen's kappa of the rater and the true label, whose probabilities are the posteriors: ``(a - c) / (1 - c)``
    with ``a`` the expected share of right labels and ``c`` that share if the rater's labels were permuted at random.
    The expected share ``a`` itself would rank a rater who always answers "good" above careful raters if nine of ten
    pairs are good (docs/decisions.md has figures). The rater's confusion table is first mixed with ``PRIOR_RATINGS``
    ratings in the crowd's proportions, so few ratings have little effect: a new rater starts near the crowd.

    Raises:
        ValueError: a fit of another table.
    """
    m, labels = len(table.rater_ids), len(table.scale)
    if fit.errors.shape != (m, labels, labels) or len(fit.posteriors) != len(table.item_ids):
        raise ValueError("the fit is of a table with other items, raters or labels")
    shared = np.bincount(table.items)[table.items] > 1 if table.size else np.zeros(0, dtype=np.bool_)
    items, cells = table.items[shared], (table.raters * labels + table.labels)[shared]
    if not items.size:
        return np.full(m, np.nan)
    by_truth = [np.bincount(cells, column[items], m * labels) for column in fit.posteriors.T]
    counts = np.array(by_truth).reshape(labels, m, labels).transpose(1, 0, 2)  # (raters, true, given)
    own_counts = counts.sum(axis=(1, 2))
    shares = counts + PRIOR_RATINGS * counts.sum(axis=0) / items.size
    shares /= (own_counts + PRIOR_RATINGS)[:, None, None]
    agreement = np.trace(shares, axis1=1, axis2=2)
    chance = (shares.sum(axis=1) * shares.sum(axis=2)).sum(axis=1)
    is_defined = (own_counts > 0) & (1 - chance > FLOOR)
    return np.divide(agreement - chance, 1 - chance, out=np.full(m, np.nan), where=is_defined)
