"""Verbatim copies of a text: they are never wrong choices of one another, and a query gets a text once at most."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
"""(n,) numbers of texts, equal for copies."""


def label_copies(texts: Sequence[Hashable]) -> Labels:
    """Return a number for each text, equal for equal texts, in the order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)


def groups_of_copies(labels: Labels) -> list[NDArray[np.int64]]:
    """Return the ascending members of each text that occurs more than once."""
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return sorted((group for group in groups if len(group) > 1), key=lambda group: int(group[0]))


def excess_copies(labels: Labels, rounds: int) -> list[NDArray[np.int64]]:
    """Return the groups of m copies among n texts for which n is below (rounds + 1) x m.

    Each query takes a text once at most, its own counts, and copies never meet: so no result exists. The condition
    is necessary, not sufficient.
    """
    return [group for group in groups_of_copies(labels) if len(labels) < (rounds + 1) * len(group)]
