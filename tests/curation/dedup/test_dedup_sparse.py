"""Clustering from near pairs: equality with scipy, ties, independence of threads and memory, refusals."""

from __future__ import annotations

import itertools
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage

from curation.dedup import kernels, pairs, sparse
from curation.dedup.cuts import ByDistance, ByFraction, ByNumber, Clustering, ClusteringMethod, Linkage
from curation.dedup.dense import dense_tree, labels_from_merges
from curation.dedup.distance_sample import DistanceSample
from curation.dedup.hierarchical import cluster
from curation.dedup.matmul_backends import (
    BlockShape,
    NumpyFloat32Backend,
    accumulation_error,
    float32_product_error,
)
from curation.dedup.pairs import NearPairs, TooManyPairs, block_slices
from curation.dedup.rows import distinct_rows
from curation.dedup.vectors import unit_rows
from curation.records import InvalidInput
from tests.benchmarks._embeddings import DENSE, HIGH_DIMENSIONAL, PHOTOS, Shape, make

GRID_ROWS, GRID_SEED = 6000, 5
GRID = [
    (shape, linkage, share)
    for shape in (PHOTOS, DENSE, HIGH_DIMENSIONAL)
    for linkage in (Linkage.AVERAGE, Linkage.COMPLETE)
    for share in (0.8, 0.74, 0.5, 0.25)
]


def vectors(n: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def cluster_sparsely(features: np.ndarray, cut: object, linkage: Linkage, **how: object) -> Clustering:
    found = cluster(features, cut, linkage=linkage, method=ClusteringMethod.SPARSE, **how)  # type: ignore[arg-type]
    assert found.method is ClusteringMethod.SPARSE
    return found


def by_scipy(features: np.ndarray, k: int, linkage: Linkage) -> np.ndarray:
    """scipy's own distances and tree, cut at k clusters."""
    unit = features.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    if linkage is Linkage.WARD:
        tree = scipy_linkage(unit, method="ward")
    else:
        tree = scipy_linkage(unit, method=linkage.value, metric="cosine")
    return labels_from_merges(tree[: len(features) - k, :2].astype(np.int64), len(features))


@pytest.mark.nightly
@pytest.mark.parametrize(("shape", "linkage", "share"), GRID)
def test_robustness_grid(shape: Shape, linkage: Linkage, share: float) -> None:
    features = make(GRID_ROWS, 512, GRID_SEED, shape)
    k = round(share * GRID_ROWS)
    np.testing.assert_array_equal(
        cluster_sparsely(features, ByNumber(k), linkage).labels, by_scipy(features, k, linkage)
    )


@pytest.mark.parametrize("linkage", list(Linkage))
@pytest.mark.parametrize("shape", [PHOTOS, DENSE, HIGH_DIMENSIONAL], ids=["photos", "dense", "high"])
def test_small_grid_equals_scipy_for_every_linkage(shape: Shape, linkage: Linkage) -> None:
    features = make(900, 300, GRID_SEED, shape)
    tree = dense_tree(features, linkage)
    for share in (0.95, 0.74, 0.3):
        k = round(share * len(features))
        found = cluster_sparsely(features, ByNumber(k), linkage)
        np.testing.assert_array_equal(
            found.labels, labels_from_merges(tree[: 900 - k, :2].astype(np.int64), 900)
        )
        np.testing.assert_allclose(np.sort(found.heights), tree[: 900 - k, 2], atol=1e-9)


@pytest.mark.parametrize("linkage", list(Linkage))
@settings(max_examples=40, deadline=None)
@given(n=st.integers(3, 40), d=st.integers(2, 9), seed=st.integers(0, 10**6), data=st.data())
def test_few_rows_equal_scipy(linkage: Linkage, n: int, d: int, seed: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, n - 1))
    features = vectors(n, d, seed)
    tree = dense_tree(features, linkage)
    found = cluster_sparsely(features, ByNumber(k), linkage)
    np.testing.assert_allclose(np.sort(found.heights), tree[: n - k, 2], atol=1e-9)
    if np.diff(tree[:, 2]).min() > 1e-9:
        np.testing.assert_array_equal(found.labels, by_scipy(features, k, linkage))
        halfway = (tree[n - k - 1, 2] + tree[n - k, 2]) / 2
        np.testing.assert_array_equal(
            cluster_sparsely(features, ByDistance(halfway), linkage).labels, found.labels
        )


