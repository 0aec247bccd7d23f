"""Why a model errs on the comparison task: can its errors be foretold, and which are the worst of them?

Source: Hessel et al. 2022, section 5.3, doi:10.1007/978-3-031-20059-5_32: of the images on which people agree
(pairwise accuracy above 30) those where the model does better than its median are told from the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.comparison import ComparisonKey, RatedInstance, agreements_of
from curation.evaluation.inputs import Scores, in_order
from curation.records import InvalidInput

AGREEMENT = 30.0
"""Least human agreement of an image, percent with chance at 0 (paper 001 §5.3)."""
FOLDS = 5
PERMUTATIONS = 200
PAPER_AUCS = {"image": 55.0, "text": 54.0, "agreement": 57.0}
"""Percent: CLIP ViT-B/16 features of the image, mean SentenceBERT of the inferences, human agreement alone."""
CHANCE_AUC = 50.0
LOWEST_RATING, HIGHEST_RATING = 1.0, 3.0
BAD_AT_MOST, GOOD_AT_LEAST = 1.5, 2.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """How well a model and people order one instance's candidates, percent with chance at 0.

    human: one annotator's order for the other, the mean of both ways.
    """

    instance: str
    model: float
    human: float


@dataclass(frozen=True, slots=True)
class Groups:
    """The images that are kept, and on which of them the model does better than its median.

    kept: their outcomes, in order. above: (n,) bool. median: the model's, percent. asked: images before that.
    """

    kept: tuple[Outcome, ...]
    above: NDArray[np.bool_]
    median: float
    asked: int


@dataclass(frozen=True, slots=True)
class Area:
    """Area under the ROC curve, percent: the mean over folds, and each fold's own."""

    value: float
    folds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chance:
    """What an area reaches where the groups mean nothing: labels are permuted, and all models fitted anew.

    p: share of the permutations, the observed labels among them, that reach the area. low, high: 95 % of the
    permuted areas lie between, percent.
    """

    p: float
    low: float
    high: float
    permutations: int


@dataclass(frozen=True, slots=True)
class Mistake:
    """A candidate that the model and people see differently.

    rank: the model's, 1 is the highest of ``of``; tied candidates have their mean. ratings: the two annotators'.
    gap: 0 to 1, how far the model's place lies from people's.
    """

    instance: str
    test_id: str
    score: float
    rank: float
    of: int
    ratings: tuple[float, float]
    gap: float


def outcomes(scores: Scores, key: ComparisonKey) -> list[Outcome]:
    """Return how each instance of a key was ordered, in the key's order; ties are broken as published.

    Raises:
        InvalidInput: missing, unknown or non-finite scores.
    """
    return [
        Outcome(instance.instance, model=float(model), human=float(human))
        for instance, (human, model, _, _) in zip(key.instances, agreements_of(scores, key), strict=True)
    ]


def split_at_median(found: Sequence[Outcome], *, least_agreement: float = AGREEMENT) -> Groups:
    """Keep the images on which people agree, and part them at the model's median.

    Images at the median are all in one group: the lower one, or the upper one where that makes the groups more even.

    Args:
        least_agreement: percent with chance at 0; an image needs more than that.

    Raises:
        InvalidInput: a group would have fewer images than there are folds.
    """
    kept = tuple(one for one in found if one.human > least_agreement)
    values = np.array([one.model for one in kept], dtype=np.float64)
    median = float(np.median(values)) if kept else 0.0
    above = min((values > median, values >= median), key=_unevenness)
    fewest = min(int(above.sum()), int((~above).sum()))
    if fewest < FOLDS:
        raise InvalidInput(
            f"images: {len(kept)} of {len(found)} have human agreement above {least_agreement:g}, which makes a "
            f"group of {fewest}; {FOLDS} folds need {FOLDS} in each, so rate more sets or lower the threshold"
        )
    return Groups(kept, above, median, len(found))


def _unevenness(above: NDArray[np.bool_]) -> int:
    """How many more images one group has than the other."""
    return abs(2 * int(above.sum()) - len(above))


def stratified_folds(
    labels: NDArray[np.bool_], *, rng: np.random.Generator, folds: int = FOLDS
) -> NDArray[np.int64]:
    """Return the fold of each of n images, (n,): each fold has nearly the same share of both groups."""
    fold = np.empty(len(labels), dtype=np.int64)
    start = 0
    for group in (True, False):
        places = rng.permutation(np.flatnonzero(labels == group))
        fold[places] = (start + np.arange(len(places))) % folds
        start += len(places)  # the next group goes on, so that folds differ by one image at most
    return fold


