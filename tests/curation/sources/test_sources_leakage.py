"""Pairs across splits equal all float64 cosines, for any block size."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from curation.records import InvalidInput
from curation.sources.leakage import (
    CrossPairs,
    count_products,
    find_cross_pairs,
    find_shared_keys,
    nearest_histogram,
    rounding_margin,
)

SPLITS = ("train", "val", "test")


def plain(vectors: NDArray[np.floating], splits: list[str], threshold: float) -> list[tuple[float, int, int]]:
    """All pairs across splits by the definition."""
    exact = vectors.astype(np.float64)
    found = []
    for i in range(len(exact)):
        for j in range(i + 1, len(exact)):
            norms = np.linalg.norm(exact[i]) * np.linalg.norm(exact[j])
            cosine = float(exact[i] @ exact[j] / norms) if norms else 0.0
            if splits[i] != splits[j] and cosine >= threshold:
                found.append((-cosine, i, j))
    return sorted(found)


def made(n: int, d: int, seed: int, copies: int = 0) -> tuple[NDArray[np.float32], list[str]]:
    generator = np.random.default_rng(seed)
    vectors = generator.standard_normal((n, d)).astype(np.float32)
    for at in generator.integers(0, n, copies):
        vectors[at] = vectors[(at + 1) % n] * 3 + 0.05 * generator.standard_normal(d)
    return vectors, [SPLITS[at] for at in generator.integers(0, 3, n)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    n=st.integers(2, 60),
    d=st.integers(1, 12),
    seed=st.integers(0, 10_000),
    block=st.integers(1, 20),
    threshold=st.sampled_from([0.5, 0.75, 0.9, 1.0]),
)
def test_leakage_pairs_equal_brute_force(n: int, d: int, seed: int, block: int, threshold: float) -> None:
    vectors, splits = made(n, d, seed, copies=n // 3)
    expected = plain(vectors, splits, threshold)
    found = find_cross_pairs(vectors, splits, threshold=threshold, limit=10_000, block=block)
    # A cosine within rounding of the threshold, such as that of one dimension, may differ in its last digit.
    sure = {(i, j) for minus, i, j in expected if -minus > threshold + 1e-12}
    possible = {(i, j) for _, i, j in plain(vectors, splits, threshold - 1e-12)}
    pairs = {(i, j) for i, j in found.rows.tolist()}
    assert sure <= pairs <= possible
    assert found.found == len(found.rows) == sum(found.by_splits.values())


def test_leakage_keeps_best_pairs_and_counts_all() -> None:
    vectors, splits = made(300, 16, seed=4, copies=200)
    everything = find_cross_pairs(vectors, splits, threshold=0.6, limit=100_000)
    few = find_cross_pairs(vectors, splits, threshold=0.6, limit=7, block=11)
    assert everything.found > 50
    assert few.found == everything.found
    assert few.by_splits == everything.by_splits
    assert few.rows.tolist() == everything.rows[:7].tolist()
    assert few.cosines.tolist() == everything.cosines[:7].tolist()
    assert np.all(np.diff(everything.cosines) <= 0)


def test_leakage_is_independent_of_block_size() -> None:
    vectors, splits = made(70, 33, seed=9, copies=50)

    def found(block: int) -> CrossPairs:
        return find_cross_pairs(vectors, splits, threshold=0.55, limit=500, block=block)

    for block in (1, 7, 64):
        assert found(block).rows.tolist() == found(2048).rows.tolist()
        np.testing.assert_allclose(found(block).nearest, found(2048).nearest, atol=rounding_margin(33))


def test_pair_at_the_threshold_is_found_despite_float32() -> None:
    # Two vectors whose float64 cosine is the threshold itself; in float32 half of such products fall below.
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(50):
        vectors = generator.standard_normal((2, 768)).astype(np.float32)
        vectors[1] += 3 * vectors[0]
        exact = plain(vectors, ["train", "test"], 0.5)[0]
        found = find_cross_pairs(vectors, ["train", "test"], threshold=-exact[0] - 1e-15, limit=1)
        hits += found.found
    assert hits == 50


def test_rounding_margin_holds() -> None:
    generator = np.random.default_rng(5)
    vectors = generator.standard_normal((400, 512))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    error = np.abs((unit.astype(np.float32) @ unit.astype(np.float32).T).astype(np.float64) - unit @ unit.T)
    assert error.max() <= rounding_margin(512)
    assert rounding_margin(512) < 1e-4


def test_nearest_is_the_best_over_all_other_splits() -> None:
    vectors, splits = made(80, 6, seed=2)
    found = find_cross_pairs(vectors, splits, threshold=1.0, limit=1, block=9)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    names = np.array(splits)
    cosines[names[:, None] == names[None, :]] = -1
    np.testing.assert_allclose(found.nearest, cosines.max(axis=1), atol=1e-5)
    assert sum(nearest_histogram(found.nearest)) == 80


def test_single_split_and_zero_rows_have_no_pairs() -> None:
    vectors = np.ones((4, 3), dtype=np.float32)
    alone = find_cross_pairs(vectors, ["train"] * 4, threshold=0.9, limit=5)
    assert (alone.found, alone.rows.shape, alone.by_splits) == (0, (0, 2), {})
    assert sum(nearest_histogram(alone.nearest)) == 0
    vectors[0] = 0
    assert find_cross_pairs(vectors, ["test", "train", "train", "test"], threshold=0.9, limit=9).found == 2


@pytest.mark.parametrize(
    ("vectors", "splits", "more", "complaint"),
    [
        (np.ones((2, 3)), ["a"], {}, "for 1 splits"),
        (np.ones(3), ["a"] * 3, {}, "give one row for each image"),
        (np.array([[1.0, np.nan], [1, 1]]), ["a", "b"], {}, "row 0 holds NaN"),
        (np.array([[1.0, 1], [1, np.inf]]), ["a", "b"], {}, "row 1 holds NaN or infinity"),
        (np.ones((2, 2)), ["a", "b"], {"threshold": 0.2}, "threshold: 0.2 is not between 0.5 and 1"),
        (np.ones((2, 2)), ["a", "b"], {"threshold": float("nan")}, "threshold: nan"),
        (np.ones((2, 2)), ["a", "b"], {"limit": 0}, "limit: 0 is too small"),
    ],
)
def test_invalid_leakage_input_is_refused(
    vectors: NDArray[np.floating], splits: list[str], more: dict[str, float], complaint: str
) -> None:
    options = {"threshold": 0.9, "limit": 5} | more
    with pytest.raises(InvalidInput, match=complaint):
        find_cross_pairs(vectors, splits, **options)  # type: ignore[arg-type]


def test_leakage_reports_progress_and_can_be_cancelled() -> None:
    vectors, splits = made(50, 4, seed=1)
    seen: list[int] = []
    find_cross_pairs(vectors, splits, threshold=0.9, limit=5, block=8, step=seen.append)
    assert sum(seen) == count_products(splits)

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_cross_pairs(vectors, splits, threshold=0.9, limit=5, step=stop)


def test_leakage_memory_is_bounded_by_blocks() -> None:
    import tracemalloc

    generator = np.random.default_rng(0)
    vectors = generator.standard_normal((3000, 8)).astype(np.float32)
    splits = ["train"] * 2000 + ["test"] * 1000
    tracemalloc.start()
    find_cross_pairs(vectors, splits, threshold=0.95, limit=10, block=128)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000  # all products alone would be 8 MB


def test_shared_keys_join_rows_of_different_splits_once() -> None:
    keys = [
        frozenset({"coco:1", "bytes:x"}),
        frozenset({"coco:1", "bytes:x"}),
        frozenset({"coco:1"}),
        frozenset(),
    ]
    found = find_shared_keys(keys, ["train", "test", "train", "test"])
    assert found == [(0, 1, "bytes:x"), (1, 2, "coco:1")]