# Ties. Rows of plus and minus ones in 4 dimensions have length 2: every sum below is exact in binary, so equal
# distances are equal to the last bit, and fractions give the expected order.

SIGNS = list(itertools.product((-1, 1), repeat=4))


def fraction_apart(rows: list[tuple[int, ...]], a: list[int], b: list[int], linkage: Linkage) -> Fraction:
    """The distance of two clusters in exact arithmetic; for Ward half of scipy's squared."""
    each = [1 - Fraction(sum(x * y for x, y in zip(rows[i], rows[j], strict=True)), 4) for i in a for j in b]
    if linkage is Linkage.SINGLE:
        return min(each)
    if linkage is Linkage.COMPLETE:
        return max(each)
    if linkage is Linkage.AVERAGE:
        return sum(each, Fraction(0)) / len(each)
    means = [[Fraction(sum(rows[i][t] for i in some), 2 * len(some)) for t in range(4)] for some in (a, b)]
    squares = sum(((x - y) ** 2 for x, y in zip(*means, strict=True)), Fraction(0))
    return squares * Fraction(len(a) * len(b), len(a) + len(b))


def plain_clustering(rows: list[tuple[int, ...]], copy_of: list[int], k: int, linkage: Linkage) -> list[int]:
    """The documented rule, word by word: copies first, then the nearest pair, then the lowest names."""
    clusters = [[i] for i in range(len(rows))]

    def order(pair: tuple[list[int], list[int]]) -> tuple[bool, Fraction, int, int]:
        a, b = pair
        copies = len({copy_of[i] for i in a + b}) == 1
        return not copies, fraction_apart(rows, a, b, linkage), min(a + b), max(min(a), min(b))

    while len(clusters) > k:
        a, b = min(itertools.combinations(clusters, 2), key=order)
        clusters = [some for some in clusters if some not in (a, b)] + [sorted(a + b)]
    label_of = {i: label for label, some in enumerate(sorted(clusters)) for i in some}
    return [label_of[i] for i in range(len(rows))]


@pytest.mark.parametrize("linkage", list(Linkage))
@pytest.mark.parametrize("lengths", ["equal", "different"])
@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.sampled_from(SIGNS), min_size=2, max_size=12), data=st.data())
def test_ties_follow_the_documented_rule(
    linkage: Linkage, lengths: str, rows: list[tuple[int, ...]], data: st.DataObject
) -> None:
    k = data.draw(st.integers(2, len(rows)))
    features = np.array(rows, dtype=np.float32)
    copy_of = [rows.index(row) for row in rows]
    if lengths == "different":  # powers of two: the unit rows stay exact, but no row equals another
        features *= 2.0 ** np.arange(len(rows), dtype=np.float32)[:, None]
        copy_of = list(range(len(rows)))
    expected = plain_clustering(rows, copy_of, k, linkage)
    if len(set(expected)) < len(rows):
        assert cluster_sparsely(features, ByNumber(k), linkage).labels.tolist() == expected


# The result is independent of threads, blocks and memory.


def small_blocks(monkeypatch: pytest.MonkeyPatch, *shapes: BlockShape) -> None:
    monkeypatch.setattr(pairs, "BLOCK_SHAPES", shapes)


