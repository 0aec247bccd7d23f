"""Comparison sets against the stored cases, stage by stage, and invariants of all rules."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.dedup.hierarchical import Linkage, cluster_to_k
from curation.negatives.candidates import CandidatePool, CandidateScorer
from curation.negatives.comparison_sets import ComparisonSetResult, build_comparison_sets
from curation.negatives.filters import cap_verbatim, soft_deduplicate_texts
from curation.negatives.options import (
    ComparisonSetOptions,
    DisqualificationScope,
    DiversityMeasure,
    ExecutionOptions,
    FloorTiming,
    GoldStrictness,
    KeepRule,
    LengthPreference,
    SameImageRule,
    SpeedShortcut,
    TurnOrder,
    parse_choice,
)
from curation.negatives.plausibility import EmbeddingPlausibility, PlausibilityMatrix
from curation.negatives.set_score import SetScore, rank_sets
from curation.records import InvalidInput, SkipReason
from tests.support import paths

CASES = paths.CASES / "comparison_set.json"


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
        candidate_ids=case["soft_kept"],
        options=ComparisonSetOptions(**options),
    )


def test_stage_plausibility(case: dict[str, Any]) -> None:
    every = list(range(len(case["texts"])))
    assert selected(case, every) == case["A1_candidates"]
    assert counted(case, every) == [len(c) for c in case["A1_candidates"]]


def selected(case: dict[str, Any], kept: list[int]) -> list[list[int]]:
    """The candidates that the compiled filter selects for every instance, before anything is sampled."""
    plausibility, options = PlausibilityMatrix(np.array(case["plausibility"])), ComparisonSetOptions()
    pool = CandidatePool(np.array(kept), case["texts"], options)
    with ThreadPoolExecutor(1) as threads:
        scorer = CandidateScorer(plausibility, pool, options, ExecutionOptions(), threads)
        return [
            pool.ids[scorer.free_candidates(block, row)].tolist()
            for block in scorer.score_blocks(np.arange(plausibility.shape[0]))
            for row in range(len(block.instances))
        ]


def counted(case: dict[str, Any], kept: list[int], cap: int = 10**6) -> list[int]:
    """How many candidates the compiled filter counts for every instance, before anything is sampled."""
    result = build_comparison_sets(
        PlausibilityMatrix(np.array(case["plausibility"])),
        case["texts"],
        np.array(case["sbert_embeddings"]),
        candidate_ids=kept,
        options=ComparisonSetOptions(max_verbatim=cap),
    )
    return result.eligible.tolist()


@pytest.mark.parametrize("linkage", list(Linkage))
def test_stage_soft_deduplication(case: dict[str, Any], linkage: Linkage) -> None:
    vectors = np.array(case["sbert_embeddings"], dtype=np.float32)
    labels = cluster_to_k(vectors, case["n_clusters"], linkage=linkage)
    clusters = {frozenset(np.flatnonzero(labels == label).tolist()) for label in range(case["n_clusters"])}
    assert clusters == {frozenset(cluster) for cluster in case["clusters"]}
    soft = soft_deduplicate_texts(vectors, share=case["n_clusters"] / len(vectors), linkage=linkage)
    assert soft.kept.tolist() == case["soft_kept"]
    assert soft.labels.tolist() == labels.tolist()
    dropped = {cluster[0]: cluster[1:] for cluster in case["clusters"] if len(cluster) > 1}
    assert soft.dropped_by_kept() == dropped
    assert [soft.sizes()[index] for index in case["soft_kept"]] == [len(c) for c in case["clusters"]]


def test_stage_soft_candidates(case: dict[str, Any]) -> None:
    assert counted(case, case["soft_kept"]) == [len(c) for c in case["A3_candidates"]]
    assert selected(case, case["soft_kept"]) == case["A3_candidates"]


def test_stage_verbatim(case: dict[str, Any]) -> None:
    assert cap_verbatim(case["soft_kept"], case["texts"], 3).tolist() == case["hard_kept"]
    assert selected(case, case["hard_kept"]) == case["A4_candidates"]
    assert counted(case, case["soft_kept"], cap=3) == [len(c) for c in case["A4_candidates"]]


def test_stage_floor_counted_at_the_start(case: dict[str, Any]) -> None:
    result = build(case, floor_when=FloorTiming.START)
    assert np.flatnonzero(result.eligible >= 20).tolist() == case["floor_static"]
    reasons = {item.instance: item.reason for item in result.skipped}
    had_a_chance = {item.instance for item in result.sets} | {
        instance for instance, reason in reasons.items() if reason is SkipReason.CANNOT_FILL_SET
    }
    assert had_a_chance == set(case["floor_static"])


def test_stage_greedy_and_skipped(case: dict[str, Any]) -> None:
    result = build(case)
    assert [draft.instance for draft in result.drafts] == [item["instance"] for item in case["sets"]]
    for draft, expected in zip(result.drafts, case["sets"], strict=True):
        assert list(draft.chosen) == expected["chosen"]
        assert draft.available == expected["pool_size"]
        assert draft.objectives == pytest.approx(expected["objective"], abs=1e-9, rel=0)
    ours = [{"instance": item.instance, "available": item.available} for item in result.skipped]
    assert ours == case["skipped"]
    for item in result.skipped:
        enough = item.instance in case["floor_static"]
        some = case["A4_candidates"][item.instance]
        few = SkipReason.TOO_FEW_CANDIDATES if some else SkipReason.GOLD_IS_BEST
        assert item.reason is (SkipReason.USED_UP if enough else few)


def test_page_counts_add_up(case: dict[str, Any]) -> None:
    result = build(case)
    scores = np.array(case["plausibility"])
    assert result.funnel.inferences == len(case["texts"])
    assert result.funnel.after_soft == len(case["soft_kept"])
    assert result.funnel.after_cap == len(case["hard_kept"])
    for draft in result.drafts:
        row = scores[draft.instance]
        assert draft.gold_plausibility == row[draft.instance]
        assert list(draft.plausibility) == row[list(draft.chosen)].tolist()
        assert min(draft.margins) > 0
        assert draft.similarity[0] == 0
        values = [5 * p - s for p, s in zip(draft.plausibility, draft.similarity, strict=True)]
        assert list(draft.objectives) == values
        assert draft.eligible == len(case["A4_candidates"][draft.instance]) >= draft.available


def test_stage_set_score(case: dict[str, Any]) -> None:
    result, expected = build(case), case["ranking"]
    promises = [draft.set_score for draft in result.drafts]
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
    images, inferences = np.array(case["image_region_embeddings"]), np.array(case["text_embeddings"])
    np.testing.assert_allclose(images @ inferences.T, np.array(case["plausibility"]), atol=1e-6)
    vectors = np.array(case["sbert_embeddings"])
    ours = build_comparison_sets(
        EmbeddingPlausibility(images, inferences), case["texts"], vectors, candidate_ids=case["soft_kept"]
    )
    assert [list(item.chosen) for item in ours.sets] == [item["chosen"] for item in case["sets"]]
    assert [(item.instance, item.available) for item in ours.skipped] == [
        (item["instance"], item["available"]) for item in case["skipped"]
    ]


def test_without_soft_deduplication_the_cap_binds_and_texts_agree(case: dict[str, Any]) -> None:
    scores, texts, vectors = made_up(120, 25, 3)
    result = build_comparison_sets(PlausibilityMatrix(scores), texts, vectors)
    assert result.funnel.after_soft == 120
    assert result.funnel.after_cap < 120
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected, available = oracle(scores, texts, unit, list(range(120)), ComparisonSetOptions())
    assert [[texts[j] for j in item.chosen] for item in result.sets] == expected
    assert result.sets
    assert all(item.available == available[item.instance] for item in (*result.skipped, *result.drafts))


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
                    if options.diversity is DiversityMeasure.MAX
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
    diversity=st.sampled_from(DiversityMeasure),
    size=st.integers(1, 6),
    floor=st.integers(1, 9),
)
def test_rules_and_invariants_with_many_verbatim_copies(
    n: int, copies: int, seed: int, diversity: DiversityMeasure, size: int, floor: int
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


@pytest.mark.parametrize("diversity", list(DiversityMeasure))
def test_invariants_of_the_stored_cases(case: dict[str, Any], diversity: DiversityMeasure) -> None:
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
    for item in result.skipped:
        assert item.reason is (SkipReason.CANNOT_FILL_SET if item.available else SkipReason.GOLD_IS_BEST)


@pytest.mark.parametrize("keep", list(KeepRule))
def test_soft_deduplication_keeps_by_rule(keep: KeepRule) -> None:
    vectors = np.repeat(np.random.default_rng(1).normal(size=(20, 5)), 3, axis=0)
    vectors[2::3] *= 1.001  # a copy in another length is still a copy
    soft = soft_deduplicate_texts(vectors, share=1 / 3, keep=keep, generator=np.random.default_rng(3))
    assert (soft.kept // 3).tolist() == list(range(20))
    assert soft.sizes().tolist() == [3] * 60
    assert {k: len(v) for k, v in soft.dropped_by_kept().items()} == dict.fromkeys(soft.kept.tolist(), 2)
    if keep is KeepRule.FIRST:
        assert soft.kept.tolist() == list(range(0, 60, 3))
    if keep is KeepRule.RANDOM:
        assert len(set((soft.kept % 3).tolist())) == 3


def test_share_of_one_keeps_everything() -> None:
    soft = soft_deduplicate_texts(np.random.default_rng(0).normal(size=(9, 4)), share=1.0)
    assert soft.kept.tolist() == list(range(9))
    assert soft.dropped_by_kept() == {}


def test_bad_soft_deduplication() -> None:
    with pytest.raises(InvalidInput, match=r"share: 1\.5 is not between 0 and 1"):
        soft_deduplicate_texts(np.ones((3, 2)), share=1.5)
    with pytest.raises(InvalidInput, match="keep: random needs a seed"):
        soft_deduplicate_texts(np.ones((3, 2)), keep=KeepRule.RANDOM)


def test_set_order_can_prefer_longer_or_shorter_sets() -> None:
    measured = [
        SetScore(words=3, similarity=0, plausibility=0),
        SetScore(words=9, similarity=0, plausibility=0),
    ]
    assert rank_sets(measured, plausibility_weight=5).order.tolist() == [1, 0]
    assert rank_sets(
        measured, plausibility_weight=5, preferred_length=LengthPreference.SHORTER
    ).order.tolist() == [0, 1]


def test_parse_choice_error_lists_all_options() -> None:
    assert parse_choice(TurnOrder, "random", "order") is TurnOrder.RANDOM
    with pytest.raises(InvalidInput, match="strictness: 'strict'; use above or at_least"):
        parse_choice(GoldStrictness, "strict", "strictness")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"same_image": SameImageRule.FORBIDDEN}, "image ids: these rules need"),
        ({"disqualification": DisqualificationScope.PER_IMAGE}, "image ids: these rules need"),
        ({"order": TurnOrder.RANDOM}, "order: random needs a seed"),
    ],
)
def test_rules_with_missing_inputs_are_refused(option: dict[str, Any], message: str) -> None:
    scores, texts, vectors = made_up(8, 8, 0)
    with pytest.raises(InvalidInput, match=message):
        build_comparison_sets(
            PlausibilityMatrix(scores), texts, vectors, options=ComparisonSetOptions(**option)
        )


def test_image_ids_of_another_length() -> None:
    scores, texts, vectors = made_up(8, 8, 0)
    with pytest.raises(InvalidInput, match="image ids: 3 for 8 inferences"):
        build_comparison_sets(PlausibilityMatrix(scores), texts, vectors, image_ids=["a", "b", "c"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": ["a"] * 7}, "7 texts and 8 text embeddings"),
        ({"text_vectors": np.ones((9, 3))}, "8 texts and 9 text embeddings"),
        ({"text_vectors": np.zeros((8, 3))}, "text embeddings: row 0 is all zeros"),
        ({"candidate_ids": [0, 8]}, "id 8 is outside 0 to 7"),
        ({"candidate_ids": [0, -1]}, "id -1 is outside 0 to 7"),
        ({"candidate_ids": [3, 3]}, "id 3 is given twice"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    given_input = {"texts": ["a"] * 8, "text_vectors": np.ones((8, 3))} | change
    with pytest.raises(InvalidInput, match=message):
        build_comparison_sets(PlausibilityMatrix(np.zeros((8, 8))), **given_input)


def test_non_finite_score_is_refused_by_position() -> None:
    scores = np.zeros((300, 300))
    scores[280, 7] = np.nan
    with pytest.raises(InvalidInput, match="row 280 holds NaN"):
        build_comparison_sets(PlausibilityMatrix(scores), ["a"] * 300, np.ones((300, 2)))


@pytest.mark.parametrize("shape", [(3, 2), (4,), (0, 4)])
def test_matrix_without_gold_candidate_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="plausibility"):
        PlausibilityMatrix(np.zeros(shape))


def test_embeddings_of_different_models() -> None:
    with pytest.raises(InvalidInput, match="4 dimensions and inference embeddings 5"):
        EmbeddingPlausibility(np.ones((2, 4)), np.ones((2, 5)))


@pytest.mark.parametrize(
    "option",
    [
        {"size": 0},
        {"max_verbatim": 0},
        {"weight": float("nan")},
        {"weight": -1.0},
        {"shortcut": SpeedShortcut.DROP_USED, "floor_when": FloorTiming.START},
    ],
)
def test_options_out_of_range(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(option))):
        ComparisonSetOptions(**option)


@pytest.mark.parametrize("option", ["memory_mib", "threads"])
def test_execution_options_of_zero_are_refused(option: str) -> None:
    with pytest.raises(InvalidInput, match=f"{option}: 0 is too few"):
        ExecutionOptions(**{option: 0})
