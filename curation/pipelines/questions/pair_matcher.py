"""Match a bucket by models that are too slow for all pairs: sentence vectors choose which pairs they score.

Zellers et al. 2019 §C score all pairs and call it the bottleneck: 9 million pairs of a bucket and stage.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from curation.matching.options import MatchOptions, ShortlistBy
from curation.matching.rounds import MatchResult, PairRules, PairWeights, match_dense, match_rounds
from curation.matching.shortlists import pair_rows, shortlist_pairs
from curation.matching.weights import Probabilities, weigh
from curation.relevance.interfaces import Indices

ScorePairs = Callable[[Indices, Indices], NDArray[np.float32]]


@dataclass(slots=True)
class PairScores:
    """Probabilities of pairs of n texts, (n, n) float32; each pair is scored when it is first asked for.

    symmetric: both orders of a pair have the same score.
    """

    n: int
    score: ScorePairs
    symmetric: bool = False
    known: NDArray[np.float32] = field(init=False)

    def __post_init__(self) -> None:
        self.known = np.full((self.n, self.n), np.nan, dtype=np.float32)

    def get(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        """Return the scores (m,) of m pairs."""
        missing = np.unique(
            rows[np.isnan(self.known[rows, columns])] * self.n + columns[np.isnan(self.known[rows, columns])]
        )
        if len(missing):
            first, second = np.divmod(missing, self.n)
            self.known[first, second] = self.score(first, second)
            if self.symmetric:
                self.known[second, first] = self.known[first, second]
        found: NDArray[np.float32] = self.known[rows, columns]
        return found

    def all(self) -> NDArray[np.float32]:
        """Return the whole matrix."""
        rows, columns = np.divmod(np.arange(self.n * self.n, dtype=np.int64), self.n)
        self.get(rows, columns)
        return self.known


@dataclass(frozen=True, slots=True)
class PairMatcher:
    """A matcher (``curation.matching.solve_bucket``) on shortlists, which are doubled while no matching exists.

    proxy_relevance, proxy_similarity: (n, n) probabilities by sentence vectors; the best pairs by them are listed.
    k: listed pairs of each row and of each column.
    """

    proxy_relevance: Probabilities
    proxy_similarity: Probabilities
    relevance: PairScores
    similarity: PairScores
    options: MatchOptions
    k: int

    def __call__(self, kept: NDArray[np.int64], rules: PairRules) -> MatchResult:
        """Match the kept members under rules for these."""
        members = np.ix_(kept, kept)
        proxy = weigh(self.proxy_relevance[members], self.proxy_similarity[members], self.options)
        rules.forbid_first(proxy)
        k = min(self.k, len(kept))
        while True:
            result = self._match(kept, rules, proxy, k)
            if result.feasible or k >= len(kept):
                return result
            k = min(2 * k, len(kept))

    def _match(
        self, kept: NDArray[np.int64], rules: PairRules, proxy: NDArray[np.float64], k: int
    ) -> MatchResult:
        pairs = shortlist_pairs(proxy, k, ShortlistBy.BOTH)
        weights = PairWeights(
            pairs,
            self.relevance.get(kept[pair_rows(pairs[0])], kept[pairs[1]]),
            lambda held, listed: self.similarity.get(kept[held], kept[listed]),
            self.options,
            rules,
            shortlist=k,
        )
        return match_rounds(weights, len(kept), self.options.rounds)

    def dense_total(self, kept: NDArray[np.int64], rules: PairRules) -> float | None:
        """Return the sum of the totals of all rounds on all pairs, or None if one is infeasible."""
        members = np.ix_(kept, kept)
        result = match_dense(
            self.relevance.all()[members], self.similarity.all()[members], self.options, rules
        )
        if not result.feasible:
            return None
        return float(sum(outcome.total or 0.0 for outcome in result.outcomes))