def area_under_curve(labels: NDArray[np.bool_], scores: NDArray[np.floating]) -> float:
    """Return the area under the ROC curve, 0 to 1, of n scores; equal scores count half.

    Raises:
        InvalidInput: a group is empty.
    """
    positive = int(labels.sum())
    negative = len(labels) - positive
    if not positive or not negative:
        raise InvalidInput("area under the curve: both groups need an image")
    from scipy.stats import rankdata  # noqa: PLC0415 - the web process never loads scipy

    ranks = rankdata(scores)
    return float((ranks[labels].sum() - positive * (positive + 1) / 2) / (positive * negative))


def cross_validated_area(
    labels: NDArray[np.bool_], scores: NDArray[np.floating], fold: NDArray[np.int64]
) -> Area:
    """Return the mean area of the folds, percent, each over the images that its model had not seen.

    Scores of different folds come from different models, so they are compared within a fold only. There is no
    interval: models of folds share most of their images, so what resamples images, and the corrected variance of
    Nadeau & Bengio 2003 (doi:10.1023/A:1024068626366) too, exclude 50 far too often where nothing can be foretold.
    ``area_by_chance`` says what an area means.

    Args:
        labels, scores, fold: (n,), the last one of 0 to k-1.
    """
    places = [np.flatnonzero(fold == one) for one in np.unique(fold)]
    areas = tuple(100 * area_under_curve(labels[at], scores[at]) for at in places)
    return Area(float(np.mean(areas)), areas)


def area_by_chance(
    labels: NDArray[np.bool_],
    area_of: Callable[[NDArray[np.bool_]], float],
    *,
    observed: float,
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> Chance:
    """Return what areas permuted labels reach when everything that depends on labels is made anew.

    Source of p with the observed labels counted: Phipson & Smyth 2010, doi:10.2202/1544-6115.1585.

    Args:
        labels: (n,). area_of: makes folds and models for labels and returns their area, percent.
        observed: the area of the labels as they are.
    """
    drawn = np.array([area_of(rng.permutation(labels)) for _ in range(permutations)])
    low, high = np.quantile(drawn, [0.025, 0.975])
    reached = int(np.count_nonzero(drawn >= observed))
    return Chance((1 + reached) / (1 + permutations), float(low), float(high), permutations)


def worst_mistakes(
    scores: Scores, key: ComparisonKey, *, most: int = 12
) -> tuple[list[Mistake], list[Mistake]]:
    """Return the worst false positives and false negatives, the worst first, one of an instance at most.

    A false positive is rated 1.5 or less on average and has a high place by the model; a false negative 2.5 or more
    and a low one. A constant model has neither, since all its places are equal.
    """
    values = dict(zip(key.test_ids, in_order(scores, key.test_ids).tolist(), strict=True))
    found = [_of_instance(values, instance) for instance in key.instances]
    return (
        _worst([one[0] for one in found if one[0] is not None], most),
        _worst([one[1] for one in found if one[1] is not None], most),
    )


def _worst(found: Sequence[Mistake], most: int) -> list[Mistake]:
    wrong = [one for one in found if one.gap > 0.5]  # noqa: PLR2004 - on the wrong side of the middle
    return sorted(wrong, key=lambda one: (-one.gap, one.instance))[:most]


def _of_instance(
    scores: Mapping[str, float], instance: RatedInstance
) -> tuple[Mistake | None, Mistake | None]:
    """Return the worst false positive and false negative of one instance."""
    values = np.array([scores[test_id] for test_id in instance.test_ids], dtype=np.float64)
    from scipy.stats import rankdata  # noqa: PLC0415 - the web process never loads scipy

    ranks = rankdata(-values)
    places = 1 - (ranks - 1) / max(1, len(values) - 1)  # 1 is the model's favourite, 0 its last
    means = (instance.first + instance.second) / 2
    liked = (means - LOWEST_RATING) / (HIGHEST_RATING - LOWEST_RATING)
    bad, good = means <= BAD_AT_MOST, means >= GOOD_AT_LEAST
    return (
        _pick(instance, values, ranks, np.where(bad, places - liked, -1.0)),
        _pick(instance, values, ranks, np.where(good, liked - places, -1.0)),
    )


def _pick(
    instance: RatedInstance,
    values: NDArray[np.float64],
    ranks: NDArray[np.float64],
    gaps: NDArray[np.float64],
) -> Mistake | None:
    if not len(gaps) or gaps.max() < 0:
        return None
    at = int(gaps.argmax())
    return Mistake(
        instance=instance.instance,
        test_id=instance.test_ids[at],
        score=float(values[at]),
        rank=float(ranks[at]),
        of=len(values),
        ratings=(float(instance.first[at]), float(instance.second[at])),
        gap=float(gaps[at]),
    )