@pytest.mark.parametrize("linkage", list(Linkage))
def test_result_is_independent_of_filter_blocks_threads_and_guess(
    linkage: Linkage, monkeypatch: pytest.MonkeyPatch
) -> None:
    products = pytest.importorskip("curation.pipelines.matmul_backends")
    features = make(501, 96, 3)
    expected = cluster_sparsely(features, ByNumber(333), linkage)
    runs = [cluster_sparsely(features, ByNumber(333), linkage, backend=products.BFloat16Backend())]
    small_blocks(monkeypatch, BlockShape(64, 96))
    monkeypatch.setattr(pairs, "THREAD_BUFFER_PAIRS", 40)
    monkeypatch.setattr(sparse, "SPARE_FACTOR", 20.0)
    runs.append(cluster_sparsely(features, ByNumber(333), linkage))
    monkeypatch.setattr("curation.dedup.thread_pool.usable_cores", lambda: 3)
    monkeypatch.setattr(sparse, "MERGES_PER_STEP", 7)
    runs.append(cluster_sparsely(features, ByNumber(333), linkage, backend=products.BFloat16Backend()))
    for found in runs:
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_array_equal(found.heights, expected.heights)  # to the last bit


@pytest.mark.parametrize("linkage", list(Linkage))
def test_too_low_distance_guess_is_raised(linkage: Linkage, monkeypatch: pytest.MonkeyPatch) -> None:
    features = make(1200, 96, 8)
    expected = cluster_sparsely(features, ByNumber(800), linkage)
    tried: list[float] = []
    collected: list[float] = []
    merge, collect = sparse._merge_within, sparse._collect_pairs

    def count_merge(rows: object, held: NearPairs, reach: float, *rest: object) -> object:
        tried.append(reach)
        return merge(rows, held, reach, *rest)  # type: ignore[arg-type]

    def count_collect(search: object, reach: float, steps: object) -> NearPairs:
        collected.append(reach)
        return collect(search, reach, steps)  # type: ignore[arg-type]

    monkeypatch.setattr(sparse, "_merge_within", count_merge)
    monkeypatch.setattr(sparse, "_collect_pairs", count_collect)
    monkeypatch.setattr(sparse, "guess_radius", lambda found, merges, n: found.nearest_quantile(0.05))
    found = cluster_sparsely(features, ByNumber(800), linkage)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.heights, expected.heights)
    assert len(collected) > 1, "the guess was low enough to need a second product"
    assert len(tried) > len(collected), "it was raised within the pairs of a product first"
    assert collected == sorted(collected)


def test_zero_distance_guess_terminates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "guess_radius", lambda found, merges, n: 0.0)
    features = vectors(60, 5, 1)
    expected = by_scipy(features, 2, Linkage.COMPLETE)
    np.testing.assert_array_equal(cluster_sparsely(features, ByNumber(2), Linkage.COMPLETE).labels, expected)


# Copies and rounding.


@pytest.mark.parametrize("linkage", list(Linkage))
def test_exact_copies(linkage: Linkage) -> None:
    features = make(700, 128, 2)
    generator = np.random.default_rng(0)
    features = features[np.concatenate([np.arange(700), generator.integers(0, 700, 400)])]
    for k in (560, 700):
        expected = by_scipy(features, k, linkage)
        np.testing.assert_array_equal(cluster_sparsely(features, ByNumber(k), linkage).labels, expected)


def test_more_copies_than_stored_pairs() -> None:
    features = np.repeat(vectors(5, 8, 0), 8000, axis=0)
    found = cluster_sparsely(features, ByNumber(3), Linkage.AVERAGE, memory_limit_bytes=64 * 2**20)
    expected = cluster_sparsely(features[::8000], ByNumber(3), Linkage.AVERAGE)
    np.testing.assert_array_equal(found.labels, np.repeat(expected.labels, 8000))


def test_copies_merge_lowest_first_up_to_the_requested_number() -> None:
    features = vectors(4, 6, 0)[[0, 1, 2, 1, 0, 2, 3, 0]]
    assert cluster_sparsely(features, ByNumber(6), Linkage.WARD).labels.tolist() == [0, 1, 2, 3, 0, 4, 5, 0]
    found = cluster_sparsely(features, ByNumber(5), Linkage.AVERAGE)
    assert found.labels.tolist() == [0, 1, 2, 1, 0, 3, 4, 0]
    assert found.threshold == 0


