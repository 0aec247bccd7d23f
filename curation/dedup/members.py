"""Choose the member of each cluster to keep.

Hessel et al. 2022 keep one at random; keeping the first, the medoid or the largest is deterministic.
"""

import numpy as np
from numpy.typing import NDArray

from curation.dedup.vectors import check_vectors, unit_rows
from curation.records import InvalidInput


def keep_random(labels: NDArray[np.integer], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return one member of each cluster, each with equal probability.

    labels: (n,), every label 0..k-1 occurring. Returns (k,) row indices in the order of the labels.
    """
    return np.array([generator.choice(members) for members in _rows_by_label(labels)], dtype=np.int64)


def keep_first(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the lowest index of each cluster as (k,) in the order of the labels. labels: (n,), 0..k-1."""
    return np.array([members[0] for members in _rows_by_label(labels)], dtype=np.int64)


def keep_medoid(labels: NDArray[np.integer], features: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the member of each cluster with the greatest mean cosine to the cluster; the lowest index on a tie.

    labels: (n,), 0..k-1. features: (n, d). Returns (k,) row indices in the order of the labels. Raises InvalidInput
    for bad vectors or lengths that differ.
    """
    check_vectors(features, "features")
    if len(features) != len(labels):
        raise InvalidInput(f"features: {len(features)} rows for {len(labels)} labels; give one label per row")
    return np.array(
        [members[_medoid(features[members])] for members in _rows_by_label(labels)], dtype=np.int64
    )


def keep_largest(labels: NDArray[np.integer], sizes: NDArray[np.number]) -> NDArray[np.int64]:
    """Return the member of each cluster with the greatest size, such as pixels; the lowest index on a tie.

    labels: (n,), 0..k-1. sizes: (n,). Returns (k,) row indices in the order of the labels. Raises InvalidInput for
    sizes that are not one number per row.
    """
    if sizes.shape != labels.shape or not np.issubdtype(sizes.dtype, np.number):
        raise InvalidInput(
            f"sizes: {sizes.dtype} values of shape {sizes.shape} for {len(labels)} labels; give one number per row"
        )
    broken = np.flatnonzero(~np.isfinite(sizes))
    if broken.size:
        raise InvalidInput(f"sizes: row {broken[0]} holds NaN or infinity; give its width times its height")
    return np.array(
        [members[np.argmax(sizes[members])] for members in _rows_by_label(labels)], dtype=np.int64
    )


def _medoid(features: NDArray[np.floating]) -> int:
    if len(features) == 1:
        return 0
    rows = unit_rows(features, "features")
    # The mean cosine to the members is the cosine with their mean, up to a factor common to the cluster.
    return int(np.argmax(rows @ rows.sum(axis=0)))


def _rows_by_label(labels: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """Return the row indices of each label in ascending order."""
    if len(labels) == 0:
        raise InvalidInput("labels: the list is empty; cluster at least one row first")
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels))[:-1])
