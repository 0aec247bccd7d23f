"""A logistic model of interestingness on two counts: people, and other objects.

Source: Zellers et al. 2019 §B.2. The model is p = sigmoid(b + w₁·ln(1 + people) + w₂·ln(1 + others)). It minimises
the summed log loss plus penalty/2 · (w₁² + w₂²) by Newton's method; the intercept b is not penalised.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

Counts = NDArray[np.integer] | NDArray[np.floating]
Targets = NDArray[np.bool_]

DEFAULT_PENALTY = 1.0
MAX_STEPS = 100
MAX_HALVINGS = 40
GRADIENT_TOLERANCE = 1e-9  # per image


@dataclass(frozen=True, slots=True)
class CountsModel:
    """The weights of a fitted model."""

    intercept: float
    people: float
    others: float

    def scores(self, counts: Counts) -> NDArray[np.float64]:
        """Return the probability that each image is interesting, (n,), for its (people, others) counts, (n, 2)."""
        return sigmoid(_inputs(counts) @ np.array([self.intercept, self.people, self.others]))

    def as_json(self) -> dict[str, float]:
        """Return the weights as stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "CountsModel":
        """Return stored weights."""
        return cls(raw["intercept"], raw["people"], raw["others"])


def fit_counts(counts: Counts, interesting: Targets, *, penalty: float = DEFAULT_PENALTY) -> CountsModel:
    """Fit the model.

    Args:
        counts: (n, 2) numbers of people and of other objects. interesting: (n,) labels.
        penalty: strength of the L2 penalty on the two weights; above 0, so that separable counts have a solution.

    Raises:
        InvalidInput: the shapes differ, a count is negative, a class has no label, or the penalty is not above 0.
    """
    _check_inputs(counts, interesting, penalty)
    inputs, labels = _inputs(counts), interesting.astype(np.float64)
    ridge = penalty * np.diag([0.0, 1.0, 1.0])
    weights = np.zeros(3)
    for _ in range(MAX_STEPS):
        chances = sigmoid(inputs @ weights)
        gradient = inputs.T @ (chances - labels) + ridge @ weights
        if np.abs(gradient).max() <= GRADIENT_TOLERANCE * len(labels):
            break
        hessian = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + ridge
        step = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
        weights = _descend(inputs, labels, penalty, weights, step)
    return CountsModel(*map(float, weights))


def sigmoid(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)) without overflow."""
    positive = np.exp(-np.abs(values))
    return np.where(values >= 0, 1 / (1 + positive), positive / (1 + positive))


def _descend(
    inputs: NDArray[np.float64],
    labels: NDArray[np.float64],
    penalty: float,
    weights: NDArray[np.float64],
    step: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weights after a step that is halved until the loss does not rise."""
    before = _loss(inputs, labels, penalty, weights)
    for halving in range(MAX_HALVINGS):
        tried = weights - step / 2**halving
        if _loss(inputs, labels, penalty, tried) <= before:
            return tried
    return weights


def _loss(
    inputs: NDArray[np.float64], labels: NDArray[np.float64], penalty: float, weights: NDArray[np.float64]
) -> float:
    logits = inputs @ weights
    log_losses = np.logaddexp(0.0, logits) - labels * logits
    return float(log_losses.sum() + penalty / 2 * (weights[1:] ** 2).sum())


def _inputs(counts: Counts) -> NDArray[np.float64]:
    return np.column_stack([np.ones(len(counts)), np.log1p(np.asarray(counts, dtype=np.float64))])


def _check_inputs(counts: Counts, interesting: Targets, penalty: float) -> None:
    if counts.ndim != 2 or counts.shape[1] != 2 or len(counts) != len(interesting):  # noqa: PLR2004
        raise InvalidInput(
            f"counts: shape {counts.shape} does not fit {len(interesting)} labels; give people and others per image"
        )
    if (np.asarray(counts) < 0).any():
        raise InvalidInput("counts: a number of objects is negative; use 0 or more")
    if not 0 < interesting.sum() < len(interesting):
        raise InvalidInput("labels: all images have the same label; label interesting and boring images")
    if not 0 < penalty < np.inf:
        raise InvalidInput(
            f"penalty: {penalty:g} is not a number above 0; use for instance {DEFAULT_PENALTY:g}"
        )
