"""Made-up labelled images: films, counts of people and other objects, and labels that depend on them, or do not."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.logistic import sigmoid

PEOPLE_WEIGHT, OTHERS_WEIGHT, INTERCEPT = 1.6, 1.1, -3.6


@dataclass(frozen=True)
class LabelledImages:
    """Counts (n, 2), labels (n,), the film of each image, and the chance of each label (n,)."""

    counts: NDArray[np.int64]
    interesting: NDArray[np.bool_]
    films: list[str]
    chances: NDArray[np.float64]


def planted(seed: int, images: int = 2000, films: int = 40, *, strength: float = 1.0) -> LabelledImages:
    """Return images whose label depends on their counts; about two in five are interesting.

    ``strength`` multiplies the logits: counts tell more about the labels if it is high.
    """
    rng = np.random.default_rng(seed)
    counts = np.column_stack([rng.poisson(2.2, images), rng.poisson(3.0, images)])
    logits = INTERCEPT + np.log1p(counts) @ [PEOPLE_WEIGHT, OTHERS_WEIGHT]
    return _labelled(rng, counts, sigmoid(strength * logits), films)


def noise(seed: int, images: int = 2000, films: int = 40) -> LabelledImages:
    """Return images whose labels have nothing to do with their counts; half of them are interesting."""
    rng = np.random.default_rng(seed)
    counts = np.column_stack([rng.poisson(2.2, images), rng.poisson(3.0, images)])
    return _labelled(rng, counts, np.full(images, 0.5), films)


def _labelled(
    rng: np.random.Generator, counts: NDArray[np.int64], chances: NDArray[np.float64], films: int
) -> LabelledImages:
    named = [f"film-{number:02d}" for number in rng.integers(0, films, len(counts))]
    return LabelledImages(counts, rng.random(len(counts)) < chances, named, chances)
