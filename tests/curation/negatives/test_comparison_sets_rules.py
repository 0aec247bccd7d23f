"""Every rule of comparison sets against a plain implementation, on small inputs with many ties and copies.

Components are +1 or -1, so products, sums and scaling are exact in floating point: equal candidates have exactly
equal scores, and a wrong tie rule fails the test.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from curation.negatives import candidates as pool_module
from curation.negatives.comparison_sets import ComparisonSetResult, build_comparison_sets
from curation.negatives.kernels import dot_rows
from curation.negatives.matmul_backends import matmul_error_bound
from curation.negatives.options import (
    ComparisonSetOptions,
    DisqualificationScope,
    DiversityMeasure,
    ExecutionOptions,
    FloorTiming,
    GoldStrictness,
    SameImageRule,
    SpeedShortcut,
    TurnOrder,
    VerbatimCapTiming,
)
from curation.negatives.plausibility import EmbeddingPlausibility, PlausibilityMatrix
from curation.records import InvalidInput, SkipReason

DIMENSIONS = 16  # a power of four, so that vectors of signs are scaled exactly


@dataclass(frozen=True)
class Corpus:
    """m instances and n inferences; equal texts have equal vectors. kept: what soft de-duplication left."""

    images: np.ndarray
    inferences: np.ndarray
    vectors: np.ndarray
    texts: list[str]
    image_ids: list[int]
    kept: list[int]

    @property
    def scores(self) -> np.ndarray:
        return self.images @ self.inferences.T / DIMENSIONS


def corpus(m: int, n: int, distinct: int, seed: int) -> Corpus:
    generator = np.random.default_rng(seed)
    which = generator.integers(distinct, size=n)
    signs = np.array([-1.0, 1.0])
    # Few distinct columns make many ties between texts that differ.
    inferences = generator.choice(signs, (distinct, DIMENSIONS))
    vectors = generator.choice(signs, (distinct, DIMENSIONS))
    inferences[:, 5:] = inferences[0, 5:]
    vectors[:, 6:] = vectors[0, 6:]
    return Corpus(
        images=generator.choice(signs, (m, DIMENSIONS)),
        inferences=inferences[which],
        vectors=vectors[which],
        texts=[f"text {i} " + "word " * (i % 4) for i in which.tolist()],
        image_ids=generator.integers(max(1, n // 3), size=n).tolist(),
        kept=sorted(generator.choice(n, size=max(1, n - n // 5), replace=False).tolist()),
    )


class Plain:
    """The rules once more, without blocks, bounds or arrays."""

    def __init__(self, given: Corpus, options: ComparisonSetOptions, seed: int) -> None:
        self.given, self.options = given, options
        self.scores, self.unit = given.scores, given.vectors / 4
        self.sampled: Counter[str] = Counter()
        self.used_for: dict[int, set[int]] = defaultdict(set)
        self.free = self.after_cap()
        self.eligible = [sum(self.may(i, j) for j in self.free) for i in range(len(self.scores))]
        self.sets: list[Any] = []
        self.skipped: list[Any] = []
        for i in self.turns(seed):
            self.turn(i)

    def after_cap(self) -> set[int]:
        if self.options.verbatim_cap is VerbatimCapTiming.AT_SAMPLING:
            return set(self.given.kept)
        seen: Counter[str] = Counter()
        stays = set()
        for j in self.given.kept:
            seen[self.given.texts[j]] += 1
            if seen[self.given.texts[j]] <= self.options.max_verbatim:
                stays.add(j)
        return stays

    def may(self, i: int, j: int) -> bool:
        same = self.given.image_ids[i] == self.given.image_ids[j]
        if j == i or (same and self.options.same_image is SameImageRule.FORBIDDEN):
            return False
        above, gold = self.scores[i, j], self.scores[i, i]
        return above > gold or (self.options.strictness is GoldStrictness.AT_LEAST and above == gold)

    def turns(self, seed: int) -> list[int]:
        given = list(range(len(self.scores)))
        if self.options.order is TurnOrder.RANDOM:
            return np.random.default_rng(seed).permutation(len(given)).tolist()
        if self.options.order is TurnOrder.GIVEN:
            return given
        sign = -1 if self.options.order is TurnOrder.MOST_CANDIDATES else 1
        return sorted(given, key=lambda i: (sign * self.eligible[i], i))

    def turn(self, i: int) -> None:
        used = self.used_for[self.given.image_ids[i]]
        pool = [j for j in sorted(self.free - used) if self.may(i, j)]
        counted = self.eligible[i] if self.options.floor_when is FloorTiming.START else len(pool)
        figures: dict[int, Any] = {}
        sampled = self.sampled.copy()
        while counted >= self.options.min_candidates and len(figures) < self.options.size:
            left = [j for j in pool if j not in figures and self.under_cap(j, sampled)]
            if not left:
                break
            values = {j: self.value(i, j, list(figures)) for j in left}
            best = max(left, key=lambda j: (values[j][2], -j))
            figures[best] = values[best]
            sampled[self.given.texts[best]] += 1
        if len(figures) < self.options.size:
            self.skipped.append((i, reason(counted, self.eligible[i], self.options), len(pool)))
            return
        self.sets.append((i, list(figures), list(figures.values()), len(pool)))
        self.sampled = sampled
        if self.options.disqualification is DisqualificationScope.GLOBAL:
            self.free -= set(figures)
        else:
            used |= set(figures)
        self.free = {j for j in self.free if self.under_cap(j, sampled)}

    def under_cap(self, j: int, sampled: Counter[str]) -> bool:
        before = self.options.verbatim_cap is VerbatimCapTiming.BEFORE_FLOOR
        return before or sampled[self.given.texts[j]] < self.options.max_verbatim

    def value(self, i: int, j: int, chosen: list[int]) -> tuple[float, float, float]:
        near = [float(self.unit[j] @ self.unit[c]) for c in chosen]
        mean = self.options.diversity is DiversityMeasure.MEAN
        similarity = 0.0 if not near else sum(near) / len(near) if mean else max(near)
        return self.scores[i, j], similarity, self.options.weight * self.scores[i, j] - similarity


def reason(counted: int, eligible: int, options: ComparisonSetOptions) -> SkipReason:
    if counted >= options.min_candidates:
        return SkipReason.CANNOT_FILL_SET
    if eligible == 0:
        return SkipReason.GOLD_IS_BEST
    return SkipReason.USED_UP if eligible >= options.min_candidates else SkipReason.TOO_FEW_CANDIDATES


OPTIONS = st.builds(
    ComparisonSetOptions,
    size=st.integers(1, 5),
    min_candidates=st.integers(1, 8),
    max_verbatim=st.integers(1, 3),
    diversity=st.sampled_from(DiversityMeasure),
    weight=st.sampled_from([0.0, 0.5, 5.0]),
    strictness=st.sampled_from(GoldStrictness),
    same_image=st.sampled_from(SameImageRule),
    floor_when=st.sampled_from(FloorTiming),
    order=st.sampled_from(TurnOrder),
    disqualification=st.sampled_from(DisqualificationScope),
    verbatim_cap=st.sampled_from(VerbatimCapTiming),
)
CORPORA = st.builds(
    lambda n, instances, copies, seed: corpus(max(1, n * instances // 4), n, max(1, n // copies), seed),
    n=st.integers(4, 60),
    instances=st.integers(1, 4),
    copies=st.integers(1, 6),
    seed=st.integers(0, 10**6),
)


def build(
    given: Corpus, options: ComparisonSetOptions, kind: Any = "float32", **work: Any
) -> ComparisonSetResult:
    if kind == "matrix":
        plausibility: Any = PlausibilityMatrix(given.scores)
    else:
        plausibility = EmbeddingPlausibility(given.images.astype(kind), given.inferences.astype(kind))
    return build_comparison_sets(
        plausibility,
        given.texts,
        given.vectors.astype(np.float64 if kind == "matrix" else kind),
        candidate_ids=given.kept,
        image_ids=given.image_ids,
        options=options,
        generator=np.random.default_rng(7),
        execution=ExecutionOptions(**work),
    )


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(given_corpus=CORPORA, options=OPTIONS, kind=st.sampled_from(["matrix", "float32", "float64"]))
def test_every_combination_of_rules(given_corpus: Corpus, options: ComparisonSetOptions, kind: str) -> None:
    result = build(given_corpus, options, kind)
    expected = Plain(given_corpus, options, seed=7)
    ours = [
        (
            d.instance,
            list(d.chosen),
            list(zip(d.plausibility, d.similarity, d.objectives, strict=True)),
            d.available,
        )
        for d in result.drafts
    ]
    assert ours == expected.sets
    assert [(s.instance, s.reason, s.available) for s in result.skipped] == expected.skipped
    assert result.eligible.tolist() == expected.eligible
    assert sorted(item.rank for item in result.sets) == list(range(1, len(expected.sets) + 1))


@settings(max_examples=60, deadline=None)
@given(given_corpus=CORPORA, options=OPTIONS, shortcut=st.sampled_from(SpeedShortcut))
def test_shortcuts_do_not_change_sets(
    given_corpus: Corpus, options: ComparisonSetOptions, shortcut: SpeedShortcut
) -> None:
    if shortcut is SpeedShortcut.DROP_USED and options.floor_when is FloorTiming.START:
        with pytest.raises(InvalidInput, match="drop_used cannot count"):
            replace(options, shortcut=shortcut)
        return
    full = build(given_corpus, options)
    short = build(given_corpus, replace(options, shortcut=shortcut))
    assert short.sets == full.sets
    known = {item.instance: item.available for item in full.skipped}
    for item in short.skipped:
        if item.reason is SkipReason.POOL_EXHAUSTED:
            assert shortcut is SpeedShortcut.STOP_EARLY
            assert item.available is None
        else:
            assert item.available == known[item.instance]
    assert {item.instance for item in short.skipped} == set(known)


@pytest.mark.parametrize("shortcut", list(SpeedShortcut))
def test_results_do_not_depend_on_blocks_or_threads(
    monkeypatch: pytest.MonkeyPatch, shortcut: SpeedShortcut
) -> None:
    corpus_data = corpus(150, 200, 80, 3)
    rules = {"size": 3, "min_candidates": 4, "shortcut": shortcut}
    options = ComparisonSetOptions(**rules, disqualification=DisqualificationScope.GLOBAL)
    expected = build(corpus_data, options)
    assert expected.sets
    for rows, threads in ((1, 1), (7, 3), (64, 2), (150, 4)):
        monkeypatch.setattr(pool_module, "MAX_ROWS", rows)
        found = build(corpus_data, options, threads=threads)
        assert found.sets == expected.sets
        assert found.skipped == expected.skipped
        assert found.drafts == expected.drafts
        assert found.eligible.tolist() == expected.eligible.tolist()


def noisy(m: int, n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """float32 vectors as an encoder's, a third of the inferences verbatim copies."""
    generator = np.random.default_rng(seed)
    which = generator.integers(2 * n // 3, size=n)
    inferences = generator.normal(size=(n, d)).astype(np.float32)[which]
    images = inferences[:m] + 6 * generator.normal(size=(m, d)).astype(np.float32)
    vectors = (generator.normal(size=(n, 37)) + 0.6).astype(np.float32)[which]
    return images, inferences, vectors, [f"text {i}" for i in which]


@pytest.mark.parametrize("diversity", list(DiversityMeasure))
def test_block_rounding_does_not_change_sets(
    monkeypatch: pytest.MonkeyPatch, diversity: DiversityMeasure
) -> None:
    images, inferences, vectors, texts = noisy(170, 260, 93, 5)
    options = ComparisonSetOptions(size=4, min_candidates=5, diversity=diversity)
    found = []
    for rows in (1, 3, 50, 170):
        monkeypatch.setattr(pool_module, "MAX_ROWS", rows)
        plausibility = EmbeddingPlausibility(images, inferences)
        found.append(build_comparison_sets(plausibility, texts, vectors, options=options))
    assert found[0].sets
    assert all(other.drafts == found[0].drafts for other in found)
    assert all(other.skipped == found[0].skipped for other in found)
    # The same from the matrix of exact values, which leaves nothing to round.
    unit = [scaled(rows) for rows in (images, inferences)]
    matrix = np.array([dot_rows(np.tile(row, (260, 1)), unit[1]) for row in unit[0]])
    exact = build_comparison_sets(PlausibilityMatrix(matrix), texts, vectors, options=options)
    assert exact.drafts == found[0].drafts
    assert exact.skipped == found[0].skipped


def scaled(rows: np.ndarray) -> np.ndarray:
    wide = rows.astype(np.float64)
    wide /= np.abs(wide).max(axis=1, keepdims=True)
    return (wide / np.sqrt(dot_rows(wide, wide))[:, None]).astype(np.float32)


@pytest.mark.parametrize("d", [1, 3, 8, 64, 768, 1001])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_stay_within_the_margin(d: int, kind: type[np.floating]) -> None:
    generator = np.random.default_rng(d)
    unit = [generator.normal(size=(60, d)) for _ in range(2)]
    unit = [(rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(kind) for rows in unit]
    product = (unit[0] @ unit[1].T).astype(np.float64)
    exact = np.array([dot_rows(np.tile(row, (60, 1)), unit[1]) for row in unit[0]])
    longest = np.array([[np.longdouble(a) @ np.longdouble(b) for b in unit[1]] for a in unit[0]])
    assert np.abs(product - exact).max() <= matmul_error_bound(unit[0])
    assert np.abs(exact - longest).max() <= matmul_error_bound(unit[0].astype(np.float64))


def test_copy_of_gold_never_scores_above_gold() -> None:
    images, inferences, vectors, _ = noisy(255, 255, 67, 4)
    inferences[200:] = inferences[:55]
    options = ComparisonSetOptions(size=1, min_candidates=1, max_verbatim=9)
    result = build_comparison_sets(
        EmbeddingPlausibility(images, inferences), [str(i) for i in range(255)], vectors, options=options
    )
    for item in result.sets:
        assert not np.array_equal(inferences[item.chosen[0]], inferences[item.instance])


class Stopped(Exception):
    """What a progress report raises to stop."""


def test_progress_is_reported_and_can_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_ROWS", 16)
    corpus_data = corpus(100, 120, 60, 1)
    reported: list[tuple[int, int]] = []
    options = ComparisonSetOptions(size=2, min_candidates=2)
    build(corpus_data, options, progress=lambda *at: reported.append(at))
    assert reported == [(min(16 * k, 100), 100) for k in range(1, 8)]
    reported.clear()
    build(
        corpus_data,
        replace(options, order=TurnOrder.MOST_CANDIDATES),
        progress=lambda *at: reported.append(at),
    )
    assert reported[-1] == (200, 200)
    reported.clear()

    def stop(done: int, total: int) -> None:
        reported.append((done, total))
        if done >= 32:
            raise Stopped

    with pytest.raises(Stopped):
        build(corpus_data, options, progress=stop)
    assert reported == [(16, 100), (32, 100)]


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_uses_one_thread_per_worker_and_is_restored() -> None:
    corpus_data = corpus(100, 120, 60, 1)
    reported: list[int] = []
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()

        def stop_at_once(done: int, total: int) -> None:
            reported.extend(blas_threads())
            raise Stopped

        with pytest.raises(Stopped):
            build(corpus_data, ComparisonSetOptions(size=2, min_candidates=2), progress=stop_at_once)
        assert blas_threads() == before
    assert before
    assert reported == [1] * len(before)


def test_early_stop_reports_uncounted_instances() -> None:
    corpus_data = corpus(90, 90, 90, 2)
    options = ComparisonSetOptions(size=5, min_candidates=5, shortcut=SpeedShortcut.STOP_EARLY)
    reported: list[tuple[int, int]] = []
    result = build(corpus_data, options, progress=lambda *at: reported.append(at))
    stopped = [item for item in result.skipped if item.reason is SkipReason.POOL_EXHAUSTED]
    assert stopped
    assert all(item.available is None for item in stopped)
    assert (result.eligible[[item.instance for item in stopped]] == -1).all()
    assert reported[-1] == (90, 90)


def test_memory_holds_few_rows_of_scores() -> None:
    images, inferences, vectors, texts = noisy(3000, 3000, 16, 0)
    build_comparison_sets(EmbeddingPlausibility(images[:50], inferences), texts, vectors)  # compiled
    tracemalloc.start()
    plausibility = EmbeddingPlausibility(images, inferences)
    build_comparison_sets(plausibility, texts, vectors, execution=ExecutionOptions(memory_mib=1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000 * 4 / 4


def test_empty_candidate_pool_skips_all_instances() -> None:
    corpus_data = replace(corpus(6, 9, 9, 0), kept=[])
    for kind in ("matrix", "float32"):
        result = build(corpus_data, ComparisonSetOptions(), kind)
        assert result.sets == ()
        assert {item.reason for item in result.skipped} == {SkipReason.GOLD_IS_BEST}
