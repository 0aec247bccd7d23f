"""Match the triplets of every bucket. The result depends on ids and scores, never on the order of rows or buckets."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.matching.copies import label_copies
from curation.matching.options import MatchOptions
from curation.matching.reasons import check_bucket, describe_violator
from curation.matching.rounds import PairRules, RoundOutcome, match_dense
from curation.matching.weights import Probabilities

ONE_BUCKET = "all"


@dataclass(frozen=True, slots=True)
class BucketRound:
    """A round of a bucket. reason: why it is infeasible, else empty."""

    bucket: str
    outcome: RoundOutcome
    reason: str


@dataclass(frozen=True, slots=True)
class BucketMatches:
    """rounds: of each bucket by name, up to its first infeasible one. choices: of n queries, the right one first."""

    rounds: tuple[BucketRound, ...]
    choices: tuple[tuple[int, ...], ...]


def match_buckets(
    relevance: Probabilities,
    similarity: Probabilities,
    options: MatchOptions,
    *,
    ids: Sequence[str],
    buckets: Sequence[str] | None = None,
    texts: Sequence[Hashable] | None = None,
    images: Sequence[Hashable] | None = None,
) -> BucketMatches:
    """Match n queries with responses of their own bucket.

    relevance, similarity: (n, n) P_rel and P_sim. ids: distinct; they decide ties. buckets: one name each; one
    bucket by default. texts: equal for copies. images: needed if the options forbid responses to the same image.
    """
    n = len(ids)
    names = [ONE_BUCKET] * n if buckets is None else buckets
    same_text = label_copies(range(n) if texts is None else texts)
    same_image = None if images is None else label_copies(images)
    order = np.array(sorted(range(n), key=ids.__getitem__), dtype=np.int64)
    rounds: list[BucketRound] = []
    choices = [(index,) for index in range(n)]
    for name in sorted(set(names)):
        members = np.array([index for index in order if names[index] == name], dtype=np.int64)
        rules = PairRules.make(
            len(members),
            options,
            same_text=same_text[members],
            images=None if same_image is None else same_image[members],
        )
        result = match_dense(take(relevance, members), take(similarity, members), options, rules)
        member_ids = [ids[index] for index in members]
        for outcome in result.outcomes:
            rounds.append(BucketRound(name, outcome, _reason(outcome, member_ids, rules, options)))
        for index, columns in zip(members.tolist(), result.columns, strict=True):
            choices[index] = (index, *members[columns].tolist())
    return BucketMatches(tuple(rounds), tuple(choices))


def take(matrix: Probabilities, members: NDArray[np.int64]) -> Probabilities:
    """Return the rows and columns of some members; the matrix itself if these are all in order."""
    if len(members) == len(matrix) and (members == np.arange(len(matrix))).all():
        return matrix
    return matrix[np.ix_(members, members)]


def _reason(outcome: RoundOutcome, ids: Sequence[str], rules: PairRules, options: MatchOptions) -> str:
    if outcome.violator is None:
        return ""
    known = check_bucket(ids, rules.same_text, options.rounds)
    if known:
        return known
    found = describe_violator(outcome.violator, ids)
    return found if outcome.shortlist is None else f"with shortlists of {outcome.shortlist}, {found}"