@pytest.mark.parametrize("linkage", list(Linkage))
def test_rows_that_differ_by_rounding_have_distance_zero(linkage: Linkage) -> None:
    generator = np.random.default_rng(4)
    base = generator.normal(size=(40, 512))
    scaled = [(base * factor).astype(np.float32) for factor in (1.0, 3.0, 1e-20, 7e20)]
    features = np.concatenate(scaled)  # the same directions, each rounded again
    found = cluster_sparsely(features, ByDistance(1e-6), linkage)
    assert found.cluster_count == 40
    np.testing.assert_array_equal(found.labels, np.tile(np.arange(40), 4))


@pytest.mark.parametrize("linkage", [Linkage.AVERAGE, Linkage.COMPLETE, Linkage.SINGLE])
def test_heights_exactly_at_the_distance_are_merged(linkage: Linkage) -> None:
    features = np.array([[1, 1, 1, 1], [1, 1, 1, -1], [-1, -1, 1, 1]], dtype=np.float32)
    assert cluster_sparsely(features, ByDistance(0.5), linkage).cluster_count == 2
    assert cluster_sparsely(features, ByDistance(np.nextafter(0.5, 0)), linkage).cluster_count == 3


def test_float64_rows_of_any_length() -> None:
    features = np.random.default_rng(6).normal(size=(80, 7))
    scale = np.geomspace(1e-200, 1e200, 80)[:, None]
    expected = by_scipy(features, 30, Linkage.AVERAGE)
    np.testing.assert_array_equal(
        cluster_sparsely(features * scale, ByNumber(30), Linkage.AVERAGE).labels, expected
    )


def adversarial_rows(kind: str, d: int) -> np.ndarray:
    generator = np.random.default_rng(11)
    if kind == "one direction":  # every product has one sign: sums lose most
        rows = 1 + 0.01 * generator.random((300, d))
    elif kind == "one large coordinate":
        rows = np.full((300, d), 1e-4)
        rows[:, 0] = 1 + generator.random(300)
    else:  # halfway between two bfloat16 numbers
        rows = (1 + 2.0**-8) * generator.choice([-1.0, 1.0], size=(300, d))
    return rows.astype(np.float32)


@pytest.mark.parametrize("d", [2, 64, 512])
@pytest.mark.parametrize("kind", ["one direction", "one large coordinate", "halfway"])
def test_no_matmul_backend_misses_a_pair(kind: str, d: int) -> None:
    products = pytest.importorskip("curation.pipelines.matmul_backends")
    rows = distinct_rows(adversarial_rows(kind, d))
    unit = unit_rows(rows.values, "rows")
    cosines = unit @ unit.T
    n = len(rows)
    for product in (NumpyFloat32Backend(), products.TorchFloat32Backend(), products.BFloat16Backend()):
        scores = product.prepare(rows.as_unit_rows(), BlockShape(512, 512))
        with scores.threads(1) as (lane,):
            words = lane.block(slice(0, n), slice(0, n)).copy()
        numbers = words if scores.per_word == 1 else words.view(np.int16)[:, :n].astype(np.int32) << 16
        for row, column in zip(*np.triu_indices(min(n, 60)), strict=True):
            assert numbers[row, column] >= scores.min_score(cosines[row, column])


def test_float32_error_bounds() -> None:
    assert accumulation_error(512) == pytest.approx(513 * 2.0**-24, rel=1e-4)
    assert 3.05e-5 < float32_product_error(512) < 3.1e-5


# Cuts.


def test_fraction_and_number_agree() -> None:
    features = make(400, 96, 0)
    by_share = cluster(features, ByFraction(0.74))
    np.testing.assert_array_equal(by_share.labels, cluster(features, ByNumber(296)).labels)
    assert cluster(features, ByFraction(1e-9)).cluster_count == 1


@pytest.mark.parametrize("method", [ClusteringMethod.SPARSE, ClusteringMethod.DENSE])
@pytest.mark.parametrize("linkage", list(Linkage))
def test_cut_at_threshold_gives_the_same_clusters(linkage: Linkage, method: ClusteringMethod) -> None:
    features = make(500, 96, 1)
    found = cluster(features, ByNumber(300), linkage=linkage, method=method)
    assert found.threshold is not None
    again = cluster(features, ByDistance(found.threshold * (1 + 1e-12)), linkage=linkage, method=method)
    np.testing.assert_array_equal(again.labels, found.labels)
    assert len(again.heights) == 200


