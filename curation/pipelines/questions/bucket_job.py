"""Match one bucket of a question set. Its result is a file that depends on its inputs' file alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.matching.copies import label_copies
from curation.matching.object_classes import missing_pairs
from curation.matching.options import (
    PROJECT_WEIGHT_STEP,
    ROUNDS,
    MatchOptions,
    MissingClassRule,
    SameImageRule,
)
from curation.matching.rounds import PairRules, RoundOutcome
from curation.matching.solve_bucket import (
    SET_ASIDE,
    BucketProblem,
    BucketSolution,
    Matcher,
    dense_matcher,
    solve_bucket,
)
from curation.models import Stage
from curation.pipelines.questions.folder import SetFolder, read_json, write_json
from curation.pipelines.questions.pair_matcher import PairMatcher, PairScores
from curation.pipelines.questions.relevance_models import checked_similarity, load_proxy, load_relevance
from curation.pipelines.questions.triplets import TEXTS_OF_STAGE
from curation.pipelines.questions.vectors import StoredVectors
from curation.records import InvalidInput
from curation.relevance.interfaces import Relevance, Similarity, Texts
from curation.relevance.vectors import VectorSimilarity
from curation.services.questions import QuestionSetOptions
from hits.domain.hashing import content_sha256

SCORE_DIGITS = 4
FORMAT = "deerstalker-question-matches/1"


def match_bucket(
    folder: SetFolder, sha256: str, vectors: Mapping[str, StoredVectors], options: QuestionSetOptions
) -> None:
    """Write a bucket's result, unless it exists.

    Args:
        vectors: the stored sentence vectors by text.

    Raises:
        InvalidInput: the inputs were changed, or a model is missing.
    """
    if folder.result(sha256).is_file():
        return
    inputs = read_json(folder.inputs(sha256))
    if content_sha256(inputs) != sha256:
        raise InvalidInput(f"{folder.inputs(sha256)}: was changed; build the set again")
    write_json(folder.result(sha256), _Bucket.load(folder, inputs, vectors, options).solve(sha256))


@dataclass(frozen=True, slots=True)
class _Bucket:
    """A bucket with its texts and models."""

    inputs: Mapping[str, Any]
    queries: Texts
    responses: Texts
    relevance: Relevance
    proxy: Relevance
    similarity: Similarity

    @classmethod
    def load(
        cls,
        folder: SetFolder,
        inputs: Mapping[str, Any],
        vectors: Mapping[str, StoredVectors],
        options: QuestionSetOptions,
    ) -> "_Bucket":
        query, response = TEXTS_OF_STAGE[Stage(inputs["stage"])]
        rows = np.asarray(inputs["rows"], dtype=np.int64)
        return cls(
            inputs=inputs,
            queries=Texts(inputs["queries"], vectors[query].open().take(rows)),
            responses=Texts(inputs["responses"], vectors[response].open().take(rows)),
            relevance=load_relevance(folder, inputs["relevance"], options),
            proxy=load_proxy(inputs["relevance"]),
            similarity=checked_similarity(options.similarity, inputs["similarity"]),
        )

    def solve(self, sha256: str) -> dict[str, Any]:
        """Return the content of the result's file."""
        options = self.match_options()
        problem = self.problem()
        scores = _PairModels.of(self) if self.scores_pairs else _DenseModels.of(self)
        matcher = scores.matcher(options, self.inputs["options"]["shortlist"] or 0)
        rule = MissingClassRule(self.inputs["options"]["missing_class"])
        solution = solve_bucket(problem, options, rule, matcher)
        found = {
            "format": FORMAT,
            "inputs": sha256,
            "rounds": [_describe_round(outcome) for outcome in solution.outcomes],
            "columns": [None if row[0] == SET_ASIDE else row.tolist() for row in solution.columns],
            "words": list(solution.words),
            "set_aside": {str(index): reason for index, reason in solution.set_aside.items()},
            "attempts": solution.attempts,
            **_choice_scores(solution, scores),
            "cosines": self.choice_cosines(solution),
            "mean_relevance": [round(value, SCORE_DIGITS) for value in scores.mean_relevance().tolist()],
        }
        if self.inputs["dense_sample"] and isinstance(matcher, PairMatcher):
            found["dense_sample"] = _compare_with_dense(problem, options, solution, matcher)
        return found

    @property
    def scores_pairs(self) -> bool:
        """Whether a model is too slow for all pairs."""
        return self.relevance.needs_pairs or self.similarity.needs_pairs

    def match_options(self) -> MatchOptions:
        """Return the options of the matchings."""
        given = self.inputs["options"]
        return MatchOptions(
            similarity_weight=given["lambda"],
            rounds=ROUNDS,
            same_image=SameImageRule(given["same_image"]),
            weight_step=PROJECT_WEIGHT_STEP,
        )

    def choice_cosines(self, solution: BucketSolution) -> list[list[float] | None]:
        """Return the cosines of the four choices' sentence vectors with the right one's, the right one first."""
        vectors = self.responses.vectors
        assert vectors is not None
        found: list[list[float] | None] = [None] * len(vectors)
        for row, columns in enumerate(solution.columns):
            if columns[0] != SET_ASIDE:
                chosen = vectors[[row, *columns]] @ vectors[row]
                found[row] = [round(value, SCORE_DIGITS) for value in chosen.tolist()]
        return found

    def problem(self) -> BucketProblem:
        """Return the triplets with the pairs that are forbidden."""
        needed = [frozenset(classes) for classes in self.inputs["needed"]]
        present = [frozenset(classes) for classes in self.inputs["present"]]
        return BucketProblem(
            name=self.inputs["bucket"],
            ids=self.inputs["ids"],
            same_text=label_copies(self.inputs["copies"]),
            images=label_copies(self.inputs["images"]),
            missing=missing_pairs(needed, present),
        )


