"""Logistic regressions beside scikit-learn's, and at extreme values."""

import numpy as np
import pytest

from curation.logistic import fit_logistic, sigmoid


@pytest.mark.parametrize("ridge", [1e-3, 1 / 0.316, 30.0])
@pytest.mark.parametrize(("rows", "wide"), [(60, 1), (50, 8), (30, 60)])
def test_logistic_regression_equals_scikit_learn(rows: int, wide: int, ridge: float) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    features = 3 * np.random.default_rng(10).standard_normal((rows, wide))
    labels = np.arange(rows) % 3 == 0
    model = linear_model.LogisticRegression(C=1 / ridge, solver="newton-cholesky", max_iter=5000, tol=1e-10)
    theirs = model.fit(features, labels)
    expected = np.append(theirs.coef_[0], theirs.intercept_)
    assert fit_logistic(features, labels, ridge=ridge) == pytest.approx(expected, abs=1e-4)


def test_logistic_regression_planted_weights_are_recovered() -> None:
    generator = np.random.default_rng(0)
    features = generator.standard_normal((20_000, 2))
    chances = 1 / (1 + np.exp(-(2.0 * features[:, 0] - features[:, 1] + 0.5)))
    labels = generator.random(len(features)) < chances
    assert fit_logistic(features, labels, ridge=0.2) == pytest.approx([2.0, -1.0, 0.5], abs=0.1)


def test_logistic_regression_separable_classes_stays_finite() -> None:
    features = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    weights = fit_logistic(features, np.array([False, False, True, True]), ridge=4e-5)
    assert np.isfinite(weights).all()
    assert weights[0] > 1


def test_sigmoid_extreme_values_does_not_overflow() -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert sigmoid(np.array([-900.0, 0.0, 900.0])).tolist() == pytest.approx([0.0, 0.5, 1.0])
