"""Logistic regressions with a ridge penalty, by Newton's method."""

import numpy as np
from numpy.typing import NDArray

MAX_STEPS, TOLERANCE = 100, 1e-9


def fit_logistic(
    features: NDArray[np.number], labels: NDArray[np.bool_], *, ridge: float
) -> NDArray[np.float64]:
    """Return the weights of a logistic regression, the intercept last: (d + 1,).

    They minimise the summed log loss plus ridge / 2 times the squared weights; the intercept is not penalised.
    scikit-learn's ``LogisticRegression(C=1 / ridge)`` has the same optimum. Newton's method (Hastie et al. 2009,
    §4.4.1) converges in a few steps, each halved until the loss does not rise.

    Args:
        features: (n, d). labels: (n,). ridge: above 0, so that separable labels have a solution.
    """
    rows = np.column_stack([features, np.ones(len(labels))]).astype(np.float64)
    signs = np.where(labels, 1.0, -1.0)
    penalty = np.append(np.full(rows.shape[1] - 1, ridge), 0.0)

    def loss(weights: NDArray[np.float64]) -> float:
        return float(np.logaddexp(0.0, -signs * (rows @ weights)).sum() + 0.5 * penalty @ weights**2)

    weights = np.zeros(rows.shape[1])
    for _ in range(MAX_STEPS):
        probabilities = sigmoid(rows @ weights)
        gradient = rows.T @ (probabilities - labels) + penalty * weights
        hessian = (rows * (probabilities * (1 - probabilities))[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        current_loss = loss(weights)
        while loss(weights - step) > current_loss + TOLERANCE and np.abs(step).max() > TOLERANCE:
            step = step / 2
        weights = weights - step
        if np.abs(step).max() < TOLERANCE:
            break
    return weights


def sigmoid(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)) without overflow."""
    positive = np.exp(-np.abs(values))
    return np.where(values >= 0, 1 / (1 + positive), positive / (1 + positive))
