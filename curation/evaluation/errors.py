"""A model's errors on the comparison task: can they be predicted, and which are the worst?

Source: Hessel et al. 2022, section 5.3, doi:10.1007/978-3-031-20059-5_32: among images with human agreement (pairwise
accuracy above 30), predict whether the model scores above its median.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.comparison import ComparisonKey, RatedInstance, instance_agreements
from curation.evaluation.inputs import Scores, order_scores
from curation.records import InvalidInput

MIN_AGREEMENT = 30.0
"""Minimum human agreement of an image, percent with chance at 0 (Hessel et al. 2022 §5.3)."""
FOLDS = 5
PERMUTATIONS = 200
PAPER_AUCS = {"image": 55.0, "text": 54.0, "agreement": 57.0}
"""Percent: CLIP ViT-B/16 features of the image, mean SentenceBERT of the inferences, human agreement alone."""
CHANCE_AUC = 50.0
LOWEST_RATING, HIGHEST_RATING = 1.0, 3.0
MAX_BAD_RATING, MIN_GOOD_RATING = 1.5, 2.5


@dataclass(frozen=True, slots=True)
class InstanceOutcome:
    """How well a model and people rank one instance's candidates, percent with chance at 0.

    human: how well one annotator's ratings predict the other's order, the mean of both directions.
    """

    instance: str
    model: float
    human: float


@dataclass(frozen=True, slots=True)
class MedianGroups:
    """The images with human agreement, split at the model's median.

    selected: these images' outcomes, in order. above: (n,) bool, whether the model is above its median. median:
    percent. considered: number of images before the selection.
    """

    selected: tuple[InstanceOutcome, ...]
    above: NDArray[np.bool_]
    median: float
    considered: int


@dataclass(frozen=True, slots=True)
class CrossValidatedAuc:
    """Area under the ROC curve in percent: ``value`` is the mean over ``folds``."""

    value: float
    folds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """A permutation test of an area under the curve: labels are permuted, and all models are fitted again.

    p: share of the permutations, including the observed labels, that reach the area. low, high: 95 % of the permuted
    areas are in this range, percent.
    """

    p: float
    low: float
    high: float
    permutations: int


@dataclass(frozen=True, slots=True)
class Mistake:
    """A candidate that the model and people rank differently.

    rank: by the model, 1 is the highest of ``of`` candidates; ties share their mean rank. ratings: the annotators'.
    gap: 0 to 1, the distance between the candidate's position by the model and by people.
    """

    instance: str
    test_id: str
    score: float
    rank: float
    of: int
    ratings: tuple[float, float]
    gap: float


def measure_outcomes(scores: Scores, key: ComparisonKey) -> list[InstanceOutcome]:
    """Return the outcome of each instance, in the key's order; ties are broken as published.

    Raises:
        InvalidInput: missing, unknown or non-finite scores.
    """
    return [
        InstanceOutcome(instance.instance, model=float(model), human=float(human))
        for instance, (human, model, _, _) in zip(
            key.instances, instance_agreements(scores, key), strict=True
        )
    ]


def split_at_median(
    all_outcomes: Sequence[InstanceOutcome], *, min_agreement: float = MIN_AGREEMENT
) -> MedianGroups:
    """Select the images with human agreement, and split them at the model's median.

    Images at the median are all in one group: the lower one, or the upper one if that makes the groups more even.

    Args:
        min_agreement: percent with chance at 0; images need human agreement above it.

    Raises:
        InvalidInput: a group would have fewer images than there are folds.
    """
    selected = tuple(outcome for outcome in all_outcomes if outcome.human > min_agreement)
    values = np.array([outcome.model for outcome in selected], dtype=np.float64)
    median = float(np.median(values)) if selected else 0.0
    above = min((values > median, values >= median), key=_size_difference)
    smallest = min(int(above.sum()), int((~above).sum()))
    if smallest < FOLDS:
        raise InvalidInput(
            f"images: {len(selected)} of {len(all_outcomes)} have human agreement above {min_agreement:g}, which "
            f"leaves {smallest} in the smaller group; {FOLDS} folds need {FOLDS} in each group; "
            "rate more sets or lower the threshold"
        )
    return MedianGroups(selected, above, median, len(all_outcomes))


def _size_difference(above: NDArray[np.bool_]) -> int:
    """Return the difference of the groups' numbers of images."""
    return abs(2 * int(above.sum()) - len(above))


def stratified_folds(
    labels: NDArray[np.bool_], *, rng: np.random.Generator, folds: int = FOLDS
) -> NDArray[np.int64]:
    """Return the fold of each of n images, (n,): each fold has nearly the same share of both groups."""
    fold = np.empty(len(labels), dtype=np.int64)
    start = 0
    for group in (True, False):
        rows = rng.permutation(np.flatnonzero(labels == group))
        fold[rows] = (start + np.arange(len(rows))) % folds
        start += len(rows)  # continue at the next fold, so that folds differ by at most one image
    return fold


