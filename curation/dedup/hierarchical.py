"""Exact hierarchical clustering of vectors by cosine: chooses the faster of two methods that fit into memory.

Hessel et al. 2022 de-duplicate images by 80K clusters of CLIP vectors, of which they keep one image each, and the
inferences of comparison sets by clusters of sentence vectors. They state neither linkage nor metric; the default here
is average linkage on cosine distance. Source: section 3 and appendices A.2 and E, doi:10.1007/978-3-031-20059-5_32.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup.cuts import (
    ByDistance,
    ByNumber,
    Clustering,
    ClusteringMethod,
    Cut,
    Linkage,
    Progress,
    ignore_progress,
    relabel_by_first_appearance,
    target_cluster_count,
)
from curation.dedup.dense import dense_memory_bytes, dense_tree, labels_from_merges
from curation.dedup.distance_sample import MAX_DISTANCE, DistanceSample, sample_distances
from curation.dedup.matmul_backends import MatmulBackend, NumpyFloat32Backend
from curation.dedup.pairs import PairSearch, StageClock, TooManyPairs, plan_memory
from curation.dedup.rows import DistinctRows, distinct_rows
from curation.dedup.sparse import (
    CutTooCoarse,
    MergeGoal,
    MergeResult,
    StepCounter,
    guess_radius,
    merge_by_distance,
    merge_by_number,
)
from curation.dedup.thread_pool import ThreadPool, open_thread_pool
from curation.dedup.vectors import check_vectors
from curation.records import InvalidInput

MEMORY_LIMIT_BYTES = 2 * 2**30
DENSE_MAX_ROWS = 1000  # scipy finishes before the compiled loops are loaded
DENSE_MAX_PAIR_SHARE = 1 / 50  # of all pairs: above this share, merging from pairs takes longer than scipy

__all__ = ["Linkage", "cluster", "cluster_to_k", "relabel_by_first_appearance"]


def cluster_to_k(
    features: NDArray[np.floating],
    k: int,
    *,
    linkage: Linkage = Linkage.AVERAGE,
    memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
) -> NDArray[np.int64]:
    """Merge n vectors into exactly k clusters.

    features: (n, d), of any nonzero length; only directions matter. Returns (n,) labels 0..k-1 in order of first
    appearance. It makes the n - k lowest merges of the tree, so ties never change the number of clusters; the result
    is deterministic. Raises InvalidInput for a bad row, a k outside 1..n, or too little memory.
    """
    return cluster(features, ByNumber(k), linkage=linkage, memory_limit_bytes=memory_limit_bytes).labels


def cluster(
    features: NDArray[np.floating],
    cut: Cut,
    *,
    linkage: Linkage = Linkage.AVERAGE,
    memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    backend: MatmulBackend | None = None,
    progress: Progress = ignore_progress,
    method: ClusteringMethod = ClusteringMethod.AUTO,
) -> Clustering:
    """Cluster n vectors hierarchically and cut the tree.

    features: (n, d) floats of any nonzero length; only directions matter. memory_limit_bytes: memory to use beside
    the features and the program itself. backend: multiplies blocks of rows; it changes the time, never the result.
    progress: called with (steps done, total); an exception from it ends the work cleanly. Ties are broken as
    ``curation.dedup.sparse`` documents, or in scipy's order if the method is DENSE.

    Raises InvalidInput for a bad row, an impossible cut, or too little memory.
    """
    check_vectors(features, "features")
    n = len(features)
    target_count = target_cluster_count(cut, n)
    if n in (target_count, 1):
        return Clustering(np.arange(n), np.empty(0), ClusteringMethod.NONE, "every row is its own cluster")
    if target_count == 1:
        return Clustering(
            np.zeros(n, dtype=np.int64), np.empty(0), ClusteringMethod.NONE, "all rows are one cluster"
        )
    task = _ClusteringTask(
        features, cut, target_count, linkage, memory_limit_bytes, backend or NumpyFloat32Backend(), progress
    )
    if method is ClusteringMethod.DENSE:
        return task.run_dense("scipy was requested")
    if method is ClusteringMethod.AUTO and n <= DENSE_MAX_ROWS and task.dense_fits:
        return task.run_dense(f"with {n} items, scipy’s dense method is the fastest")
    with open_thread_pool() as threads:
        return task.run_sparse(threads, allow_dense=method is ClusteringMethod.AUTO)


@dataclass(frozen=True, slots=True)
class _ClusteringTask:
    """The arguments of one call of ``cluster``. target_count: number of clusters, None for a cut by distance."""

    features: NDArray[np.floating]
    cut: Cut
    target_count: int | None
    linkage: Linkage
    memory: int
    backend: MatmulBackend
    progress: Progress

    @property
    def dense_fits(self) -> bool:
        """Whether scipy's arrays fit into memory."""
        return dense_memory_bytes(*self.features.shape) <= self.memory

    def run_dense(self, reason: str) -> Clustering:
        """Cluster with scipy. Raises InvalidInput if its arrays do not fit."""
        n = len(self.features)
        if not self.dense_fits:
            raise InvalidInput(
                f"features: {n} rows need {dense_memory_bytes(*self.features.shape) / 2**30:.1f} GiB for their "
                f"pairwise distances and the limit is {self.memory / 2**30:.1f} GiB; cluster fewer rows at a time"
            )
        clock = StageClock()
        with clock.stage("scipy"):
            tree = dense_tree(self.features, self.linkage, lambda: self.progress(0, 1))
        merge_count = (
            n - self.target_count
            if self.target_count
            else int(np.count_nonzero(tree[:, 2] <= self._cut_distance))
        )
        self.progress(1, 1)
        labels = labels_from_merges(tree[:merge_count, :2].astype(np.int64), n)
        return Clustering(labels, tree[:merge_count, 2], ClusteringMethod.DENSE, reason, clock.seconds)

    def run_sparse(self, threads: ThreadPool, *, allow_dense: bool) -> Clustering:
        """Merge from near pairs, or use scipy if allowed and faster."""
        clock = StageClock()
        with clock.stage("prepare"):
            rows = distinct_rows(self.features)
        copies = rows.input_count - len(rows)
        if self.target_count and rows.input_count - self.target_count <= copies:
            return _merge_copies_only(rows, rows.input_count - self.target_count, clock)
        with clock.stage("survey"):
            sample = sample_distances(rows, threads)
        pair_count = len(rows) * (len(rows) - 1) / 2
        share = sample.estimate_pair_count(self._guess_radius(rows, sample)) / pair_count
        allow_dense = allow_dense and self.dense_fits
        if allow_dense and share > DENSE_MAX_PAIR_SHARE:
            reason = f"a coarse cut would need about {share:.0%} of all pairs, so scipy is faster"
            return self.run_dense(reason)
        try:
            merged = self._merge_near_pairs(
                rows, sample, threads, clock, DENSE_MAX_PAIR_SHARE * pair_count if allow_dense else np.inf
            )
        except CutTooCoarse:
            return self.run_dense(
                f"a coarse cut needs more than {DENSE_MAX_PAIR_SHARE:.0%} of all pairs, so scipy is faster"
            )
        except TooManyPairs as error:
            if allow_dense:
                return self.run_dense(f"scipy fits into memory, the needed pairs do not ({error})")
            raise
        reason = f"pairs of near rows suffice: {merged.pair_count / pair_count:.2%} of all"
        return self._make_clustering(rows, merged, reason, clock)

    @property
    def _cut_distance(self) -> float:
        assert isinstance(self.cut, ByDistance)
        return self.cut.distance

    def _guess_radius(self, rows: DistinctRows, sample: DistanceSample) -> float:
        if self.target_count:
            return guess_radius(sample, len(rows) - self.target_count, len(rows))
        return min(_comparable_distance(self._cut_distance, self.linkage), MAX_DISTANCE)

    def _merge_near_pairs(
        self,
        rows: DistinctRows,
        sample: DistanceSample,
        threads: ThreadPool,
        clock: StageClock,
        max_pairs: float,
    ) -> MergeResult:
        merges = len(rows) - self.target_count if self.target_count else None
        memory_plan = plan_memory(rows, merges or len(rows), self.backend, threads.size, self.memory)
        with clock.stage("prepare"):
            scores = self.backend.prepare(rows.as_unit_rows(), memory_plan.block)
        search = PairSearch(rows, scores, threads, memory_plan, clock)
        steps = StepCounter(self.progress)
        if merges is None:
            max_distance = _comparable_distance(self._cut_distance, self.linkage)
            return merge_by_distance(search, MergeGoal(self.linkage, None, max_distance), steps)
        return merge_by_number(search, MergeGoal(self.linkage, merges), sample, steps, max_pairs)

    def _make_clustering(
        self, rows: DistinctRows, merged: MergeResult, reason: str, clock: StageClock
    ) -> Clustering:
        labels = relabel_by_first_appearance(merged.roots)[rows.row_of_input]
        heights = np.sqrt(2 * merged.heights) if self.linkage is Linkage.WARD else merged.heights
        heights = np.concatenate([np.zeros(rows.input_count - len(rows)), heights])
        return Clustering(labels, heights, ClusteringMethod.SPARSE, reason, clock.seconds)


def _comparable_distance(distance: float, linkage: Linkage) -> float:
    """Convert a distance from the linkage's unit to the one that merges compare: half the square for Ward."""
    return distance**2 / 2 if linkage is Linkage.WARD else distance


def _merge_copies_only(rows: DistinctRows, merges: int, clock: StageClock) -> Clustering:
    """Merge exact copies only, the lowest rows first, if that is enough."""
    first = np.unique(rows.row_of_input, return_index=True)[1]
    originals = first[rows.row_of_input]
    copies = np.flatnonzero(originals != np.arange(rows.input_count))
    copies = copies[np.argsort(originals[copies], kind="stable")][:merges]
    roots = np.arange(rows.input_count)
    roots[copies] = originals[copies]
    labels = relabel_by_first_appearance(roots)
    reason = "merging exact copies was enough"
    return Clustering(labels, np.zeros(merges), ClusteringMethod.SPARSE, reason, clock.seconds)
