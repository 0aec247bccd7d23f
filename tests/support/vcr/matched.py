"""Match synthetic triplets with the cores alone, and fit the share of preferred tags of each fold and stage."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.choice_items import Stage
from curation.matching.buckets import BucketOptions, make_buckets
from curation.matching.copies import label_copies
from curation.matching.fit_share import WrongResponse, count_shared_tags, fit_share, stack_shared_tags
from curation.matching.object_classes import missing_pairs, tagged_classes
from curation.matching.options import ANSWER_LAMBDA, RATIONALE_LAMBDA, MatchOptions, MissingClassRule
from curation.matching.remap import Target, draw_tags
from curation.matching.solve_bucket import BucketProblem, BucketSolution, dense_matcher, solve_bucket
from hits.domain.tagged_text import Segments, class_text, copy_key, mentions
from tests.support.vcr.synthetic import SyntheticSet, SyntheticTriplet

SECRET = b"a secret of the synthetic set"
LAMBDAS = {Stage.ANSWER: ANSWER_LAMBDA, Stage.RATIONALE: RATIONALE_LAMBDA}
VECTORS = {Stage.ANSWER: ("question", "answer"), Stage.RATIONALE: ("query", "rationale")}


def fit_shares(made: SyntheticSet) -> list[dict[str, Any]]:
    """Return for each fold and stage the fitted share, and the tag overlap at it and at both ends."""
    folds = list(dict.fromkeys(triplet.fold for triplet in made.triplets))
    return [
        {"fold": fold, "stage": stage.value} | asdict(fit_share(_shared_tags(made, fold, stage)))
        for fold in folds
        for stage in Stage
    ]


def _shared_tags(made: SyntheticSet, fold: str, stage: Stage) -> Any:
    members = np.array(made.members(fold))
    triplets = [made.triplets[index] for index in members]
    queries = getattr(made, VECTORS[stage][0])[members]
    buckets = make_buckets(
        [class_text(_response(triplet, stage), triplet.objects) for triplet in triplets],
        queries,
        BucketOptions(),
        questions=(
            [class_text(triplet.question, triplet.objects) for triplet in triplets]
            if stage is Stage.ANSWER
            else None
        ),
    )
    rows = []
    for bucket in buckets:
        own = [triplets[index] for index in bucket.members]
        solution = _solve(made, bucket.name, members[list(bucket.members)], own, stage)
        rows += [
            _count(triplet, [own[column] for column in columns], stage)
            for triplet, columns in zip(own, solution.columns.tolist(), strict=True)
            if columns[0] >= 0
        ]
    return stack_shared_tags(rows)


def _response(triplet: SyntheticTriplet, stage: Stage) -> Segments:
    return triplet.answer if stage is Stage.ANSWER else triplet.rationale


def _solve(
    made: SyntheticSet, name: str, members: NDArray[np.int64], own: list[SyntheticTriplet], stage: Stage
) -> BucketSolution:
    """Match a bucket with relevance and similarity that see no identity, as functions of the vectors alone."""
    queries, responses = (getattr(made, part)[members] for part in VECTORS[stage])
    relevance = 1 / (1 + np.exp(-14 * (queries @ responses.T - 0.55)))
    similarity = 1 / (1 + np.exp(-16 * (responses @ responses.T - 0.75)))
    options = MatchOptions(similarity_weight=LAMBDAS[stage])
    texts = [_response(triplet, stage) for triplet in own]
    problem = BucketProblem(
        name,
        [triplet.id for triplet in own],
        label_copies([copy_key(text, triplet.objects) for text, triplet in zip(texts, own, strict=True)]),
        label_copies([triplet.image for triplet in own]),
        missing_pairs(
            [tagged_classes(text, triplet.objects) for text, triplet in zip(texts, own, strict=True)],
            [frozenset(triplet.objects) for triplet in own],
        ),
    )
    match = dense_matcher(relevance, similarity, options)
    return solve_bucket(problem, options, MissingClassRule.FORBIDDEN, match)


def _count(triplet: SyntheticTriplet, wrong: list[SyntheticTriplet], stage: Stage) -> Any:
    asked = [*triplet.question, *(() if stage is Stage.ANSWER else triplet.answer)]
    gold = _response(triplet, stage)
    target = Target(triplet.objects, frozenset(mentions(asked)) | frozenset(mentions(gold)))
    responses = []
    for other in wrong:
        text = _response(other, stage)
        draws = draw_tags(SECRET, triplet.id, other.id, len(set(mentions(text))))
        responses.append(WrongResponse(text, other.objects, draws))
    return count_shared_tags(asked, gold, target, responses)
