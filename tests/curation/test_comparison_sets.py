"""Comparison sets against the stored cases, stage by stage, and the invariants that hold under every reading."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.dedup.hierarchical import Linkage, cluster_to_k
from curation.negatives.comparison_sets import (
    ComparisonSetOptions,
    ComparisonSetResult,
    build_comparison_sets,
)
from curation.negatives.filters import as_mask, cap_verbatim, keep_soft, more_plausible_than_gold
from curation.negatives.greedy import Diversity
from curation.negatives.plausibility import BLOCK_ROWS, EmbeddingPlausibility, PlausibilityMatrix
from curation.records import InvalidInput, SkipReason

CASES = Path(__file__).parents[1] / "cases" / "comparison_set.json"


@cache
def load() -> list[dict[str, Any]]:
    cases = json.loads(CASES.read_text())["cases"]
    assert len(cases) == 2
    return cases


@pytest.fixture(params=[0, 1], ids=["K120", "K300"])
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    return load()[request.param]


def build(case: dict[str, Any], **options: Any) -> ComparisonSetResult:
    return build_comparison_sets(
        PlausibilityMatrix(np.array(case["plausibility"])),
        case["texts"],
        np.array(case["sbert_embeddings"]),
        kept=case["soft_kept"],
        options=ComparisonSetOptions(**options),
    )


def test_stage_plausibility(case: dict[str, Any]) -> None:
    for gold, row in enumerate(np.array(case["plausibility"])):
        assert np.flatnonzero(more_plausible_than_gold(row, gold)).tolist() == case["A1_candidates"][gold]


@pytest.mark.parametrize("linkage", list(Linkage))
def test_stage_soft_deduplication(case: dict[str, Any], linkage: Linkage) -> None:
    vectors = np.array(case["sbert_embeddings"], dtype=np.float32)
    labels = cluster_to_k(vectors, case["n_clusters"], linkage=linkage)
    clusters = {frozenset(np.flatnonzero(labels == label).tolist()) for label in range(case["n_clusters"])}
    assert clusters == {frozenset(cluster) for cluster in case["clusters"]}
    assert keep_soft(vectors, linkage=linkage).tolist() == case["soft_kept"]


def test_stage_verbatim(case: dict[str, Any]) -> None:
    assert cap_verbatim(case["soft_kept"], case["texts"], 3).tolist() == case["hard_kept"]
    mask = as_mask(case["hard_kept"], len(case["texts"]))
    for gold, row in enumerate(np.array(case["plausibility"])):
        assert (
            np.flatnonzero(mask & more_plausible_than_gold(row, gold)).tolist() == case["A4_candidates"][gold]
        )


def test_stage_greedy_and_skipped(case: dict[str, Any]) -> None:
    result = build(case)
    assert [draft.instance for draft in result.drafts] == [item["instance"] for item in case["sets"]]
    for draft, expected in zip(result.drafts, case["sets"], strict=True):
        assert list(draft.chosen) == expected["chosen"]
        assert draft.available == expected["pool_size"]
        assert draft.objectives == pytest.approx(expected["objective"], abs=1e-9, rel=0)
    ours = [{"instance": item.instance, "available": item.available} for item in result.skipped]
    assert ours == case["skipped"]
    assert {item.reason for item in result.skipped} == {SkipReason.TOO_FEW_CANDIDATES}


def test_stage_promise(case: dict[str, Any]) -> None:
    result, expected = build(case), case["ranking"]
    promises = [draft.promise for draft in result.drafts]
    assert [p.words for p in promises] == pytest.approx(expected["mean_words"], abs=1e-9, rel=0)
    assert [p.similarity for p in promises] == pytest.approx(expected["mean_pair_cos"], abs=1e-9, rel=0)
    assert [p.plausibility for p in promises] == pytest.approx(expected["mean_plausibility"], abs=1e-9, rel=0)
    assert result.ranking.words.tolist() == expected["rank_len"]
    assert result.ranking.similarity.tolist() == expected["rank_div"]
    assert result.ranking.plausibility.tolist() == expected["rank_plaus"]
    assert result.ranking.total.tolist() == expected["total"]
    assert [item.instance for item in sorted(result.sets, key=lambda item: item.rank)] == expected["order"]


def test_streamed_embeddings_give_the_same_sets() -> None:
    case = load()[0]
    streamed = EmbeddingPlausibility(
        np.array(case["image_region_embeddings"]), np.array(case["text_embeddings"])
    )
    full = np.stack(list(streamed.rows()))
    np.testing.assert_allclose(full, np.array(case["plausibility"]), atol=1e-6)
    vectors = np.array(case["sbert_embeddings"])
    ours = build_comparison_sets(streamed, case["texts"], vectors, kept=case["soft_kept"])
    matrix = build_comparison_sets(PlausibilityMatrix(full), case["texts"], vectors, kept=case["soft_kept"])
    assert ours.sets == matrix.sets
    assert ours.skipped == matrix.skipped


def test_a_copy_of_the_gold_is_never_above_it_when_streamed() -> None:
    generator = np.random.default_rng(4)
    images = generator.normal(size=(BLOCK_ROWS + 45, 67)).astype(np.float32)
    inferences = generator.normal(size=(BLOCK_ROWS + 45, 67)).astype(np.float32)
    inferences[200:] = inferences[: len(inferences) - 200]
    pairs = 0
    for gold, row in enumerate(EmbeddingPlausibility(images, inferences).rows()):
        twins = [index for index in (gold - 200, gold + 200) if 0 <= index < len(row)]
        pairs += len(twins)
        assert not more_plausible_than_gold(row, gold)[twins].any()
    assert pairs == 2 * (BLOCK_ROWS + 45 - 200)


def oracle(
    scores: np.ndarray, texts: list[str], unit: np.ndarray, kept: list[int], options: ComparisonSetOptions
) -> tuple[list[list[str]], list[int]]:
    """The same rules written once more, without arrays: texts of each set, and candidates at every turn."""
    count: Counter[str] = Counter()
    free = set()
    for index in kept:
        count[texts[index]] += 1
        if count[texts[index]] <= options.max_verbatim:
            free.add(index)
    sets, available = [], []
    for instance in range(len(scores)):
        pool = [j for j in sorted(free) if scores[instance, j] > scores[instance, instance]]
        available.append(len(pool))
        if len(pool) < max(options.min_candidates, options.size):
            continue
        chosen: list[int] = []
        while len(chosen) < options.size:

            def value(j: int) -> float:
                near = [float(unit[j] @ unit[c]) for c in chosen]
                closeness = (
                    0.0
                    if not near
                    else max(near)
                    if options.diversity is Diversity.MAX
                    else sum(near) / len(near)
                )
                return options.weight * scores[instance, j] - closeness

            best = max((j for j in pool if j not in chosen), key=lambda j: (round(value(j), 11), -j))
            chosen.append(best)
        free -= set(chosen)
        sets.append([texts[j] for j in chosen])
    return sets, available


def made_up(n: int, distinct: int, seed: int) -> tuple[np.ndarray, list[str], np.ndarray]:
    """n inferences of which only some are distinct; copies share their text, vector and plausibility."""
    generator = np.random.default_rng(seed)
    which = generator.integers(0, distinct, size=n)
    words = generator.integers(1, 9, size=distinct)
    texts = [" ".join([f"text{i}"] * words[i]) for i in which]
    vectors = generator.normal(size=(distinct, 9))[which]
    return generator.normal(size=(n, distinct))[:, which], texts, vectors


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(20, 90),
    copies=st.integers(1, 6),
    seed=st.integers(0, 10**6),
    diversity=st.sampled_from(Diversity),
    size=st.integers(1, 6),
    floor=st.integers(1, 9),
)
def test_rules_and_invariants_with_many_verbatim_copies(
    n: int, copies: int, seed: int, diversity: Diversity, size: int, floor: int
) -> None:
    scores, texts, vectors = made_up(n, max(1, n // copies), seed)
    options = ComparisonSetOptions(size=size, min_candidates=floor, diversity=diversity)
    result = build_comparison_sets(PlausibilityMatrix(scores), texts, vectors, options=options)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected, available = oracle(scores, texts, unit, list(range(n)), options)
    assert [[texts[j] for j in item.chosen] for item in result.sets] == expected
    assert all(item.available == available[item.instance] for item in (*result.skipped, *result.drafts))
    check_invariants(result, scores, texts, options)


def check_invariants(
    result: ComparisonSetResult, scores: np.ndarray, texts: list[str], options: ComparisonSetOptions
) -> None:
    assert sorted(x.instance for x in (*result.sets, *result.skipped)) == list(range(len(scores)))
    assert sorted(item.rank for item in result.sets) == list(range(1, len(result.sets) + 1))
    assert all(len(set(item.chosen)) == options.size for item in result.sets)
    sampled = [index for item in result.sets for index in item.chosen]
    assert len(sampled) == len(set(sampled))
    assert max(Counter(texts[index] for index in sampled).values(), default=0) <= options.max_verbatim
    for item in result.sets:
        assert all(
            scores[item.instance, index] > scores[item.instance, item.instance] for index in item.chosen
        )
    assert all(draft.available >= options.min_candidates for draft in result.drafts)


@pytest.mark.parametrize("diversity", list(Diversity))
def test_invariants_of_the_stored_cases(case: dict[str, Any], diversity: Diversity) -> None:
    result = build(case, diversity=diversity)
    assert result.sets
    check_invariants(result, np.array(case["plausibility"]), case["texts"], ComparisonSetOptions())
    labels = cluster_to_k(np.array(case["sbert_embeddings"]), case["n_clusters"])
    sampled = [labels[index] for item in result.sets for index in item.chosen]
    assert len(sampled) == len(set(sampled))


def test_verbatim_cap_comes_before_the_floor() -> None:
    scores = np.full((9, 9), 1.0)
    np.fill_diagonal(scores, 0.0)
    texts = ["same"] * 8 + ["other"]
    vectors = np.eye(9)
    options = ComparisonSetOptions(size=2, min_candidates=4)
    result = build_comparison_sets(PlausibilityMatrix(scores), texts, vectors, options=options)
    # Ids 0, 1, 2 and 8 stay. Each of them lacks its own gold; the others see all four.
    assert [(item.instance, item.available) for item in result.skipped][:3] == [(0, 3), (1, 3), (2, 3)]
    assert [(item.instance, item.chosen) for item in result.sets] == [(3, (0, 1))]
    assert result.skipped[-1].available == 1


def test_floor_met_but_set_cannot_be_filled() -> None:
    scores, texts, vectors = made_up(8, 8, 0)
    options = ComparisonSetOptions(size=9, min_candidates=1)
    result = build_comparison_sets(PlausibilityMatrix(scores), texts, vectors, options=options)
    assert result.sets == ()
    assert {item.reason for item in result.skipped if item.available} == {SkipReason.CANNOT_FILL_SET}
    assert {item.reason for item in result.skipped if not item.available} <= {SkipReason.TOO_FEW_CANDIDATES}


def test_soft_deduplication_can_sample_its_members() -> None:
    vectors = np.repeat(np.random.default_rng(1).normal(size=(20, 5)), 2, axis=0)
    lowest = keep_soft(vectors, share=0.5)
    assert lowest.tolist() == list(range(0, 40, 2))
    drawn = keep_soft(vectors, share=0.5, generator=np.random.default_rng(3))
    assert (drawn // 2).tolist() == (lowest // 2).tolist()
    assert drawn.tolist() != lowest.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": ["a"] * 7}, "7 texts and 8 text embeddings"),
        ({"text_vectors": np.ones((9, 3))}, "8 texts and 9 text embeddings"),
        ({"text_vectors": np.zeros((8, 3))}, "text embeddings: row 0 is all zeros"),
        ({"kept": [0, 8]}, "id 8 is outside 0 to 7"),
        ({"kept": [0, -1]}, "id -1 is outside 0 to 7"),
        ({"kept": [3, 3]}, "id 3 is given twice"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    given_input = {"texts": ["a"] * 8, "text_vectors": np.ones((8, 3))} | change
    with pytest.raises(InvalidInput, match=message):
        build_comparison_sets(PlausibilityMatrix(np.zeros((8, 8))), **given_input)


def test_score_that_is_not_finite_is_named() -> None:
    scores = np.zeros((300, 300))
    scores[280, 7] = np.nan
    with pytest.raises(InvalidInput, match="row 280 holds NaN"):
        build_comparison_sets(PlausibilityMatrix(scores), ["a"] * 300, np.ones((300, 2)))


@pytest.mark.parametrize("shape", [(3, 2), (4,), (0, 4)])
def test_matrix_without_a_gold_for_each_instance(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="plausibility"):
        PlausibilityMatrix(np.zeros(shape))


def test_embeddings_of_different_models() -> None:
    with pytest.raises(InvalidInput, match="4 dimensions and inference embeddings 5"):
        EmbeddingPlausibility(np.ones((2, 4)), np.ones((2, 5)))


@pytest.mark.parametrize(
    "option", [{"size": 0}, {"max_verbatim": 0}, {"weight": float("nan")}, {"weight": -1.0}]
)
def test_options_out_of_range(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(option))):
        ComparisonSetOptions(**option)
