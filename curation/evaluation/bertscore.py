"""How near a retrieved inference is to the true one, word by word: the F1 of BERTScore, without IDF.

Each token of one text is matched with its nearest token of the other. Source: Zhang et al. 2020, §3,
arXiv:1904.09675; paper 000 §4.1, footnote 9, takes RoBERTa-Large with rescaling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A text's tokens. vectors: (k, d), rows of length 1. counts: (k,), False for those that mark start and end.

    As in the published code, such marks may be matched, but their own matches do not count.
    """

    vectors: NDArray[np.floating]
    is_counted: NDArray[np.bool_]


def greedy_f1(candidate: TokenVectors, reference: TokenVectors) -> float:
    """Return the harmonic mean of how well each text's tokens are matched by the other's; 0 where one has none."""
    if not candidate.is_counted.any() or not reference.is_counted.any():
        return 0.0
    similarity = np.asarray(candidate.vectors, dtype=np.float64) @ np.asarray(reference.vectors, np.float64).T
    precision = similarity.max(axis=1)[candidate.is_counted].mean()
    recall = similarity.max(axis=0)[reference.is_counted].mean()
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def rescale(score: float, baseline: float) -> float:
    """Return a score with what unrelated texts reach at 0, and 1 at 1.

    Raises:
        InvalidInput: a baseline of 1 or more leaves nothing to measure.
    """
    if baseline >= 1:
        raise InvalidInput(f"baseline: {baseline:g} is not below 1; RoBERTa-Large at layer 17 has 0.83122575")
    return (score - baseline) / (1 - baseline)