@pytest.mark.parametrize(
    ("cut", "match"),
    [
        (ByNumber(0), "clusters: 0 is not possible with 5 rows"),
        (ByNumber(6), "clusters: 6 is not possible"),
        (ByFraction(0.0), "fraction: 0.0 is out of range"),
        (ByFraction(1.5), "fraction: 1.5"),
        (ByFraction(float("nan")), "fraction: nan"),
        (ByDistance(-0.1), "distance: -0.1"),
        (ByDistance(float("nan")), "distance: nan"),
    ],
)
def test_impossible_cuts_are_refused(cut: object, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        cluster(vectors(5, 3, 0), cut)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", list(ClusteringMethod)[:3])
def test_one_row_every_row_and_one_cluster(method: ClusteringMethod) -> None:
    assert cluster(vectors(1, 3, 0), ByNumber(1), method=method).labels.tolist() == [0]
    assert cluster(vectors(1, 3, 0), ByDistance(2.0), method=method).labels.tolist() == [0]
    assert cluster(vectors(4, 3, 0), ByNumber(4), method=method).labels.tolist() == [0, 1, 2, 3]
    assert cluster(vectors(4, 3, 0), ByNumber(1), method=method).labels.tolist() == [0] * 4
    assert cluster(vectors(4, 3, 0), ByDistance(2.0), method=method).labels.tolist() == [0] * 4


# Choice of method, memory, cancelling.


def test_few_rows_and_coarse_cuts_use_scipy_with_a_log_line() -> None:
    few = cluster(vectors(50, 4, 0), ByNumber(20))
    assert (few.method, "with 50 items, scipy’s dense method" in few.reason) == (ClusteringMethod.DENSE, True)
    features = make(1100, 96, 0)
    coarse = cluster(features, ByNumber(11))
    assert (coarse.method, "coarse cut" in coarse.reason) == (ClusteringMethod.DENSE, True)
    fine = cluster(features, ByNumber(900))
    assert (fine.method, "near rows suffice" in fine.reason) == (ClusteringMethod.SPARSE, True)


@pytest.mark.parametrize("linkage", [Linkage.AVERAGE, Linkage.COMPLETE])
def test_cut_found_coarse_while_running_uses_scipy(linkage: Linkage) -> None:
    """No two rows are near: the first guess needs few pairs, and each raise needs many times more."""
    features = np.random.default_rng(0).normal(size=(1500, 384)).astype(np.float32)
    found = cluster(features, ByFraction(0.05), linkage=linkage)
    assert (found.method, "coarse cut needs more than 2% of all pairs" in found.reason) == (
        ClusteringMethod.DENSE,
        True,
    )
    alone = cluster(features, ByFraction(0.05), linkage=linkage, method=ClusteringMethod.SPARSE)
    np.testing.assert_array_equal(found.labels, alone.labels)
    share = float(alone.reason.rpartition(": ")[2].partition("%")[0])
    assert share > 2  # of the pairs that were merged from, not of the guess


def test_coarse_cut_without_memory_for_scipy_uses_pairs() -> None:
    features = make(1100, 96, 0)
    room = 8 * 1100 * 1099
    tight = cluster(features, ByNumber(300), memory_limit_bytes=room - 1)
    assert tight.method is ClusteringMethod.SPARSE
    np.testing.assert_array_equal(tight.labels, by_scipy(features, 300, Linkage.AVERAGE))


def test_too_little_memory_is_refused_with_the_required_amount() -> None:
    features = make(2000, 96, 0)
    with pytest.raises(
        InvalidInput, match=r"memory: 1 MiB is too little for 2000 rows of length 96; give at least"
    ):
        cluster(features, ByNumber(1500), memory_limit_bytes=2**20)
    with pytest.raises(InvalidInput, match="for their pairwise distances"):
        cluster(features, ByNumber(1500), memory_limit_bytes=2**20, method=ClusteringMethod.DENSE)


@pytest.mark.parametrize("cut", [ByNumber(20), ByDistance(0.9)])
def test_more_pairs_than_memory_is_refused(cut: object) -> None:
    features = make(3000, 96, 0)
    with pytest.raises(TooManyPairs, match=r"more than .* pairs of rows lie within"):
        cluster(features, cut, memory_limit_bytes=10 * 2**20)  # type: ignore[arg-type]


def test_allocations_stay_within_the_memory_limit() -> None:
    """A process of its own, since the peak of this one is that of all tests."""
    code = """
import sys
from tests.benchmarks._embeddings import make
from curation.dedup.hierarchical import cluster
from curation.dedup.cuts import ByNumber, ClusteringMethod
from hits.management.memory import peak_mib
features = make(9000, 256)
cluster(features[:500], ByNumber(300), method=ClusteringMethod.SPARSE)
import numpy
ballast = numpy.ones(64 * 2**17)  # whatever was freed before is in use again
before = peak_mib()
cluster(features, ByNumber(4500), method=ClusteringMethod.SPARSE, memory_limit_bytes=96 * 2**20)
print(peak_mib() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(done.stdout) <= 96


def test_pair_overflow_lowers_the_radius() -> None:
    held = NearPairs(100, 1.0)
    distances = np.random.default_rng(0).random(1000)
    for start in range(0, 1000, 50):
        near = np.flatnonzero(distances[start : start + 50] <= held.radius) + start
        held.add(np.stack([near, near], axis=1).astype(np.int32), distances[near])
    expected = np.flatnonzero(distances <= held.radius)
    assert held.radius < 0.2
    assert sorted(held.ends[:, 0].tolist()) == expected.tolist()
    with pytest.raises(TooManyPairs, match="more than 100 pairs"):
        NearPairs(100, 0.0).add(np.zeros((101, 2), np.int32), np.zeros(101))


@pytest.mark.parametrize("n", [1, 2, 31, 64, 100, 257])
def test_blocks_cover_every_pair_once(n: int) -> None:
    seen = np.zeros((n, n), dtype=int)
    for rows, columns in block_slices(n, BlockShape(32, 64)):
        seen[rows, columns] += 1
        assert columns.start % 2 == 0
        assert rows.stop - rows.start <= 32
        assert columns.stop - columns.start <= 64
    assert (seen[np.triu_indices(n, 1)] == 1).all()


class Stop(Exception):
    """What a caller raises to cancel."""


@pytest.mark.parametrize("after", [1, 6, 12])
def test_cancelled_clustering_leaves_no_files(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    small_blocks(monkeypatch, BlockShape(256, 256))
    reported: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        reported.append((done, total))
        if done == after:
            raise Stop

    with pytest.raises(Stop):
        cluster(make(1200, 96, 0), ByNumber(900), method=ClusteringMethod.SPARSE, progress=progress)
    assert len(reported) == after
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("dedup")]


@pytest.mark.parametrize("method", [ClusteringMethod.SPARSE, ClusteringMethod.DENSE])
def test_progress_reaches_its_total(method: ClusteringMethod) -> None:
    reported: list[tuple[int, int]] = []
    cluster(
        make(1200, 96, 0),
        ByNumber(900),
        method=method,
        progress=lambda done, total: reported.append((done, total)),
    )
    assert reported[-1][0] == reported[-1][1]
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)


def test_kernels_compile_in_memory_without_cache_folder() -> None:
    scope: dict[str, object] = {}
    exec("def double(x):\n    return 2 * x", scope)
    assert kernels.kernel()(scope["double"])(21) == 42


def test_distance_sample_is_only_an_estimate() -> None:
    found = DistanceSample(np.array([0.1, 0.2, 0.3], dtype=np.float32), np.arange(1.0, 9.0))
    assert found.nearest_quantile(0.5) == pytest.approx(0.2)
    assert found.estimate_pair_count(2.0) == 8
    assert found.radius_for_pair_count(4.5) == pytest.approx(1.0)
    assert found.radius_for_pair_count(100) == 2.0
