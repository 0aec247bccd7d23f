"""What a group of near-duplicates holds: its least alike pair, and what people's decisions leave of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup.vectors import unit_rows

BLOCK_ROWS = 256


@dataclass(frozen=True, slots=True)
class LeastAlike:
    """The two rows of a group with the least cosine, the lower index first."""

    first: int
    second: int
    cosine: float


def least_alike(features: NDArray[np.floating]) -> LeastAlike:
    """Return the least alike pair of n vectors, n at least 2.

    features: (n, d), any length but zero. Takes n²·d / 2 products, and memory for a float32 copy and 256 rows of n
    cosines. Raises InvalidInput for a bad row.
    """
    rows = unit_rows(features, "features", np.float32)
    best = LeastAlike(0, 1, np.inf)
    for start in range(0, len(rows), BLOCK_ROWS):
        cosines = rows[start : start + BLOCK_ROWS] @ rows[start:].T
        # each pair once
        cosines[np.tril_indices(len(cosines), m=cosines.shape[1])] = np.inf
        at = int(cosines.argmin())
        first, second = divmod(at, cosines.shape[1])
        if cosines.flat[at] < best.cosine:
            best = LeastAlike(start + first, start + second, float(cosines.flat[at]))
    return LeastAlike(best.first, best.second, min(1.0, max(-1.0, best.cosine)))


def divide_group(
    kept: int, members: Sequence[int], different: Collection[tuple[int, int]]
) -> list[tuple[int, list[int]]]:
    """Divide a group so that nothing stands behind what people call different from it.

    Each member stays with the first kept one that it is not called different from, and becomes a kept one itself if
    there is none.

    Args:
        kept: stands for the group. different: pairs that people call different, the lower key first.

    Returns:
        each kept one with the members behind it; parts of one are left out.
    """
    parts: list[tuple[int, list[int]]] = [(kept, [])]
    for member in members:
        for head, behind in parts:
            if (min(head, member), max(head, member)) not in different:
                behind.append(member)
                break
        else:
            parts.append((member, []))
    return [part for part in parts if part[1]]
