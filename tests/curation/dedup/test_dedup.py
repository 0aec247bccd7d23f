"""Clustering: numbers of clusters, equality with scipy, kept members, invalid input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import pdist

from curation.dedup import dense
from curation.dedup.cuts import ByNumber, ClusteringMethod
from curation.dedup.dense import condensed_cosine_distances
from curation.dedup.groups import divide_group, find_least_similar
from curation.dedup.hierarchical import Linkage, cluster, cluster_to_k
from curation.dedup.members import keep_first, keep_largest, keep_medoid, keep_random
from curation.dedup.vectors import unit_rows
from curation.records import InvalidInput


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def vectors(n: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("linkage", list(Linkage))
@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 40), d=st.integers(2, 8), seed=st.integers(0, 10**6), data=st.data())
def test_same_partition_as_scipy(linkage: Linkage, n: int, d: int, seed: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    features = vectors(n, d, seed)
    distances = pdist(features.astype(np.float64), "cosine")
    if linkage is Linkage.WARD:
        distances = np.sqrt(2 * distances)
    tree = scipy_linkage(distances, method=linkage.value)
    heights = tree[:, 2]
    ours = cluster_to_k(features, k, linkage=linkage)
    if 1 < k < n and heights[n - k] - heights[n - k - 1] < 1e-12:
        return  # scipy may leave fewer clusters on a tie
    assert partition(ours) == partition(fcluster(tree, k, criterion="maxclust"))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.sampled_from([(1.0, 0.0), (2.0, 0.0), (0.0, 1.0), (1.0, 1.0), (-1.0, 0.5)]),
        min_size=1,
        max_size=25,
    ),
    linkage=st.sampled_from(Linkage),
    data=st.data(),
)
def test_cluster_to_k_with_ties_returns_k_labels_in_order_of_appearance(
    rows: list[tuple[float, float]], linkage: Linkage, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(rows)))
    labels = cluster_to_k(np.array(rows, dtype=np.float32), k, linkage=linkage)
    assert labels.dtype == np.int64
    assert list(dict.fromkeys(labels.tolist())) == list(range(k))


def test_distances_equal_scipy_across_blocks() -> None:
    features = vectors(600, 16, 3)
    ours = condensed_cosine_distances(unit_rows(features, "features"))
    np.testing.assert_allclose(ours, pdist(features.astype(np.float64), "cosine"), atol=1e-12)


class Stop(Exception):
    """What a caller raises to cancel."""


@pytest.mark.parametrize(("stop_at", "requested"), [(1, 0), (3, 0), (4, 0), (5, 1)])
def test_dense_clustering_can_be_cancelled_between_blocks_and_around_scipy(
    stop_at: int, requested: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[tuple[int, int]] = []
    merged: list[int] = []
    real = dense.merge_tree
    monkeypatch.setattr(dense, "merge_tree", lambda *args, **how: (merged.append(1), real(*args, **how))[1])

    def progress(done: int, total: int) -> None:
        reported.append((done, total))
        if len(reported) == stop_at:
            raise Stop

    with pytest.raises(Stop):  # three blocks, then scipy, then the labels
        cluster(vectors(600, 8, 1), ByNumber(400), method=ClusteringMethod.DENSE, progress=progress)
    assert len(merged) == requested
    assert reported == [(0, 1)] * min(stop_at, 4) + [(1, 1)] * requested


def test_copies_merge_first() -> None:
    features = vectors(30, 12, 5)
    features[20] = features[4] * 7.0
    labels = cluster_to_k(features, 29)
    assert labels[20] == labels[4]
    assert len(partition(labels)) == 29


def test_vector_length_does_not_change_clusters() -> None:
    features = vectors(25, 6, 8)
    scale = np.geomspace(1e-30, 1e30, 25, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(cluster_to_k(features, 7), cluster_to_k(features * scale, 7))


@pytest.mark.parametrize("k", [0, -1, 6])
def test_impossible_number_of_clusters(k: int) -> None:
    with pytest.raises(InvalidInput, match=f"clusters: {k} is not possible with 5 rows"):
        cluster_to_k(vectors(5, 3, 0), k)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_row_is_refused_by_number(value: float) -> None:
    features = vectors(6, 3, 0)
    features[4, 1] = value
    with pytest.raises(InvalidInput, match="row 4 holds NaN or infinity"):
        cluster_to_k(features, 2)


def test_zero_row_is_refused_by_number() -> None:
    features = vectors(6, 3, 0)
    features[2] = 0
    with pytest.raises(InvalidInput, match="row 2 is all zeros"):
        cluster_to_k(features, 2)


@pytest.mark.parametrize(
    "features", [np.zeros(4, np.float32), np.zeros((0, 3), np.float32), np.ones((3, 2), int)]
)
def test_features_of_wrong_shape_or_type_are_refused(features: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="features: "):
        cluster_to_k(features, 1)


def test_too_many_rows_for_memory_are_refused_before_computing() -> None:
    with pytest.raises(InvalidInput, match=r"memory: 1 MiB is too little for 3000 rows of length 2"):
        cluster_to_k(vectors(3000, 2, 0), 10, memory_limit_bytes=2**20)


def test_keep_functions_return_members() -> None:
    labels = np.array([0, 1, 0, 0, 1, 2])
    angles = np.array([0.0, 1.0, 0.3, 0.2, 1.0, 2.0])
    features = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert keep_first(labels).tolist() == [0, 1, 5]
    assert keep_medoid(labels, features).tolist() == [3, 1, 5]
    drawn = [keep_random(labels, np.random.default_rng(seed)) for seed in range(60)]
    assert {int(row[0]) for row in drawn} == {0, 2, 3}
    assert {int(row[1]) for row in drawn} == {1, 4}
    np.testing.assert_array_equal(drawn[0], keep_random(labels, np.random.default_rng(0)))


def test_keep_largest_takes_lowest_index_on_a_tie() -> None:
    labels = np.array([0, 1, 0, 0, 1, 2])
    assert keep_largest(labels, np.array([5, 9, 7, 7, 3, 0])).tolist() == [2, 1, 5]
    assert keep_largest(labels, np.array([0.5, 0.1, 0.2, 0.7, 0.1, 0.0])).tolist() == [3, 1, 5]
    with pytest.raises(InvalidInput, match=r"sizes: float64 values of shape \(5,\) for 6 labels"):
        keep_largest(labels, np.ones(5))
    with pytest.raises(InvalidInput, match="sizes: row 2 holds NaN"):
        keep_largest(labels, np.array([1, 1, np.nan, 1, 1, 1]))


def test_keep_medoid_needs_one_row_per_label() -> None:
    with pytest.raises(InvalidInput, match="6 rows for 5 labels"):
        keep_medoid(np.zeros(5, int), vectors(6, 2, 0))


# -- groups


@pytest.mark.parametrize("n", [2, 3, 255, 256, 257, 700])
def test_least_similar_pair_equals_brute_force(n: int) -> None:
    features = (
        np.random.default_rng(n).normal(size=(n, 6)) * 10.0 ** np.arange(-2, 4)[np.arange(n) % 6][:, None]
    )
    rows = features / np.linalg.norm(features, axis=1, keepdims=True)
    cosines = rows @ rows.T
    found = find_least_similar(features)
    assert found.first < found.second < n
    assert found.cosine == pytest.approx(cosines.min(), abs=1e-6)
    assert cosines[found.first, found.second] == pytest.approx(cosines.min(), abs=1e-6)


def test_least_similar_pair_of_equal_vectors_has_cosine_one() -> None:
    found = find_least_similar(np.ones((400, 3)))
    assert found.first < found.second
    assert 1 - 1e-6 <= found.cosine <= 1
    with pytest.raises(InvalidInput, match="row 1 is all zeros"):
        find_least_similar(np.array([[1.0, 0.0], [0.0, 0.0]]))


def test_divide_group_separates_photos_marked_different() -> None:
    assert divide_group(5, [1, 2, 3], set()) == [(5, [1, 2, 3])]
    assert divide_group(5, [1, 2, 3], {(1, 5)}) == [(5, [2, 3])]
    assert divide_group(5, [1, 2, 3], {(1, 5), (2, 5)}) == [(5, [3]), (1, [2])]
    assert divide_group(5, [1, 2], {(1, 5), (2, 5), (1, 2)}) == []
