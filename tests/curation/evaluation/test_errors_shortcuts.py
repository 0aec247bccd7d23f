"""Shortcut baselines that see texts alone."""

import numpy as np
import pytest

from curation.evaluation.shortcuts import grouped_folds, repeat_scores_for_images, typicality
from curation.records import InvalidInput


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_typicality_is_the_mean_cosine_with_the_training_texts() -> None:
    rng = np.random.default_rng(0)
    candidates, training = unit(rng.normal(size=(6, 8))), unit(rng.normal(size=(20, 8)))
    assert typicality(candidates, training) == pytest.approx(
        (candidates @ training.T).mean(axis=1), abs=1e-12
    )
    assert typicality(candidates, training[:0]).tolist() == [0.0] * 6


def test_prior_gives_every_image_the_same_score() -> None:
    made = repeat_scores_for_images(np.array([0.1, 0.4]), image_count=3)
    assert made.shape == (3, 2)
    assert (made == made[0]).all()


def test_no_image_is_in_two_folds() -> None:
    groups = [f"g{at // 10}" for at in range(130)]
    fold = grouped_folds(groups, rng=np.random.default_rng(0), folds=5)
    for name in set(groups):
        assert len({int(f) for f, group in zip(fold, groups, strict=True) if group == name}) == 1
    sizes = np.bincount(fold)
    assert len(sizes) == 5
    assert sizes.max() - sizes.min() <= 10
    assert np.array_equal(fold, grouped_folds(groups, rng=np.random.default_rng(0), folds=5))


def test_fewer_images_than_folds_are_refused() -> None:
    with pytest.raises(InvalidInput, match="images: 3 are too few for 5 folds"):
        grouped_folds(["a", "b", "c", "a"], rng=np.random.default_rng(0), folds=5)
