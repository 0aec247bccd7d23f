"""Measure how well features predict a model's errors, by cross-validated logistic regressions."""

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.errors import CrossValidatedAuc, cross_validated_auc, stratified_folds

REGULARISATION = 0.316  # sklearn's C, as in the published example of a linear probe on CLIP features
MAX_STEPS, MAX_MARGIN, TOLERANCE = 100, 500.0, 1e-9
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
        weights = fit_logistic(features[~is_held_out], labels[~is_held_out])
        scores[is_held_out] = features[is_held_out] @ weights[:-1] + weights[-1]
    return scores


def fit_logistic(features: Vectors, labels: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return a ridge logistic regression's weights, the unpenalised intercept last: (d + 1,).

    scikit-learn's ``LogisticRegression(C=…)`` has the same optimum. Newton's method (Hastie et al. 2009, §4.4.1)
    converges in a few steps, which matters for thousands of small models.
    """
    rows = np.column_stack([features, np.ones(len(labels))]).astype(np.float64)
    signs = np.where(labels, 1.0, -1.0)
    penalty = np.append(np.ones(features.shape[1]), 0.0)

    def loss(weights: NDArray[np.float64]) -> float:
        margins = signs * (rows @ weights)
        return float(REGULARISATION * np.logaddexp(0.0, -margins).sum() + 0.5 * penalty @ weights**2)

    weights = np.zeros(rows.shape[1])
    for _ in range(MAX_STEPS):
        probabilities = 1 / (1 + np.exp(-np.clip(rows @ weights, -MAX_MARGIN, MAX_MARGIN)))
        gradient = REGULARISATION * rows.T @ (probabilities - labels) + penalty * weights
        curvature = REGULARISATION * probabilities * (1 - probabilities)
        hessian = (rows * curvature[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        current_loss = loss(weights)
        while loss(weights - step) > current_loss + TOLERANCE and np.abs(step).max() > TOLERANCE:
            step = step / 2
        weights = weights - step
        if np.abs(step).max() < TOLERANCE:
            break
    return weights
