"""Adversarial Matching: rounds of one-to-one assignment, in which every response is a wrong choice once.

After each round a query holds one more response. It never gets its right response, one that it holds, or a verbatim
copy of these. A round without a complete assignment ends the matching; nothing is filled in.
Source: Zellers et al. 2019 §4, doi:10.1109/CVPR.2019.00688.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from curation.matching.assign import Assignment, Infeasible, assign, assign_sparse
from curation.matching.copies import Labels, groups_of_copies
from curation.matching.hall import HallViolator
from curation.matching.options import MatchOptions, SameImageRule
from curation.matching.shortlists import Pairs, pair_rows, shortlist_pairs
from curation.matching.weights import Probabilities, weigh, weigh_rows

Columns = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairRules:
    """Which of n responses a query may not get, beside its own and those that it holds.

    same_text: (n,) equal for copies. images: (n,) equal for responses to one image, if these are forbidden.
    allowed: (n, n) booleans; all by default.
    """

    same_text: Labels
    images: Labels | None = None
    allowed: NDArray[np.bool_] | None = None

    @classmethod
    def make(
        cls,
        n: int,
        options: MatchOptions,
        *,
        same_text: Labels | None = None,
        images: Labels | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> "PairRules":
        """Return the rules for n queries. Without ``same_text`` there are no copies."""
        forbids_images = options.same_image is SameImageRule.FORBIDDEN
        return cls(
            np.arange(n) if same_text is None else same_text, images if forbids_images else None, allowed
        )

    def allowed_pairs(self) -> NDArray[np.bool_]:
        """Return which pairs (n, n) are allowed before the first round."""
        weights = np.zeros((len(self.same_text), len(self.same_text)), np.float32)
        self.forbid_first(weights)
        return weights == 0

    def forbid_first(self, weights: NDArray[np.floating]) -> None:
        """Set the weights (n, n) of the pairs that are never allowed to -inf."""
        if self.allowed is not None:
            weights[~self.allowed] = -np.inf
        for group in groups_of_copies(self.images) if self.images is not None else ():
            weights[np.ix_(group, group)] = -np.inf
        self.forbid_held(weights, np.arange(len(weights)))

    def forbid_held(self, weights: NDArray[np.floating], held: Columns) -> None:
        """Set the weights (n, n) of a response of each query, held (n,), and of its copies to -inf."""
        weights[np.arange(len(held)), held] = -np.inf
        for group in groups_of_copies(self.same_text):
            rows = np.flatnonzero(self.same_text[held] == self.same_text[group[0]])
            weights[np.ix_(rows, group)] = -np.inf

    def forbidden_listed(self, rows: Columns, columns: Columns, held: Columns) -> NDArray[np.bool_]:
        """Return which of the pairs (e,) have the response that their query holds, held (n,), or a copy of it."""
        same: NDArray[np.bool_] = self.same_text[held[rows]] == self.same_text[columns]
        return same


class RoundWeights(Protocol):
    """The weights of the next round."""

    @property
    def shortlist(self) -> int | None:
        """How many pairs of each row are listed; None for all."""
        ...

    def solve(self) -> Assignment | Infeasible:
        """Return the best assignment."""
        ...

    def hold(self, columns: Columns) -> None:
        """Give each query its response of the last round, columns (n,)."""
        ...


class DenseWeights:
    """Weights of all pairs. They are one float64 matrix that is changed in place."""

    def __init__(
        self, relevance: Probabilities, similarity: Probabilities, options: MatchOptions, rules: PairRules
    ) -> None:
        """relevance, similarity: (n, n) P_rel of query and response, and P_sim of two responses."""
        self.relevance, self.similarity, self.options, self.rules = relevance, similarity, options, rules
        self.values = self.first()

    @property
    def shortlist(self) -> int | None:
        return None

    def first(self) -> NDArray[np.float64]:
        """Return the weights of the first round."""
        n = len(self.relevance)
        values = np.empty((n, n))
        for rows, block in weigh_rows(self.relevance, self.similarity, np.arange(n), self.options):
            values[rows] = block
        self.rules.forbid_first(values)
        return values

    def solve(self) -> Assignment | Infeasible:
        return assign(self.values)

    def hold(self, columns: Columns) -> None:
        for rows, block in weigh_rows(self.relevance, self.similarity, columns, self.options):
            np.minimum(self.values[rows], block, out=self.values[rows])
        self.rules.forbid_held(self.values, columns)


class ShortlistedWeights(DenseWeights):
    """Weights of which only shortlisted pairs are used: the best of the first round, in all rounds."""

    def __init__(
        self, relevance: Probabilities, similarity: Probabilities, options: MatchOptions, rules: PairRules
    ) -> None:
        """As DenseWeights; options.shortlist is given."""
        super().__init__(relevance, similarity, options, rules)
        assert options.shortlist is not None
        self.k, self.by, self.widens = options.shortlist.k, options.shortlist.by, options.shortlist.widen
        self.pairs: Pairs | None = None  # all of them
        if self.k < len(self.values):
            self.pairs = shortlist_pairs(self.values, self.k, self.by)

    @property
    def shortlist(self) -> int | None:
        return self.k

    def solve(self) -> Assignment | Infeasible:
        """Return the best assignment; while there is none, shortlists are doubled up to all pairs."""
        n = len(self.values)
        while self.pairs is not None:
            indptr, indices = self.pairs
            result = assign_sparse(indptr, indices, self.values[pair_rows(indptr), indices], n)
            if isinstance(result, Assignment) or not self.widens:
                return result
            self.k = 2 * self.k if 4 * self.k < n else n
            self.pairs = None if self.k == n else shortlist_pairs(self.first(), self.k, self.by)
        return super().solve()


class PairWeights:
    """Weights of listed pairs alone, for models that are too slow for all pairs."""

    def __init__(
        self,
        pairs: Pairs,
        relevance: Probabilities,
        similarity_of: Callable[[Columns, Columns], Probabilities],
        options: MatchOptions,
        rules: PairRules,
        *,
        shortlist: int | None = None,
    ) -> None:
        """pairs: e pairs of the n queries, without forbidden ones. relevance: (e,) their P_rel.

        similarity_of: returns P_sim (m,) of two lists of m responses; it is asked once for each round.
        """
        self.indptr, self.indices = pairs
        self.rows = pair_rows(self.indptr)
        self.relevance, self.similarity_of = relevance, similarity_of
        self.options, self.rules, self._shortlist = options, rules, shortlist
        self.values = np.full(len(self.indices), np.inf)
        self.hold(np.arange(len(self.indptr) - 1))

    @property
    def shortlist(self) -> int | None:
        return self._shortlist

    def solve(self) -> Assignment | Infeasible:
        return assign_sparse(self.indptr, self.indices, self.values, len(self.indptr) - 1)

    def hold(self, columns: Columns) -> None:
        similarity = self.similarity_of(columns[self.rows], self.indices)
        np.minimum(self.values, weigh(self.relevance, similarity, self.options), out=self.values)
        self.values[self.rules.forbidden_listed(self.rows, self.indices, columns)] = -np.inf


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """One round. total: sum of the weights. gap and min_reduced_cost: of the certificate. All None if infeasible.

    round: from 1. shortlist: pairs listed for each row, or None for all. violator: why there is no assignment.
    """

    round: int
    feasible: bool
    total: float | None = None
    gap: float | None = None
    min_reduced_cost: float | None = None
    shortlist: int | None = None
    violator: HallViolator | None = None


@dataclass(frozen=True, slots=True)
class MatchResult:
    """columns: (n, r) the response that each query got in each complete round. outcomes: up to the first failure."""

    columns: Columns
    outcomes: tuple[RoundOutcome, ...]

    @property
    def feasible(self) -> bool:
        """Whether every round was complete."""
        return all(outcome.feasible for outcome in self.outcomes)


def match_rounds(weights: RoundWeights, n: int, rounds: int) -> MatchResult:
    """Match n queries with n responses, round by round, up to the first infeasible one."""
    columns: list[Columns] = []
    outcomes: list[RoundOutcome] = []
    for number in range(1, rounds + 1):
        found = weights.solve()
        if isinstance(found, Infeasible):
            outcomes.append(RoundOutcome(number, False, shortlist=weights.shortlist, violator=found.violator))
            break
        proof = found.certificate
        outcomes.append(
            RoundOutcome(number, True, found.total, proof.gap, proof.min_reduced_cost, weights.shortlist)
        )
        columns.append(found.columns)
        if number < rounds:
            weights.hold(found.columns)
    matched = np.stack(columns, axis=1) if columns else np.empty((n, 0), np.int64)
    return MatchResult(matched, tuple(outcomes))


def match_dense(
    relevance: Probabilities, similarity: Probabilities, options: MatchOptions, rules: PairRules
) -> MatchResult:
    """Match n queries by P_rel (n, n) and P_sim (n, n), on shortlists if the options have them."""
    kind = DenseWeights if options.shortlist is None else ShortlistedWeights
    weights = kind(relevance, similarity, options, rules)
    return match_rounds(weights, len(relevance), options.rounds)
