"""Filters that determine which inferences may be sampled.

Source: Hessel et al. 2022, appendix E, doi:10.1007/978-3-031-20059-5_32.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup.cuts import ByNumber, Linkage, ignore_progress
from curation.dedup.hierarchical import cluster
from curation.dedup.matmul_backends import MatmulBackend
from curation.dedup.members import keep_first, keep_medoid, keep_random
from curation.negatives.options import DEFAULT_SOFT_SHARE, KeepRule
from curation.records import InvalidInput


@dataclass(frozen=True, slots=True)
class SoftClusters:
    """The result of soft de-duplication of n inferences.

    labels: (n,) their clusters. kept: ids that remain, ascending.
    """

    labels: NDArray[np.int64]
    kept: NDArray[np.int64]

    def sizes(self) -> NDArray[np.int64]:
        """Return the size of each inference's cluster: (n,)."""
        return np.bincount(self.labels)[self.labels]

    def dropped_by_kept(self) -> dict[int, list[int]]:
        """Return the dropped inferences of each kept inference's cluster, ascending, by the kept inference."""
        representatives = {int(self.labels[index]): int(index) for index in self.kept}
        dropped: dict[int, list[int]] = {}
        for index, label in enumerate(self.labels.tolist()):
            if representatives[label] != index:
                dropped.setdefault(representatives[label], []).append(index)
        return dropped


def soft_deduplicate_texts(
    text_vectors: NDArray[np.floating],
    *,
    share: float = DEFAULT_SOFT_SHARE,
    linkage: Linkage = Linkage.AVERAGE,
    keep: KeepRule = KeepRule.FIRST,
    generator: np.random.Generator | None = None,
    backend: MatmulBackend | None = None,
    progress: Callable[[int, int], None] = ignore_progress,
) -> SoftClusters:
    """Soft de-duplication: keep one inference of each of round(share x n) clusters of text vectors.

    text_vectors: (n, d). generator: draws the kept members if ``keep`` is RANDOM. backend, progress: as in cluster; a
    backend changes the time, never the result. Raises InvalidInput for a share outside 0 to 1, and as cluster does.
    """
    if not 0 < share <= 1:
        raise InvalidInput(f"share: {share:g} is not between 0 and 1; give for instance {DEFAULT_SOFT_SHARE}")
    cut = ByNumber(max(1, round(share * len(text_vectors))))
    labels = cluster(text_vectors, cut, linkage=linkage, backend=backend, progress=progress).labels
    if keep is KeepRule.RANDOM:
        if generator is None:
            raise InvalidInput("keep: random needs a seed; give one, or keep the first")
        kept = keep_random(labels, generator)
    else:
        kept = keep_first(labels) if keep is KeepRule.FIRST else keep_medoid(labels, text_vectors)
    return SoftClusters(labels=labels, kept=np.sort(kept))


def cap_verbatim(ids: Iterable[int], texts: Sequence[str], max_copies: int) -> NDArray[np.int64]:
    """Hard de-duplication: keep at most ``max_copies`` ids of each exact text, those with the lowest index.

    texts: of all inferences. Returns the kept ids, ascending.
    """
    counts: Counter[str] = Counter()
    kept = []
    for index in sorted(ids):
        counts[texts[index]] += 1
        if counts[texts[index]] <= max_copies:
            kept.append(index)
    return np.array(kept, dtype=np.int64)


def make_mask(ids: Iterable[int], n: int) -> NDArray[np.bool_]:
    """Return a mask (n,) that is true at the given ids. Raises InvalidInput for an id outside 0..n-1 or repeated."""
    ids = list(ids)
    outside = [index for index in ids if not 0 <= index < n]
    if outside:
        raise InvalidInput(f"candidates: id {outside[0]} is outside 0 to {n - 1}; use positions of the texts")
    mask = np.zeros(n, dtype=bool)
    mask[ids] = True
    if mask.sum() != len(ids):
        repeated = next(index for index, count in Counter(ids).items() if count > 1)
        raise InvalidInput(f"candidates: id {repeated} is given twice; list every id once")
    return mask
