"""Pick a plausible and varied set from one instance's candidates.

Source: Hessel et al. 2022, appendix E, doi:10.1007/978-3-031-20059-5_32: plausibility weighs five times as much as
dissimilarity to what has been picked. Whether that is the mean or the greatest similarity is not stated there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from curation.negatives.plausibility import collapse_copies


class Diversity(StrEnum):
    """How similar a candidate is to what has been picked: on average, or to the nearest pick."""

    MEAN = "mean"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Picks:
    """positions: indices into the candidates, in the order of picking. objectives: the value of each pick."""

    positions: tuple[int, ...]
    objectives: tuple[float, ...]


class TextVectors:
    """Unit vectors of all texts, with exact copies stored once so that copies tie exactly."""

    def __init__(self, rows: NDArray[np.floating]) -> None:
        """rows: (n, d), of length 1."""
        self._distinct, self._inverse = collapse_copies(rows)

    def __len__(self) -> int:
        return len(self._inverse)

    def of(self, ids: NDArray[np.integer]) -> NDArray[np.float64]:
        """The vectors of (m,) ids: (m, d)."""
        return self._distinct[self._inverse[ids]]

    def distinct_among(self, ids: NDArray[np.integer]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Distinct vectors of (m,) ids and, for each id, which one is its own: ((u, d), (m,))."""
        numbers, inverse = np.unique(self._inverse[ids], return_inverse=True)
        return self._distinct[numbers], inverse


def pick_greedily(
    plausibility: NDArray[np.floating],
    vectors: NDArray[np.float64],
    inverse: NDArray[np.intp],
    *,
    size: int,
    weight: float,
    diversity: Diversity,
) -> Picks:
    """Pick size of m candidates, each time the one with the greatest weight x plausibility - similarity.

    plausibility: (m,). vectors: (u, d) unit rows, inverse: (m,) the vector of each candidate. The first pick has no
    similarity. The lowest position wins a tie. size must not exceed m.
    """
    value = weight * plausibility.astype(np.float64)
    total = np.zeros(len(vectors))
    greatest = np.full(len(vectors), -np.inf)
    free = np.ones(len(value), dtype=bool)
    positions: list[int] = []
    objectives: list[float] = []
    for count in range(size):
        objective = value
        if count:
            objective = value - (total / count if diversity is Diversity.MEAN else greatest)[inverse]
        best = int(np.argmax(np.where(free, objective, -np.inf)))
        positions.append(best)
        objectives.append(float(objective[best]))
        free[best] = False
        similarity = vectors @ vectors[inverse[best]]
        total += similarity
        np.maximum(greatest, similarity, out=greatest)
    return Picks(positions=tuple(positions), objectives=tuple(objectives))
