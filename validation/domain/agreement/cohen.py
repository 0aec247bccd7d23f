"""Agreement of two raters: Cohen's kappa (unweighted with an interval, or weighted), and the confusion matrix.

Cohen, J. (1960). A coefficient of agreement for nominal scales. doi:10.1177/001316446002000104; weighted: Cohen, J.
(1968). doi:10.1037/h0026256. The standard error is the large-sample one of Fleiss, J. L., Cohen, J. and Everitt,
B. S. (1969). Large sample standard errors of kappa and weighted kappa. Psychological Bulletin 72(5), equation 13.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt

import numpy as np

from validation.domain.judging.ratings import IntArray, RatingError, RatingTable

Z_95 = 1.959964


class Weights(StrEnum):
    """How much a disagreement counts: always 1, the steps between the two labels on the scale, or their square."""

    NONE = "none"
    LINEAR = "linear"
    QUADRATIC = "quadratic"


@dataclass(frozen=True, slots=True)
class GraderAgreement:
    """The agreement of two graders: ``same`` of ``total`` items have equal labels.

    ``kappa`` is ``None`` if the expected agreement is 1: both used the same single label. ``low`` and ``high`` bound
    its 95 % interval, clipped to −1 and 1.
    """

    total: int
    same: int
    kappa: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def percent(self) -> float | None:
        """The share of equal labels, 0 to 100; ``None`` without items."""
        return 100 * self.same / self.total if self.total else None


def grader_agreement(label_pairs: Sequence[tuple[Hashable, Hashable]]) -> GraderAgreement:
    """Return the agreement of two graders; each pair is (first label, second label) of one item."""
    total = len(label_pairs)
    same = sum(first == second for first, second in label_pairs)
    if not total:
        return GraderAgreement(0, 0)
    first_counts, second_counts = Counter(a for a, _ in label_pairs), Counter(b for _, b in label_pairs)
    labels = first_counts.keys() | second_counts.keys()
    observed = same / total
    expected = sum(first_counts[label] * second_counts[label] for label in labels) / total**2
    if expected == 1:
        return GraderAgreement(total, same)
    kappa = (observed - expected) / (1 - expected)
    standard_error = _standard_error(label_pairs, first_counts, second_counts, kappa, expected)
    low, high = kappa - Z_95 * standard_error, kappa + Z_95 * standard_error
    return GraderAgreement(total, same, kappa, max(-1.0, low), min(1.0, high))


def confusion_matrix(table: RatingTable, first: Hashable, second: Hashable) -> IntArray:
    """Count the items by the labels of two raters (their ids): (labels, labels), the first rater's labels in rows.

    Raises:
        RatingError: an unknown rater.
    """
    labels = np.full((2, len(table.item_ids)), -1, dtype=np.int64)
    for row, rater in enumerate((first, second)):
        if rater not in table.rater_ids:
            raise RatingError(f"rater {rater} is not in this table; use one of its rater_ids")
        is_own = table.raters == table.rater_ids.index(rater)
        labels[row, table.items[is_own]] = table.labels[is_own]
    both = labels[:, (labels >= 0).all(axis=0)]
    scale = len(table.scale)
    return np.bincount(both[0] * scale + both[1], minlength=scale**2).reshape(scale, scale)


def cohen_kappa(
    table: RatingTable, first: Hashable, second: Hashable, *, weights: Weights = Weights.NONE
) -> float | None:
    """Return Cohen's kappa of two raters (their ids) over the items that both rated (1960; weighted 1968).

    ``LINEAR`` and ``QUADRATIC`` weigh a disagreement by the steps between the labels on the scale. ``None`` if they
    share no item, or if the expected disagreement is 0: both used the same single label.

    Raises:
        RatingError: an unknown rater.
    """
    counts = confusion_matrix(table, first, second).astype(np.float64)
    total = counts.sum()
    steps = np.abs(np.subtract.outer(np.arange(len(counts)), np.arange(len(counts)))).astype(np.float64)
    cost = {Weights.NONE: np.sign(steps), Weights.LINEAR: steps, Weights.QUADRATIC: steps**2}[weights]
    expected = (cost * np.outer(counts.sum(axis=1), counts.sum(axis=0))).sum()
    if not expected > 0:
        return None
    return float(1 - total * (cost * counts).sum() / expected)


def _standard_error(
    label_pairs: Sequence[tuple[Hashable, Hashable]],
    first_counts: Counter[Hashable],
    second_counts: Counter[Hashable],
    kappa: float,
    expected: float,
) -> float:
    total = len(label_pairs)
    disagreement = 1 - kappa
    agreeing = differing = 0.0
    for (first, second), count in Counter(label_pairs).items():
        if first == second:
            agreeing += (
                count
                / total
                * (1 - (first_counts[first] + second_counts[second]) / total * disagreement) ** 2
            )
        else:
            differing += count / total * (second_counts[first] + first_counts[second]) ** 2 / total**2
    variance = agreeing + disagreement**2 * differing - (kappa - expected * disagreement) ** 2
    return sqrt(max(0.0, variance) / total) / (1 - expected)
