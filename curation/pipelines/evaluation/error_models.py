"""How well features of images foretell on which of them a model errs: logistic regressions over folds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.errors import Area, cross_validated_area, stratified_folds

REGULARISATION = 0.316  # sklearn's C, as in the published example of a linear probe on CLIP features
MOST_STEPS, MOST_MARGIN, CLOSE = 100, 500.0, 1e-9
Vectors = NDArray[np.floating]


def rotate(features: Vectors) -> Vectors:
    """Return (n, min(n, d)) features with the same inner products, for which the same models are fitted sooner.

    A ridge penalty knows no directions, so a logistic regression on rotated features foretells the same.
    """
    if features.shape[1] <= features.shape[0]:
        return features
    left, sizes, _ = np.linalg.svd(features.astype(np.float64), full_matrices=False)
    rotated: Vectors = left * sizes
    return rotated


def area_foretold(features: Vectors, labels: NDArray[np.bool_], seed: int) -> Area:
    """Return how well a logistic regression on (n, d) features foretells n labels, over stratified folds."""
    fold = stratified_folds(labels, rng=np.random.default_rng(seed))
    return cross_validated_area(labels, _held_out(features, labels, fold), fold)


def _held_out(features: Vectors, labels: NDArray[np.bool_], fold: NDArray[np.int64]) -> Vectors:
    """Return (n,) scores, each from the model that did not see its fold."""
    scores = np.empty(len(labels))
    for one in np.unique(fold):
        held = fold == one
        weights = fit(features[~held], labels[~held])
        scores[held] = features[held] @ weights[:-1] + weights[-1]
    return scores


def fit(features: Vectors, labels: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return a ridge logistic regression's weights, the unpenalised intercept last: (d + 1,).

    scikit-learn's ``LogisticRegression(C=…)`` has the same optimum. Newton's method (Hastie et al. 2009, §4.4.1) gets
    there in a few steps, which counts where thousands of small models are fitted.
    """
    rows = np.column_stack([features, np.ones(len(labels))]).astype(np.float64)
    signs = np.where(labels, 1.0, -1.0)
    penalty = np.append(np.ones(features.shape[1]), 0.0)

    def loss(weights: NDArray[np.float64]) -> float:
        margins = signs * (rows @ weights)
        return float(REGULARISATION * np.logaddexp(0.0, -margins).sum() + 0.5 * penalty @ weights**2)

    weights = np.zeros(rows.shape[1])
    for _ in range(MOST_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(rows @ weights, -MOST_MARGIN, MOST_MARGIN)))
        slope = REGULARISATION * rows.T @ (likely - labels) + penalty * weights
        curvature = (rows * (REGULARISATION * likely * (1 - likely))[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(curvature, slope)
        before = loss(weights)
        while loss(weights - step) > before + CLOSE and np.abs(step).max() > CLOSE:
            step = step / 2
        weights = weights - step
        if np.abs(step).max() < CLOSE:
            break
    return weights
