"""Rank finished sets by the set score: the best sets are rated first.

The score is a weighted sum of three ranks over all sets: of the mean length in words, of the mean similarity of all
pairs, and, with weight 5, of the mean plausibility. Source: Hessel et al. 2022, appendix E,
doi:10.1007/978-3-031-20059-5_32. They do not state whether longer or shorter is better; the default is longer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from curation.negatives.options import LengthPreference


@dataclass(frozen=True, slots=True)
class SetScore:
    """The measures of one set: mean number of words, mean cosine of all pairs of texts, and mean plausibility."""

    words: float
    similarity: float
    plausibility: float


@dataclass(frozen=True, slots=True)
class SetRanking:
    """Ranks of s sets, (s,) each; 1 is best and ties share their average rank.

    total: the weighted sum, lowest is best. order: positions of the sets, best first.
    """

    words: NDArray[np.float64]
    similarity: NDArray[np.float64]
    plausibility: NDArray[np.float64]
    total: NDArray[np.float64]
    order: NDArray[np.int64]

    def ranks(self) -> NDArray[np.int64]:
        """Return the rank of each set, 1 for the best: (s,)."""
        ranks = np.empty(len(self.order), dtype=np.int64)
        ranks[self.order] = np.arange(1, len(self.order) + 1)
        return ranks


def score_set(texts: Sequence[str], similarity: float, plausibility: Sequence[float]) -> SetScore:
    """Measure one set of k inferences. similarity: mean of all pairs. plausibility: of each inference, (k,)."""
    return SetScore(
        words=sum(len(text.split()) for text in texts) / len(texts),
        similarity=similarity,
        plausibility=math.fsum(plausibility) / len(plausibility),
    )


def rank_sets(
    scores: Sequence[SetScore],
    *,
    plausibility_weight: float,
    preferred_length: LengthPreference = LengthPreference.LONGER,
) -> SetRanking:
    """Rank sets: varied, plausible, and longer (or shorter) sets are better.

    Ties are ranked in the order in which the sets were built. plausibility_weight: of plausibility's rank.
    """
    sign = -1 if preferred_length is LengthPreference.LONGER else 1
    words = rankdata([sign * score.words for score in scores])
    similarity = rankdata([score.similarity for score in scores])
    plausibility = rankdata([-score.plausibility for score in scores])
    total = words + similarity + plausibility_weight * plausibility
    order = np.argsort(total, kind="stable").astype(np.int64)
    return SetRanking(words=words, similarity=similarity, plausibility=plausibility, total=total, order=order)
