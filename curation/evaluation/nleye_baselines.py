"""Answers without a model: random, always the first image, and nearness to the premise (Ventura et al. 2025 §4.3)."""

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.nleye_key import PRESENTATIONS, ChoiceCode, PairScores, TripletPredictions
from curation.evaluation.nleye_pairs import SCALE_POINTS


def random_predictions(n: int, rng: np.random.Generator) -> TripletPredictions:
    """Return a random position for each presentation; 25 % of the triplets are right."""
    codes = rng.integers(ChoiceCode.FIRST, ChoiceCode.SECOND, size=(n, len(PRESENTATIONS)), endpoint=True)
    return TripletPredictions(codes.astype(np.int8))


def random_scores(n: int, rng: np.random.Generator, points: int = SCALE_POINTS) -> PairScores:
    """Return a random score from 1 to ``points`` for each hypothesis; 45 % of the triplets are right with ten."""
    return PairScores(rng.integers(1, points, size=(n, 2), endpoint=True).astype(np.float64))


def first_predictions(n: int) -> TripletPredictions:
    """Return the first image for each presentation; no triplet is right in both."""
    return TripletPredictions(np.full((n, len(PRESENTATIONS)), ChoiceCode.FIRST, dtype=np.int8))


def nearer_hypotheses(likeness: NDArray[np.floating], *, farther: bool = False) -> NDArray[np.int64]:
    """Return the hypothesis that is more like the premise, or less: (n,) 1 or 2, 0 if both are equal.

    Args:
        likeness: (n, 2) of h1 and of h2 with the premise, such as the cosine of image or sentence features, or the
            probability of entailment.
    """
    difference = likeness[:, 0] - likeness[:, 1]
    signs = -difference if farther else difference
    return np.select([signs > 0, signs < 0], [1, 2], 0).astype(np.int64)
