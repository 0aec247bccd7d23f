"""The logistic model on counts: a known solution, limits, and refusals."""

import numpy as np
import pytest
from scipy.optimize import minimize

from curation.interest.counts import CountsModel, fit_counts
from curation.records import InvalidInput
from tests.support.curation.interest_counts import (
    INTERCEPT,
    OTHERS_WEIGHT,
    PEOPLE_WEIGHT,
    planted,
)


@pytest.mark.parametrize("penalty", [0.01, 1.0, 30.0])
def test_fit_counts_planted_labels_equals_a_general_minimiser(penalty: float) -> None:
    images = planted(1, images=300)
    inputs = np.column_stack([np.ones(300), np.log1p(images.counts)])

    def loss(weights: np.ndarray) -> float:
        logits = inputs @ weights
        data = np.logaddexp(0, logits).sum() - logits[images.interesting].sum()
        return float(data + penalty / 2 * (weights[1:] ** 2).sum())

    expected = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-7}).x
    found = fit_counts(images.counts, images.interesting, penalty=penalty)
    assert [found.intercept, found.people, found.others] == pytest.approx(expected, abs=1e-4)


def test_fit_counts_many_images_recovers_the_planted_weights() -> None:
    images = planted(2, images=40_000)
    found = fit_counts(images.counts, images.interesting)
    assert found.intercept == pytest.approx(INTERCEPT, abs=0.15)
    assert found.people == pytest.approx(PEOPLE_WEIGHT, abs=0.1)
    assert found.others == pytest.approx(OTHERS_WEIGHT, abs=0.1)


def test_fit_counts_separable_labels_gives_finite_weights() -> None:
    counts = np.array([[0, 0]] * 60 + [[9, 9]] * 60)
    found = fit_counts(counts, counts[:, 0] > 0, penalty=1e-6)
    assert np.isfinite([found.intercept, found.people, found.others]).all()
    scores = found.scores(counts)
    assert scores[:60].max() < 0.01
    assert scores[60:].min() > 0.99


def test_counts_model_stored_and_read_is_equal() -> None:
    model = CountsModel(0.5, -1.25, 3.0)
    assert CountsModel.from_json(model.as_json()) == model


@pytest.mark.parametrize(
    ("counts", "labels", "penalty", "message"),
    [
        ([[1, 2]], [True, False], 1.0, "does not fit 2 labels"),
        ([[1], [2]], [True, False], 1.0, "give people and others"),
        ([[1, -1], [2, 2]], [True, False], 1.0, "negative"),
        ([[1, 1], [2, 2]], [True, True], 1.0, "same label"),
        ([[1, 1], [2, 2]], [True, False], 0.0, "penalty: 0 is not"),
        ([[1, 1], [2, 2]], [True, False], float("nan"), "penalty: nan is not"),
    ],
)
def test_fit_counts_bad_input_is_refused(
    counts: list[list[int]], labels: list[bool], penalty: float, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        fit_counts(np.array(counts), np.array(labels), penalty=penalty)
