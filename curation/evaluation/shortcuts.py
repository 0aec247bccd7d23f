"""How far one gets without the image: priors over texts that no model of abduction should need.

A test set is only as hard as its cheapest shortcut. Two are measured: the true clue's text alone, and the
candidate's text alone, which knows neither image nor clue.
Source: paper 000 §5.2 (text-only models are insufficient); paper 002 §4 (answer priors), doi:10.1109/CVPR.2019.00688.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput


class Shortcut(StrEnum):
    """What is looked at instead of the image.

    ``RANDOM`` looks at nothing. ``TEXT_ONLY`` reads the true clue: an inference is as likely as its vector is near
    the clue's; ``TEXT_TRAINED`` first takes the clue's vector to where other pairs' inferences lie. ``ANSWER_PRIOR``
    reads the candidate inference alone.
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


MIN_TRAINING_PAIRS = 50  # pairs of other splits, below which a trained shortcut says nothing


def typicality(candidates: NDArray[np.floating], training: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the mean cosine of each candidate with the training texts: (n,) of unit rows (n, d) and (m, d).

    The mean of m cosines is one product with the mean vector. Without training texts every candidate has 0.
    """
    if not len(training):
        return np.zeros(len(candidates))
    return np.asarray(candidates, dtype=np.float64) @ np.asarray(training, dtype=np.float64).mean(axis=0)


def constant_columns(scores: NDArray[np.floating], rows: int) -> NDArray[np.float64]:
    """Return (rows, n): a score of each text that is the same for every image."""
    return np.broadcast_to(np.asarray(scores, dtype=np.float64), (rows, len(scores)))


def grouped_folds(groups: Sequence[str], *, rng: np.random.Generator, folds: int) -> NDArray[np.int64]:
    """Return the fold of each of n rows, (n,), such that no group is in two folds and folds have equal groups.

    Raises:
        InvalidInput: fewer groups than folds.
    """
    names = sorted(set(groups))
    if len(names) < folds:
        raise InvalidInput(f"images: {len(names)} are too few for {folds} folds; rate sets of more images")
    order = rng.permutation(len(names))
    fold_of = {names[name_index]: position % folds for position, name_index in enumerate(order.tolist())}
    return np.array([fold_of[group] for group in groups], dtype=np.int64)
