"""Which member stands for its cluster.

The paper samples one at random; the lowest index and the medoid need no generator.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curation.dedup.vectors import unit_rows
from curation.records import InvalidInput


def keep_random(labels: NDArray[np.integer], generator: np.random.Generator) -> NDArray[np.int64]:
    """One member of each cluster, each with the same chance.

    labels: (n,), every label 0..k-1 occurring. Returns (k,) row indices in the order of the labels.
    """
    return np.array([generator.choice(members) for members in _members(labels)], dtype=np.int64)


def keep_first(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """The lowest index of each cluster. labels: (n,), 0..k-1. Returns (k,) row indices in the order of the labels."""
    return np.array([members[0] for members in _members(labels)], dtype=np.int64)


def keep_medoid(labels: NDArray[np.integer], features: NDArray[np.floating]) -> NDArray[np.int64]:
    """The member of each cluster with the greatest mean cosine to the whole cluster; the lowest index on a tie.

    labels: (n,), 0..k-1. features: (n, d). Returns (k,) row indices in the order of the labels. Raises InvalidInput
    for bad vectors or lengths that differ.
    """
    rows = unit_rows(features, "features")
    if len(rows) != len(labels):
        raise InvalidInput(f"features: {len(rows)} rows for {len(labels)} labels; give one label per row")
    # The mean cosine to the members is the cosine with their mean, up to a factor common to the cluster.
    return np.array(
        [members[np.argmax(rows[members] @ rows[members].sum(axis=0))] for members in _members(labels)],
        dtype=np.int64,
    )


def _members(labels: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """The row indices of each label in ascending order."""
    if len(labels) == 0:
        raise InvalidInput("labels: there is none; cluster at least one row first")
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels))[:-1])
