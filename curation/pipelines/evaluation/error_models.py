"""Measure how well features predict a model's errors, by cross-validated logistic regressions."""

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.errors import CrossValidatedAuc, cross_validated_auc, stratified_folds
from curation.logistic import fit_logistic

REGULARISATION = 0.316  # sklearn's C, as in the published example of a linear probe on CLIP features
Vectors = NDArray[np.floating]


def rotate_features(features: Vectors) -> Vectors:
    """Return (n, min(n, d)) features with the same inner products, for faster fits of the same models.

    A ridge penalty is rotation-invariant, so a logistic regression on rotated features gives the same predictions.
    """
    if features.shape[1] <= features.shape[0]:
        return features
    left, singular_values, _ = np.linalg.svd(features.astype(np.float64), full_matrices=False)
    rotated: Vectors = left * singular_values
    return rotated


def prediction_auc(features: Vectors, labels: NDArray[np.bool_], seed: int) -> CrossValidatedAuc:
    """Return the AUC of a logistic regression on (n, d) features for n labels, over stratified folds."""
    fold_of_row = stratified_folds(labels, rng=np.random.default_rng(seed))
    return cross_validated_auc(labels, _held_out_scores(features, labels, fold_of_row), fold_of_row)


def _held_out_scores(features: Vectors, labels: NDArray[np.bool_], fold_of_row: NDArray[np.int64]) -> Vectors:
    """Return (n,) scores, each from the model that was fitted without its fold."""
    scores = np.empty(len(labels))
    for number in np.unique(fold_of_row):
        is_held_out = fold_of_row == number
        weights = fit_logistic(features[~is_held_out], labels[~is_held_out], ridge=1 / REGULARISATION)
        scores[is_held_out] = features[is_held_out] @ weights[:-1] + weights[-1]
    return scores
