"""One bucket's matching: dense by sentence vectors, and on shortlists by models that score pairs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.matching.copies import label_copies
from curation.matching.options import MatchOptions, MissingClassRule
from curation.matching.rounds import PairRules
from curation.matching.solve_bucket import BucketProblem, dense_matcher, solve_bucket
from curation.models import QuestionSet
from curation.pipelines.questions.bucket_job import match_bucket
from curation.pipelines.questions.folder import SetFolder, read_json, write_json
from curation.pipelines.questions.pair_matcher import PairMatcher, PairScores
from curation.pipelines.questions.plan import read_plan
from curation.records import InvalidInput
from curation.services.questions import QuestionSetOptions
from hits.models import Project
from tests.support.curation.pair_models import save_tiny_pair_model
from tests.support.vcr.built_sets import build_set, store_synthetic_project


def symmetric(n: int, generator: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float32]]:
    found = generator.random((n, n)).astype(np.float32)
    found = np.maximum(found, found.T)
    np.fill_diagonal(found, 1)
    return found


@pytest.fixture
def matrices() -> tuple[Any, Any]:
    """Return P_rel and P_sim of forty triplets."""
    generator = np.random.default_rng(0)
    return generator.random((40, 40)).astype(np.float32), symmetric(40, generator)


def pair_matcher(matrices: tuple[Any, Any], k: int, asked: list[int]) -> PairMatcher:
    def lookup(matrix: Any) -> Callable[[Any, Any], Any]:
        def score(rows: Any, columns: Any) -> Any:
            asked.append(len(rows))
            return matrix[rows, columns]

        return score

    relevance, similarity = matrices
    n = len(relevance)
    return PairMatcher(
        relevance,
        similarity,
        PairScores(n, lookup(relevance)),
        PairScores(n, lookup(similarity), symmetric=True),
        MatchOptions(),
        k,
    )


def no_rules(n: int) -> PairRules:
    return PairRules.make(n, MatchOptions())


def test_pair_matcher_on_all_pairs_equals_the_dense_one(matrices: tuple[Any, Any]) -> None:
    kept = np.arange(40)
    dense = dense_matcher(*matrices, MatchOptions())(kept, no_rules(40))
    paired = pair_matcher(matrices, 40, [])(kept, no_rules(40))
    assert np.array_equal(dense.columns, paired.columns)
    assert [found.total for found in dense.outcomes] == pytest.approx(
        [found.total for found in paired.outcomes]
    )


def test_pair_matcher_scores_each_pair_once_and_fewer_than_all(matrices: tuple[Any, Any]) -> None:
    asked: list[int] = []
    matcher = pair_matcher(matrices, 6, asked)
    result = matcher(np.arange(40), no_rules(40))
    assert result.feasible
    first = sum(asked)
    assert first < 2 * 40 * 40
    matcher(np.arange(40), no_rules(40))
    assert sum(asked) == first, "known scores are kept"


def test_pair_matcher_without_a_matching_doubles_the_shortlist(matrices: tuple[Any, Any]) -> None:
    relevance = matrices[0].copy()
    relevance[:, :4] = 0.99  # four hubs are the best responses of every query, so three rounds need more
    result = pair_matcher((relevance, matrices[1]), 1, [])(np.arange(40), no_rules(40))
    assert result.feasible
    assert result.outcomes[0].shortlist is not None
    assert result.outcomes[0].shortlist > 1


def test_pair_matcher_matches_the_kept_members_alone(matrices: tuple[Any, Any]) -> None:
    problem = BucketProblem(
        name="b",
        ids=[f"{n:03d}" for n in range(40)],
        same_text=label_copies(range(40)),
        images=label_copies(range(40)),
        missing=np.zeros((40, 40), dtype=bool),
    )
    problem.missing[:, 7] = True  # its class is nowhere: it gets words
    for matcher in (pair_matcher(matrices, 8, []), dense_matcher(*matrices, MatchOptions())):
        found = solve_bucket(problem, MatchOptions(), MissingClassRule.FORBIDDEN, matcher)
        assert found.words == (7,)
        assert not found.set_aside


@pytest.mark.django_db
def test_result_depends_on_its_inputs_alone_and_is_made_once(project: Project) -> None:
    store_synthetic_project(project)
    built = build_set(project)
    folder, plan = SetFolder.of(built), read_plan(SetFolder.of(built))
    assert plan is not None
    options = QuestionSetOptions(**built.options)
    path = folder.result(plan.buckets[0].sha256)
    before, made_at = path.read_bytes(), path.stat().st_mtime_ns
    match_bucket(folder, plan.buckets[0].sha256, plan.vectors, options)
    assert path.stat().st_mtime_ns == made_at, "a finished bucket is left as it is"
    path.unlink()
    match_bucket(folder, plan.buckets[0].sha256, plan.vectors, options)
    assert path.read_bytes() == before
    path.unlink()
    inputs = read_json(folder.inputs(plan.buckets[0].sha256))
    write_json(folder.inputs(plan.buckets[0].sha256), inputs | {"queries": inputs["queries"][::-1]})
    with pytest.raises(InvalidInput, match="was changed; build the set again"):
        match_bucket(folder, plan.buckets[0].sha256, plan.vectors, options)


@pytest.mark.django_db
@pytest.mark.long
def test_cross_encoder_and_inference_model_build_a_set(
    project: Project, tmp_path: Path, one_thread: None
) -> None:
    store_synthetic_project(project, {"train-0": 24, "val-0": 24, "test-0": 24})
    cross = save_tiny_pair_model(tmp_path / "cross", ["a", "b"])
    nli = save_tiny_pair_model(tmp_path / "nli", ["contradiction", "entailment", "neutral"])
    built = build_set(
        project, relevance=f"cross:{cross}", similarity=f"nli:{nli}", epochs=1, examples=20, shortlist=6
    )
    assert built.provenance["relevance"]["name"] == "cross:cross"
    assert built.provenance["similarity"]["name"] == "nli:nli"
    assert built.provenance["similarity"]["stand_in"] == ""
    assert len(set(built.provenance["relevance"]["revisions"].values())) == 6, "one for each fold and stage"
    assert {found["k"] for bucket in built.figures["buckets"] for found in bucket["rounds"]} != {None}
    assert set(built.figures["dense_sample"]) == {"answer", "rationale"}
    assert all(found["loss"] >= 0 for found in built.figures["dense_sample"].values())
    assert QuestionSet.objects.get().questions.exclude(choices=[]).count() == 144
