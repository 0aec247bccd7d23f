"""A logistic model of interestingness on two counts: people, and other objects.

Source: Zellers et al. 2019 §B.2. The model is p = sigmoid(b + w₁·ln(1 + people) + w₂·ln(1 + others)). It minimises
the summed log loss plus penalty/2 · (w₁² + w₂²); the intercept b is not penalised.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.logistic import fit_logistic, sigmoid
from curation.records import InvalidInput

Counts = NDArray[np.integer] | NDArray[np.floating]
Targets = NDArray[np.bool_]

DEFAULT_PENALTY = 1.0


@dataclass(frozen=True, slots=True)
class CountsModel:
    """The weights of a fitted model."""

    intercept: float
    people: float
    others: float

    def scores(self, counts: Counts) -> NDArray[np.float64]:
        """Return the probability that each image is interesting, (n,), for its (people, others) counts, (n, 2)."""
        return sigmoid(self.intercept + _inputs(counts) @ np.array([self.people, self.others]))

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
    people, others, intercept = fit_logistic(_inputs(counts), interesting, ridge=penalty).tolist()
    return CountsModel(intercept, people, others)


def _inputs(counts: Counts) -> NDArray[np.float64]:
    return np.log1p(np.asarray(counts, dtype=np.float64))


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