def roc_auc(labels: NDArray[np.bool_], scores: NDArray[np.floating]) -> float:
    """Return the area under the ROC curve, 0 to 1, of n scores; pairs with equal scores count half.

    Raises:
        InvalidInput: all labels are equal.
    """
    positive = int(labels.sum())
    negative = len(labels) - positive
    if not positive or not negative:
        raise InvalidInput("area under the curve: both groups need an image")
    from scipy.stats import rankdata  # noqa: PLC0415 - the web process never loads scipy

    ranks = rankdata(scores)
    return float((ranks[labels].sum() - positive * (positive + 1) / 2) / (positive * negative))


def cross_validated_auc(
    labels: NDArray[np.bool_], scores: NDArray[np.floating], fold_of_row: NDArray[np.int64]
) -> CrossValidatedAuc:
    """Return the mean of the folds' areas under the curve, percent, each over the fold's held-out images.

    Scores of different folds come from different models, so they are compared within a fold only. There is no
    interval: the folds' models share most of their images, so resampling images, and also the corrected variance of
    Nadeau & Bengio 2003 (doi:10.1023/A:1024068626366), exclude 50 far too often without any signal.
    ``permutation_test`` gives the significance of an area.

    Args:
        labels, scores, fold_of_row: (n,), folds from 0 to k-1.
    """
    rows_by_fold = [np.flatnonzero(fold_of_row == number) for number in np.unique(fold_of_row)]
    areas = tuple(100 * roc_auc(labels[rows], scores[rows]) for rows in rows_by_fold)
    return CrossValidatedAuc(float(np.mean(areas)), areas)


def permutation_test(
    labels: NDArray[np.bool_],
    measure_auc: Callable[[NDArray[np.bool_]], float],
    *,
    observed: float,
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> PermutationTest:
    """Test an area under the curve against permuted labels, with new folds and models for each permutation.

    p counts the observed labels as one permutation: Phipson & Smyth 2010, doi:10.2202/1544-6115.1585.

    Args:
        labels: (n,). measure_auc: makes folds and models for labels and returns their area, percent.
        observed: the area of the true labels.
    """
    permuted = np.array([measure_auc(rng.permutation(labels)) for _ in range(permutations)])
    low, high = np.quantile(permuted, [0.025, 0.975])
    reached = int(np.count_nonzero(permuted >= observed))
    return PermutationTest((1 + reached) / (1 + permutations), float(low), float(high), permutations)


def worst_mistakes(
    scores: Scores, key: ComparisonKey, *, limit: int = 12
) -> tuple[list[Mistake], list[Mistake]]:
    """Return the worst false positives and false negatives, the worst first, at most one per instance.

    A false positive has a mean rating of at most 1.5 and a high rank by the model; a false negative at least 2.5 and
    a low rank. A constant model has neither, since all its ranks are equal.
    """
    values = dict(zip(key.test_ids, order_scores(scores, key.test_ids).tolist(), strict=True))
    mistakes = [_mistakes_of_instance(values, instance) for instance in key.instances]
    return (
        _select_worst([pair[0] for pair in mistakes if pair[0] is not None], limit),
        _select_worst([pair[1] for pair in mistakes if pair[1] is not None], limit),
    )


def _select_worst(mistakes: Sequence[Mistake], limit: int) -> list[Mistake]:
    wrong = [mistake for mistake in mistakes if mistake.gap > 0.5]  # noqa: PLR2004 - in the wrong half of the ranking
    return sorted(wrong, key=lambda mistake: (-mistake.gap, mistake.instance))[:limit]


def _mistakes_of_instance(
    scores: Mapping[str, float], instance: RatedInstance
) -> tuple[Mistake | None, Mistake | None]:
    """Return the worst false positive and false negative of one instance."""
    values = np.array([scores[test_id] for test_id in instance.test_ids], dtype=np.float64)
    from scipy.stats import rankdata  # noqa: PLC0415 - the web process never loads scipy

    ranks = rankdata(-values)
    positions = 1 - (ranks - 1) / max(1, len(values) - 1)  # 1 is the model's first rank, 0 its last
    means = (instance.first + instance.second) / 2
    ratings = (means - LOWEST_RATING) / (HIGHEST_RATING - LOWEST_RATING)
    bad, good = means <= MAX_BAD_RATING, means >= MIN_GOOD_RATING
    return (
        _find_mistake(instance, values, ranks, np.where(bad, positions - ratings, -1.0)),
        _find_mistake(instance, values, ranks, np.where(good, ratings - positions, -1.0)),
    )


def _find_mistake(
    instance: RatedInstance,
    values: NDArray[np.float64],
    ranks: NDArray[np.float64],
    gaps: NDArray[np.float64],
) -> Mistake | None:
    if not len(gaps) or gaps.max() < 0:
        return None
    index = int(gaps.argmax())
    return Mistake(
        instance=instance.instance,
        test_id=instance.test_ids[index],
        score=float(values[index]),
        rank=float(ranks[index]),
        of=len(values),
        ratings=(float(instance.first[index]), float(instance.second[index])),
        gap=float(gaps[index]),
    )
