"""Which responses fit which image: a response needs an object of every class that it tags."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hits.domain.tagged_text import Segments, mentions

Classes = frozenset[str]


def tagged_classes(segments: Segments, objects: Sequence[str]) -> Classes:
    """Return the classes of a text's tagged objects. objects: the class of each object of its image."""
    return frozenset(objects[index] for index in mentions(segments))


def missing_pairs(needed: Sequence[Classes], present: Sequence[Classes]) -> NDArray[np.bool_]:
    """Return whether the image of each query, a row, lacks a class that each response, a column, needs: (n, m).

    needed: m classes of the responses' tags. present: n classes of the objects of the queries' images.
    """
    names = {name: number for number, name in enumerate(sorted(frozenset().union(*needed)))}
    lacks = np.ones((len(present), len(names)), np.float32)
    for row, classes in enumerate(present):
        lacks[row, [names[name] for name in classes if name in names]] = 0.0
    needs = np.zeros((len(names), len(needed)), np.float32)
    for column, classes in enumerate(needed):
        needs[[names[name] for name in classes], column] = 1.0
    found: NDArray[np.bool_] = lacks @ needs > 0
    return found