@dataclass(frozen=True, slots=True)
class _DenseModels:
    """The probabilities of all pairs, (n, n)."""

    relevance: NDArray[np.float32]
    similarity: NDArray[np.float32]

    @classmethod
    def of(cls, bucket: _Bucket) -> "_DenseModels":
        return cls(
            bucket.relevance.block(bucket.queries, bucket.responses),
            bucket.similarity.block(bucket.responses, bucket.responses),
        )

    def matcher(self, options: MatchOptions, k: int) -> Matcher:
        return dense_matcher(self.relevance, self.similarity, options)

    def mean_relevance(self) -> NDArray[np.float64]:
        """Return the mean P_rel of each response over the bucket's queries, (n,)."""
        return self.relevance.mean(axis=0, dtype=np.float64)

    def relevance_of(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.relevance[rows, columns]
        return found

    def similarity_of(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.similarity[rows, columns]
        return found


@dataclass(frozen=True, slots=True)
class _PairModels:
    """Probabilities that are computed when they are asked for, and those of sentence vectors for the shortlists."""

    proxy_relevance: NDArray[np.float32]
    proxy_similarity: NDArray[np.float32]
    relevance: PairScores
    similarity: PairScores

    @classmethod
    def of(cls, bucket: _Bucket) -> "_PairModels":
        n, queries, responses = len(bucket.responses), bucket.queries, bucket.responses
        return cls(
            bucket.proxy.block(queries, responses),
            VectorSimilarity().block(responses, responses),
            PairScores(n, lambda rows, columns: bucket.relevance.pairs(queries, responses, rows, columns)),
            PairScores(
                n,
                lambda rows, columns: bucket.similarity.pairs(responses, responses, rows, columns),
                symmetric=True,
            ),
        )

    def matcher(self, options: MatchOptions, k: int) -> Matcher:
        return PairMatcher(
            self.proxy_relevance, self.proxy_similarity, self.relevance, self.similarity, options, k
        )

    def mean_relevance(self) -> NDArray[np.float64]:
        """Return the mean P_rel of each response over the queries that it was scored with, (n,)."""
        return np.nanmean(self.relevance.known, axis=0, dtype=np.float64)

    def relevance_of(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.relevance.get(rows, columns)

    def similarity_of(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.similarity.get(rows, columns)


def _choice_scores(solution: BucketSolution, models: _DenseModels | _PairModels) -> dict[str, Any]:
    """Return P_rel, and P_sim with the right response, of each kept triplet's four choices, the right one first."""
    n = len(solution.columns)
    kept = np.flatnonzero(solution.columns[:, 0] != SET_ASIDE)
    columns = np.column_stack([kept, solution.columns[kept]]).astype(np.int64)
    rows = np.repeat(kept, columns.shape[1])
    found: dict[str, Any] = {}
    for name, scores in (("relevance", models.relevance_of), ("similarity", models.similarity_of)):
        values = scores(rows, columns.ravel()).reshape(columns.shape)
        listed: list[list[float] | None] = [None] * n
        for row, four in zip(kept.tolist(), values.tolist(), strict=True):
            listed[row] = [round(value, SCORE_DIGITS) for value in four]
        found[name] = listed
    return found


def _describe_round(outcome: RoundOutcome) -> dict[str, Any]:
    return {
        "round": outcome.round,
        "feasible": outcome.feasible,
        "total": outcome.total,
        "gap": _two_digits(outcome.gap),
        "min_reduced_cost": _two_digits(outcome.min_reduced_cost),
        "k": outcome.shortlist,
    }


def _two_digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.1e}")


def _compare_with_dense(
    problem: BucketProblem, options: MatchOptions, solution: BucketSolution, matcher: PairMatcher
) -> dict[str, Any]:
    """Return how far the totals on shortlists are below those on all pairs, under the same rules."""
    kept = np.flatnonzero(solution.columns[:, 0] != SET_ASIDE)
    words = np.zeros(len(problem.ids), dtype=bool)
    words[list(solution.words)] = True
    rules = PairRules.make(
        len(kept),
        options,
        same_text=problem.same_text[kept],
        images=problem.images[kept],
        allowed=~problem.missing[np.ix_(kept, kept)] | words[kept],
    )
    total = float(sum(outcome.total or 0.0 for outcome in solution.outcomes))
    dense = matcher.dense_total(kept, rules)
    loss = None if dense is None or not dense else (dense - total) / abs(dense)
    return {"size": len(kept), "total": total, "dense_total": dense, "loss": loss}
