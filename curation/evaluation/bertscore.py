"""The similarity of a retrieved inference to the true one, token by token: the F1 of BERTScore, without IDF.

Each token of a text is matched with the nearest token of the other text. Source: Zhang et al. 2020, §3,
arXiv:1904.09675; Hessel et al. 2022 §4.1, footnote 9, use RoBERTa-Large with rescaling.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

ROBERTA_LAYER, ROBERTA_BASELINE = 17, 0.83122575  # RoBERTa-Large's in the package bert_score


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A text's tokens. vectors: (k, d), rows of length 1. is_counted: (k,), False for start and end tokens.

    As in the published code, start and end tokens may be matched, but their own matches do not count.
    """

    vectors: NDArray[np.floating]
    is_counted: NDArray[np.bool_]


def greedy_f1(candidate: TokenVectors, reference: TokenVectors) -> float:
    """Return the harmonic mean of precision and recall of the token matches; 0 if a text has no counted token."""
    if not candidate.is_counted.any() or not reference.is_counted.any():
        return 0.0
    similarity = np.asarray(candidate.vectors, dtype=np.float64) @ np.asarray(reference.vectors, np.float64).T
    precision = similarity.max(axis=1)[candidate.is_counted].mean()
    recall = similarity.max(axis=0)[reference.is_counted].mean()
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def best_reference_f1(candidate: TokenVectors, references: Sequence[TokenVectors]) -> float:
    """Return the highest F1 with one of several references (Zhang et al. 2020, §3). Raises ValueError without any."""
    return max(greedy_f1(candidate, reference) for reference in references)


def rescale_to_baseline(score: float, baseline: float) -> float:
    """Rescale a score linearly: the baseline, which unrelated texts reach, becomes 0, and 1 stays 1.

    Raises:
        InvalidInput: the baseline is 1 or more.
    """
    if baseline >= 1:
        raise InvalidInput(f"baseline: {baseline:g} is not below 1; RoBERTa-Large at layer 17 has 0.83122575")
    return (score - baseline) / (1 - baseline)
