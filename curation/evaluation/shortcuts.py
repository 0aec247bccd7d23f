"""Baselines without the image: they show how far texts alone predict the answers.

A test set is only as hard as its easiest shortcut. Two shortcuts are measured: the text of the true clue alone, and
the text of the candidate inference alone.
Source: Hessel et al. 2022 §5.2 (text-only models are insufficient); Zellers et al. 2019 §4 (answer priors),
doi:10.1109/CVPR.2019.00688.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput


class Shortcut(StrEnum):
    """The input that is used instead of the image.

    ``RANDOM`` uses no input. ``TEXT_ONLY`` uses the true clue: an inference's score is its cosine with the clue's
    vector; ``TEXT_TRAINED`` first maps the clue's vector to inferences, as learned from other pairs. ``ANSWER_PRIOR``
    uses only the candidate inference.
    """

    RANDOM = "random"
    TEXT_ONLY = "text_only"
    TEXT_TRAINED = "text_trained"
    ANSWER_PRIOR = "answer_prior"


LABELS: Mapping[Shortcut, str] = {
    Shortcut.RANDOM: "Random",
    Shortcut.TEXT_ONLY: "Text only: the true clue, no image",
    Shortcut.TEXT_TRAINED: "Text only, trained on other pairs",
    Shortcut.ANSWER_PRIOR: "Answer prior: no image, no clue",
}


MIN_TRAINING_PAIRS = 50  # minimum pairs of other splits for a trained shortcut


def typicality(candidates: NDArray[np.floating], training: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the mean cosine of each candidate with the training texts: (n,) of unit rows (n, d) and (m, d).

    The mean of m cosines is the product with the mean vector. Without training texts all candidates have 0.
    """
    if not len(training):
        return np.zeros(len(candidates))
    return np.asarray(candidates, dtype=np.float64) @ np.asarray(training, dtype=np.float64).mean(axis=0)


def repeat_scores_for_images(scores: NDArray[np.floating], image_count: int) -> NDArray[np.float64]:
    """Return (image_count, n): each text's score, equal for all images."""
    return np.broadcast_to(np.asarray(scores, dtype=np.float64), (image_count, len(scores)))


def grouped_folds(groups: Sequence[str], *, rng: np.random.Generator, folds: int) -> NDArray[np.int64]:
    """Return the fold of each of n rows, (n,); no group is in two folds, and folds have nearly equal group counts.

    Raises:
        InvalidInput: fewer groups than folds.
    """
    names = sorted(set(groups))
    if len(names) < folds:
        raise InvalidInput(f"images: {len(names)} are too few for {folds} folds; rate sets of more images")
    order = rng.permutation(len(names))
    fold_of = {names[name_index]: position % folds for position, name_index in enumerate(order.tolist())}
    return np.array([fold_of[group] for group in groups], dtype=np.int64)
