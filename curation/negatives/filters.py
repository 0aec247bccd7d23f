"""The filters that decide which inferences may be sampled.

Source: Hessel et al. 2022, appendix E, doi:10.1007/978-3-031-20059-5_32.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from curation.dedup.hierarchical import Linkage, cluster_to_k
from curation.dedup.members import keep_first, keep_random
from curation.records import InvalidInput

SOFT_SHARE = 0.8


def more_plausible_than_gold(row: NDArray[np.floating], gold: int) -> NDArray[np.bool_]:
    """Which of n inferences score strictly above the gold one; neither the gold nor its equals do.

    row: (n,) plausibility for one instance. gold: the index of its own inference.
    """
    return row > row[gold]


def keep_soft(
    text_vectors: NDArray[np.floating],
    *,
    share: float = SOFT_SHARE,
    linkage: Linkage = Linkage.AVERAGE,
    generator: np.random.Generator | None = None,
) -> NDArray[np.int64]:
    """Soft de-duplication: one inference from each of round(share x n) clusters of text vectors.

    text_vectors: (n, d). Without a generator the lowest index of each cluster stays, else a random member does.
    Returns the ids that stay, ascending. Raises InvalidInput as cluster_to_k does.
    """
    labels = cluster_to_k(text_vectors, max(1, round(share * len(text_vectors))), linkage=linkage)
    return np.sort(keep_first(labels) if generator is None else keep_random(labels, generator))


def cap_verbatim(ids: Iterable[int], texts: Sequence[str], copies: int) -> NDArray[np.int64]:
    """Hard de-duplication: of the given ids, at most the first few (lowest index) of each exact text.

    texts: the text of every inference. copies: how many of the same text may stay. Returns ids, ascending.
    """
    seen: Counter[str] = Counter()
    kept = []
    for index in sorted(ids):
        seen[texts[index]] += 1
        if seen[texts[index]] <= copies:
            kept.append(index)
    return np.array(kept, dtype=np.int64)


def as_mask(ids: Iterable[int], n: int) -> NDArray[np.bool_]:
    """A mask (n,) that is true at the given ids. Raises InvalidInput for an id outside 0..n-1 or given twice."""
    ids = list(ids)
    outside = [index for index in ids if not 0 <= index < n]
    if outside:
        raise InvalidInput(f"candidates: id {outside[0]} is outside 0 to {n - 1}; use positions of the texts")
    mask = np.zeros(n, dtype=bool)
    mask[ids] = True
    if mask.sum() != len(ids):
        twice = next(index for index, count in Counter(ids).items() if count > 1)
        raise InvalidInput(f"candidates: id {twice} is given twice; list every id once")
    return mask
