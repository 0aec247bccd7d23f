"""Match a bucket of a project, in which a response may tag classes of objects that other images lack.

One response whose class is in fewer images than there are rounds makes its whole bucket infeasible. So such
responses, and those that are the cause of an infeasible round, get words for the missing class ("the car"). If that
does not suffice, triplets are set aside, with their query and response, until the rest can be matched.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from curation.matching.copies import Labels
from curation.matching.hall import HallViolator
from curation.matching.match import take
from curation.matching.options import MatchOptions, MissingClassRule
from curation.matching.reasons import check_bucket, count_violator
from curation.matching.rounds import MatchResult, PairRules, RoundOutcome, match_dense
from curation.matching.weights import Probabilities
from curation.records import InvalidInput

SET_ASIDE = -1

Members = NDArray[np.int64]
Matcher = Callable[[Members, PairRules], MatchResult]
"""Matches the kept members (m,) of a bucket under rules for these; it widens shortlists itself."""


@dataclass(frozen=True, slots=True)
class BucketProblem:
    """n triplets of a bucket in the order of their ids.

    same_text: (n,) equal for copies of a response. images: (n,) equal for one image. missing: (n, n) whether a
    query's image lacks a class that a response tags (``object_classes.missing_pairs``).
    """

    name: str
    ids: Sequence[str]
    same_text: Labels
    images: Labels
    missing: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BucketSolution:
    """columns: (n, rounds), the response that each query got, SET_ASIDE for triplets without.

    outcomes: of the rounds, all feasible. words: ascending positions of the responses whose missing classes become
    words. set_aside: position -> reason. attempts: how often the bucket was matched.
    """

    columns: NDArray[np.int64]
    outcomes: tuple[RoundOutcome, ...]
    words: tuple[int, ...]
    set_aside: dict[int, str]
    attempts: int


def dense_matcher(relevance: Probabilities, similarity: Probabilities, options: MatchOptions) -> Matcher:
    """Return a matcher on all pairs, or on shortlists if the options have them. Matrices: (n, n) P_rel and P_sim."""

    def match(kept: Members, rules: PairRules) -> MatchResult:
        return match_dense(take(relevance, kept), take(similarity, kept), options, rules)

    return match


def solve_bucket(
    problem: BucketProblem, options: MatchOptions, missing_class: MissingClassRule, match: Matcher
) -> BucketSolution:
    """Match a bucket completely, with words for missing classes and triplets set aside where nothing else helps.

    Raises:
        InvalidInput: the bucket is too small for the rounds, or a text has too many copies.
    """
    reason = check_bucket(problem.ids, problem.same_text, options.rounds)
    if reason:
        raise InvalidInput(f"bucket {problem.name}: {reason}")
    state = _State(problem, options, missing_class is MissingClassRule.WORDS)
    attempts = 0
    while len(state.kept) > options.rounds:
        if state.repair_rare():
            continue
        attempts += 1
        result = match(state.kept, state.rules())
        violator = result.outcomes[-1].violator
        if violator is None:
            return state.solution(result, attempts)
        if not state.use_words(violator):
            state.set_violator_aside(violator)
    state.set_aside(np.arange(len(state.kept)), f"too few triplets are left for {options.rounds} rounds")
    empty = MatchResult(np.empty((0, options.rounds), np.int64), ())
    return state.solution(empty, attempts)


@dataclass(slots=True)
class _State:
    """What was decided about a bucket so far."""

    problem: BucketProblem
    options: MatchOptions
    all_words: bool
    kept: Members = field(init=False)
    words: NDArray[np.bool_] = field(init=False)
    reasons: dict[int, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.problem.ids)
        self.kept = np.arange(n)
        self.words = np.full(n, self.all_words)

    def blocked(self) -> NDArray[np.bool_]:
        """Return which pairs (m, m) of kept triplets a missing class forbids."""
        found: NDArray[np.bool_] = self.problem.missing[np.ix_(self.kept, self.kept)] & ~self.words[self.kept]
        return found

    def rules(self) -> PairRules:
        return PairRules.make(
            len(self.kept),
            self.options,
            same_text=self.problem.same_text[self.kept],
            images=self.problem.images[self.kept],
            allowed=~self.blocked(),
        )

    def repair_rare(self) -> bool:
        """Help responses and queries with fewer allowed partners than rounds; return whether there were any.

        Such a response gets words; for such a query, as many others do as it needs. What has none is set aside.
        """
        rounds = self.options.rounds
        allowed, blocked = self.rules().allowed_pairs(), self.blocked()
        columns = np.flatnonzero(allowed.sum(axis=0) < rounds)
        rows = np.flatnonzero(allowed.sum(axis=1) < rounds)
        switched = set(columns[blocked[:, columns].any(axis=0)].tolist())
        gains = blocked[rows].sum(axis=0)
        for row in rows:
            options = np.flatnonzero(blocked[row])
            best = options[np.argsort(-gains[options], kind="stable")]
            switched |= set(best[: rounds - int(allowed[row].sum())].tolist())
        if switched:
            self.words[self.kept[sorted(switched)]] = True
        elif len(columns):
            self.set_aside(columns, f"its response may go to fewer than {rounds} queries")
        elif len(rows):
            self.set_aside(rows, f"its query may get fewer than {rounds} responses")
        return bool(switched) or bool(len(columns) or len(rows))

    def use_words(self, violator: HallViolator) -> bool:
        """Give words to the responses that a violator lacks; return whether there are any.

        A violator by rows needs as many more responses as it has rows too many, in every round; the ones that help
        most of its rows are taken. Of one by columns, all are.
        """
        m = len(self.kept)
        rows, columns = np.array(violator.rows, np.int64), np.array(violator.columns, np.int64)
        if violator.by_rows:
            outside = np.setdiff1d(np.arange(m), columns)
            count = self.options.rounds * (len(rows) - len(columns))
        else:
            rows, outside = np.setdiff1d(np.arange(m), rows), columns
            count = m
        gains = self.blocked()[np.ix_(rows, outside)].sum(axis=0)
        best = outside[np.argsort(-gains, kind="stable")][: min(count, int((gains > 0).sum()))]
        self.words[self.kept[best]] = True
        return bool(len(best))

    def set_violator_aside(self, violator: HallViolator) -> None:
        """Set as many triplets of a violator aside as it has too many, those with the fewest partners first."""
        allowed = self.rules().allowed_pairs()
        many, few = (
            (violator.rows, violator.columns) if violator.by_rows else (violator.columns, violator.rows)
        )
        partners = allowed.sum(axis=1 if violator.by_rows else 0)
        # A triplet of both sides takes one away from each.
        order = sorted(many, key=lambda index: (index in few, partners[index], index))
        self.set_aside(np.array(order[: len(many) - len(few)], np.int64), count_violator(violator))

    def set_aside(self, positions: NDArray[np.int64], reason: str) -> None:
        self.reasons |= dict.fromkeys(self.kept[positions].tolist(), reason)
        self.kept = np.delete(self.kept, positions)

    def solution(self, result: MatchResult, attempts: int) -> BucketSolution:
        columns = np.full((len(self.problem.ids), self.options.rounds), SET_ASIDE, np.int64)
        columns[self.kept] = self.kept[result.columns]
        words = () if self.all_words else tuple(np.flatnonzero(self.words).tolist())
        kept = set(self.kept.tolist())
        return BucketSolution(
            columns,
            result.outcomes,
            tuple(index for index in words if index in kept),
            dict(sorted(self.reasons.items())),
            attempts,
        )
