"""The score from which images are kept: the smallest one with the wanted precision on films that were not seen.

Source: Zellers et al. 2019 §B.2 (70 % precision). The precision is measured on out-of-fold scores: a film's images
get their scores from a model that saw no image of that film. A threshold that keeps only a few labelled images may
have any precision by chance, so at least ``min_kept`` of them must be kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.even_parts import spread_evenly
from curation.records import InvalidInput
from validation.domain.reports.planner import Interval, wilson_interval

MIN_PRECISION, MIN_KEPT, MIN_LABELS, FOLDS = 0.7, 50, 50, 5
MAX_CURVE_POINTS = 200

FitAndScore = Callable[[NDArray[np.intp], NDArray[np.intp]], NDArray[np.floating]]
"""Fits a model on the rows of its first argument and returns the scores of the rows of its second."""


class NoThreshold(InvalidInput):
    """No threshold has the wanted precision; ``best`` has the highest one."""

    def __init__(self, message: str, best: "Threshold") -> None:
        super().__init__(message)
        self.best = best


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold with its figures on labelled images: ``interesting`` of ``kept`` images are interesting.

    labelled: all labelled images. all_interesting: the interesting ones among them, at least one.
    """

    score: float
    kept: int
    interesting: int
    labelled: int
    all_interesting: int

    @property
    def precision(self) -> float:
        """The share of kept images that are interesting."""
        return self.interesting / self.kept

    @property
    def recall(self) -> float:
        """The share of interesting images that are kept."""
        return self.interesting / self.all_interesting

    @property
    def share_kept(self) -> float:
        """The share of labelled images that are kept."""
        return self.kept / self.labelled

    @property
    def interval(self) -> Interval:
        """The precision's 95 % interval (Wilson 1927)."""
        return wilson_interval(self.kept, self.precision)

    def as_json(self) -> dict[str, Any]:
        """Return score, counts, shares and the precision's interval."""
        return {
            "score": self.score,
            "kept": self.kept,
            "interesting": self.interesting,
            "labelled": self.labelled,
            "all_interesting": self.all_interesting,
            "precision": self.precision,
            "interval": [self.interval.low, self.interval.high],
            "recall": self.recall,
            "share_kept": self.share_kept,
        }


def film_folds(films: Sequence[str], folds: int = FOLDS, *, seed: int = 0) -> NDArray[np.intp]:
    """Return a fold for each image, (n,), so that no film is in two folds.

    The largest film comes first, each into the smallest fold. Films of equal size are in an order drawn by ``seed``.

    Raises:
        InvalidInput: fewer than two folds, or fewer films than folds.
    """
    if folds < 2:  # noqa: PLR2004
        raise InvalidInput(f"folds: {folds} is below 2; use for instance {FOLDS}")
    count = len(set(films))
    if count < folds:
        raise InvalidInput(
            f"films: labels are about {count}, and {folds} folds need {folds}; label images of more films, "
            "or use fewer folds"
        )
    fold_of = spread_evenly(films, folds, seed=seed)
    return np.array([fold_of[film] for film in films], dtype=np.intp)


def out_of_fold_scores(folds: NDArray[np.intp], fit_and_score: FitAndScore) -> NDArray[np.float64]:
    """Return a score for each labelled image, (n,), by a model that was fitted on the other folds."""
    scores = np.empty(len(folds))
    for fold in np.unique(folds):
        held_out = folds == fold
        scores[held_out] = fit_and_score(np.flatnonzero(~held_out), np.flatnonzero(held_out))
    return scores


def check_labels(interesting: NDArray[np.bool_], min_labels: int = MIN_LABELS) -> None:
    """Check that enough images of either class are labelled.

    Raises:
        InvalidInput: a class has fewer than ``min_labels`` images; the message has both numbers.
    """
    positive = int(interesting.sum())
    negative = len(interesting) - positive
    if min(positive, negative) < min_labels:
        raise InvalidInput(
            f"labels: {positive} images are interesting and {negative} are not; label at least {min_labels} of each"
        )


def thresholds(scores: NDArray[np.floating], interesting: NDArray[np.bool_]) -> list[Threshold]:
    """Return every threshold with its figures, from the highest score down; equal scores are kept together."""
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum(interesting[order])
    ends = np.flatnonzero(np.diff(scores[order], append=-np.inf))
    total = int(interesting.sum())
    return [
        Threshold(float(scores[order[end]]), int(end) + 1, int(found[end]), len(scores), total)
        for end in ends
    ]


def choose_threshold(
    curve: Sequence[Threshold], *, min_precision: float = MIN_PRECISION, min_kept: int = MIN_KEPT
) -> Threshold:
    """Return the threshold with the smallest score that has the precision and keeps enough labelled images.

    Args:
        curve: all thresholds (``thresholds``).

    Raises:
        InvalidInput: the precision is not within 0 to 1, or no threshold keeps ``min_kept`` images.
        NoThreshold: no threshold has the precision; the message names the best one.
    """
    if not 0 < min_precision <= 1:
        raise InvalidInput(f"min precision: {min_precision:g} is not within 0 to 1; use for instance 0.7")
    candidates = [threshold for threshold in curve if threshold.kept >= min_kept]
    if not candidates:
        raise InvalidInput(f"labels: no threshold keeps {min_kept} labelled images; label more images")
    precise = [threshold for threshold in candidates if threshold.precision >= min_precision]
    if precise:
        return min(precise, key=lambda threshold: threshold.score)
    best = max(candidates, key=lambda threshold: (threshold.precision, threshold.kept))
    interval = f"95% interval {best.interval.low:.3f} to {best.interval.high:.3f}"
    raise NoThreshold(
        f"threshold: no score keeps {min_kept} labelled images or more with a precision of {min_precision:.2f}; the "
        f"best, {best.score:.3f}, has {best.precision:.3f} ({interval}) and keeps {best.kept} of {best.labelled}; "
        "label more images, or lower the precision",
        best,
    )


def thin_curve(curve: Sequence[Threshold], limit: int = MAX_CURVE_POINTS) -> list[Threshold]:
    """Return at most about ``limit`` thresholds of a curve, evenly spaced, with the first and the last."""
    every = max(1, -(-len(curve) // limit))
    kept = list(curve[::every])
    return kept if not curve or kept[-1] == curve[-1] else [*kept, curve[-1]]
