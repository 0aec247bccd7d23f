"""Copies of a text, and clusters of near-duplicate texts.

Both are used for comparison sets: one inference of each cluster is kept (with 80 % as many clusters as texts), and at
most three exact copies of a text. Source: Hessel et al. 2022, appendix E, doi:10.1007/978-3-031-20059-5_32.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """A text that occurs more than once: its first index and its count."""

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class CopyCounts:
    """Exact copies among n texts.

    ``distinct`` counts different texts, ``repeated`` those that occur more than once; ``most_frequent`` lists the
    latter, most frequent first.
    """

    texts: int
    distinct: int
    repeated: int
    most_frequent: tuple[RepeatedText, ...]


@dataclass(frozen=True, slots=True)
class TextGroup:
    """A cluster's texts by index, ascending; ``kept`` is the one to keep."""

    kept: int
    members: tuple[int, ...]


def count_copies(texts: Sequence[str], *, max_listed: int) -> CopyCounts:
    """Count exact copies (character by character).

    max_listed: the number of repeated texts to list; ties are ordered by first index.
    """
    counts = Counter(texts)
    first: dict[str, int] = {}
    for index, text in enumerate(texts):
        first.setdefault(text, index)
    repeated = [RepeatedText(first[text], count) for text, count in counts.items() if count > 1]
    repeated.sort(key=lambda copy: (-copy.count, copy.first))
    return CopyCounts(len(texts), len(counts), len(repeated), tuple(repeated[:max_listed]))


def largest_groups(
    labels: NDArray[np.integer], kept: NDArray[np.integer], *, max_listed: int
) -> tuple[TextGroup, ...]:
    """Return the largest clusters, largest first, without clusters of one.

    labels: (n,) cluster of each text, 0..k-1. kept: the index to keep of each cluster, in any order. Ties are ordered
    by label.

    Raises:
        InvalidInput: a cluster has none or several to keep.
    """
    keeper = np.full(int(labels.max(initial=-1)) + 1, -1, dtype=np.int64)
    keeper[labels[kept]] = kept
    if len(kept) != len(keeper) or (keeper < 0).any():
        raise InvalidInput(f"kept: {len(kept)} of {len(keeper)} clusters; keep one text of each cluster")
    sizes = np.bincount(labels)
    chosen = [int(label) for label in np.argsort(-sizes, kind="stable")[:max_listed] if sizes[label] > 1]
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(sizes)
    return tuple(
        TextGroup(int(keeper[label]), tuple(order[ends[label] - sizes[label] : ends[label]].tolist()))
        for label in chosen
    )


def count_group_sizes(labels: NDArray[np.integer]) -> dict[int, int]:
    """Return the numbers of clusters with 1, 2, 3, … members. labels: (n,), 0..k-1."""
    sizes, counts = np.unique(np.bincount(labels), return_counts=True)
    return {int(size): int(count) for size, count in zip(sizes, counts, strict=True)}
