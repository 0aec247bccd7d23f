"""Hierarchical clustering of vectors by cosine: exact, by whichever of two ways is quicker and fits into memory.

The published corpus was de-duplicated this way: 80K clusters of CLIP image vectors, one image kept from each, and
again on sentence vectors for its comparison sets. Linkage and metric are not stated there; average linkage on
cosine distance is the default here. Source: Hessel et al. 2022, section 3 and appendices A.2 and E,
doi:10.1007/978-3-031-20059-5_32.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup.crew import Crew, crew
from curation.dedup.cuts import (
    ByDistance,
    ByNumber,
    Clustering,
    Cut,
    Linkage,
    Method,
    Progress,
    clusters_wanted,
    relabel_by_first_appearance,
    silent,
)
from curation.dedup.dense import dense_bytes, dense_tree, labels_after
from curation.dedup.exact import (
    Goal,
    Merged,
    Steps,
    TooCoarse,
    first_guess,
    merge_by_distance,
    merge_by_number,
)
from curation.dedup.pairs import Clock, Search, TooManyPairs, plan
from curation.dedup.products import BlockProduct, Float32Product
from curation.dedup.rows import Rows, distinct_rows
from curation.dedup.survey import FARTHEST, Survey, survey
from curation.dedup.vectors import check_vectors
from curation.records import InvalidInput

MEMORY_LIMIT_BYTES = 2 * 2**30
FEW_ROWS = 1000  # scipy is done before the compiled loops are loaded
DENSE_SHARE = (
    1 / 50
)  # of all pairs: beyond that, walking the lists of pairs takes longer than scipy with its matrix

__all__ = ["Linkage", "cluster", "cluster_to_k", "relabel_by_first_appearance"]


def cluster_to_k(
    features: NDArray[np.floating],
    k: int,
    *,
    linkage: Linkage = Linkage.AVERAGE,
    memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
) -> NDArray[np.int64]:
    """Merge n vectors into exactly k clusters.

    features: (n, d), any length but zero; only directions matter. Returns (n,) labels 0..k-1 in order of first
    appearance. The n - k lowest merges of the tree are made, so ties never change the number of clusters; nothing
    is drawn at random. Raises InvalidInput for a bad row, a k outside 1..n, or too little memory.
    """
    return cluster(features, ByNumber(k), linkage=linkage, memory_limit_bytes=memory_limit_bytes).labels


def cluster(
    features: NDArray[np.floating],
    cut: Cut,
    *,
    linkage: Linkage = Linkage.AVERAGE,
    memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    product: BlockProduct | None = None,
    progress: Progress = silent,
    method: Method = Method.AUTO,
) -> Clustering:
    """Cluster n vectors hierarchically and cut the tree.

    features: (n, d) floats, any length but zero; only directions matter. memory_limit_bytes: what may be taken beside
    the features and the program itself. product: multiplies blocks of rows; it changes the time, never the result.
    progress: told how far the work is; what it raises ends the work, and nothing is left behind. Ties are broken as
    ``curation.dedup.exact`` says, by scipy's order when the method is DENSE.

    Raises InvalidInput for a bad row, a cut that does not fit, or too little memory.
    """
    check_vectors(features, "features")
    n = len(features)
    wanted = clusters_wanted(cut, n)
    if n in (wanted, 1):
        return Clustering(np.arange(n), np.empty(0), Method.NONE, "every row is a cluster of its own")
    if wanted == 1:
        return Clustering(np.zeros(n, dtype=np.int64), np.empty(0), Method.NONE, "all rows are one cluster")
    task = _Task(features, cut, wanted, linkage, memory_limit_bytes, product or Float32Product(), progress)
    if method is Method.DENSE:
        return task.dense("scipy was asked for")
    if method is Method.AUTO and n <= FEW_ROWS and task.dense_fits:
        return task.dense(f"for {n} rows scipy is faster than loading the compiled loops")
    with crew() as hands:
        return task.sparse(hands, choose=method is Method.AUTO)


@dataclass(frozen=True, slots=True)
class _Task:
    """What was asked for. wanted: number of clusters, None when a distance decides."""

    features: NDArray[np.floating]
    cut: Cut
    wanted: int | None
    linkage: Linkage
    memory: int
    product: BlockProduct
    progress: Progress

    @property
    def dense_fits(self) -> bool:
        """Whether scipy's arrays fit into the memory."""
        return dense_bytes(*self.features.shape) <= self.memory

    def dense(self, why: str) -> Clustering:
        """Ask scipy. Raises InvalidInput when its arrays do not fit."""
        n = len(self.features)
        if not self.dense_fits:
            raise InvalidInput(
                f"features: {n} rows need {dense_bytes(*self.features.shape) / 2**30:.1f} GiB for their pairwise "
                f"distances and the limit is {self.memory / 2**30:.1f} GiB; cluster fewer rows at a time"
            )
        clock = Clock()
        with clock.stage("scipy"):
            tree = dense_tree(self.features, self.linkage, lambda: self.progress(0, 1))
        made = n - self.wanted if self.wanted else int(np.count_nonzero(tree[:, 2] <= self._distance))
        self.progress(1, 1)
        labels = labels_after(tree[:made, :2].astype(np.int64), n)
        return Clustering(labels, tree[:made, 2], Method.DENSE, why, clock.seconds)

    def sparse(self, crew: Crew, *, choose: bool) -> Clustering:
        """Merge from near pairs, or ask scipy if that is quicker and there is a choice."""
        clock = Clock()
        with clock.stage("prepare"):
            rows = distinct_rows(self.features)
        copies = rows.given - len(rows)
        if self.wanted and rows.given - self.wanted <= copies:
            return _only_copies(rows, rows.given - self.wanted, clock)
        with clock.stage("survey"):
            found = survey(rows, crew)
        every = len(rows) * (len(rows) - 1) / 2
        share = found.pairs_within(self._guess(rows, found)) / every
        choose = choose and self.dense_fits
        if choose and share > DENSE_SHARE:
            return self.dense(
                f"a coarse cut: about {share:.0%} of all pairs would be needed, scipy is quicker"
            )
        try:
            merged = self._merge(rows, found, crew, clock, DENSE_SHARE * every if choose else np.inf)
        except TooCoarse:
            return self.dense(
                f"a coarse cut: more than {DENSE_SHARE:.0%} of all pairs are needed, scipy is quicker"
            )
        except TooManyPairs as error:
            if choose:
                return self.dense(f"scipy has room, the pairs that are needed do not ({error})")
            raise
        why = f"pairs of near rows suffice: {merged.pairs / every:.2%} of all"
        return self._clustering(rows, merged, why, clock)

    @property
    def _distance(self) -> float:
        assert isinstance(self.cut, ByDistance)
        return self.cut.distance

    def _guess(self, rows: Rows, found: Survey) -> float:
        if self.wanted:
            return first_guess(found, len(rows) - self.wanted, len(rows))
        return min(_compared(self._distance, self.linkage), FARTHEST)

    def _merge(self, rows: Rows, found: Survey, crew: Crew, clock: Clock, most: float) -> Merged:
        merges = len(rows) - self.wanted if self.wanted else None
        room = plan(rows, merges or len(rows), self.product, crew.size, self.memory)
        with clock.stage("prepare"):
            scores = self.product.prepare(rows.unit(), room.block)
        search = Search(rows, scores, crew, room, clock)
        steps = Steps(self.progress)
        if merges is None:
            highest = _compared(self._distance, self.linkage)
            return merge_by_distance(search, Goal(self.linkage, None, highest), steps)
        return merge_by_number(search, Goal(self.linkage, merges), found, steps, most)

    def _clustering(self, rows: Rows, merged: Merged, why: str, clock: Clock) -> Clustering:
        labels = relabel_by_first_appearance(merged.roots)[rows.groups]
        heights = np.sqrt(2 * merged.heights) if self.linkage is Linkage.WARD else merged.heights
        heights = np.concatenate([np.zeros(rows.given - len(rows)), heights])
        return Clustering(labels, heights, Method.SPARSE, why, clock.seconds)


def _compared(distance: float, linkage: Linkage) -> float:
    """A distance in the linkage's unit as the merges compare it: Ward's by half its square."""
    return distance**2 / 2 if linkage is Linkage.WARD else distance


def _only_copies(rows: Rows, merges: int, clock: Clock) -> Clustering:
    """Merge some exact copies, the lowest rows first, when that alone is enough."""
    first = np.unique(rows.groups, return_index=True)[1]
    originals = first[rows.groups]
    copies = np.flatnonzero(originals != np.arange(rows.given))
    copies = copies[np.argsort(originals[copies], kind="stable")][:merges]
    roots = np.arange(rows.given)
    roots[copies] = originals[copies]
    labels = relabel_by_first_appearance(roots)
    return Clustering(
        labels, np.zeros(merges), Method.SPARSE, "only exact copies had to be merged", clock.seconds
    )
