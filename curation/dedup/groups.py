"""Groups of near-duplicates: find their least similar pair, and split them by people's decisions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup.vectors import unit_rows

BLOCK_ROWS = 256


@dataclass(frozen=True, slots=True)
class LeastSimilarPair:
    """The two rows of a group with the least cosine, the lower index first."""

    first: int
    second: int
    cosine: float


def find_least_similar(features: NDArray[np.floating]) -> LeastSimilarPair:
    """Return the least similar pair of n vectors, n at least 2.

    features: (n, d), of any nonzero length. Cost: n²·d / 2 multiplications, and memory for a float32 copy and 256
    rows of n cosines. Raises InvalidInput for a bad row.
    """
    rows = unit_rows(features, "features", np.float32)
    best = LeastSimilarPair(0, 1, np.inf)
    for start in range(0, len(rows), BLOCK_ROWS):
        cosines = rows[start : start + BLOCK_ROWS] @ rows[start:].T
        # count each pair once
        cosines[np.tril_indices(len(cosines), m=cosines.shape[1])] = np.inf
        index = int(cosines.argmin())
        first, second = divmod(index, cosines.shape[1])
        if cosines.flat[index] < best.cosine:
            best = LeastSimilarPair(start + first, start + second, float(cosines.flat[index]))
    return LeastSimilarPair(best.first, best.second, min(1.0, max(-1.0, best.cosine)))


def divide_group(
    kept: int, members: Sequence[int], different_pairs: Collection[tuple[int, int]]
) -> list[tuple[int, list[int]]]:
    """Divide a group so that people judged no member different from its representative.

    Each member joins the first representative that people did not judge different from it; if there is none, it
    becomes a representative itself.

    Args:
        kept: the group's representative. different_pairs: pairs that people judged different, the lower key first.

    Returns:
        each representative with its members; subgroups of one are omitted.
    """
    subgroups: list[tuple[int, list[int]]] = [(kept, [])]
    for member in members:
        for representative, followers in subgroups:
            if (min(representative, member), max(representative, member)) not in different_pairs:
                followers.append(member)
                break
        else:
            subgroups.append((member, []))
    return [subgroup for subgroup in subgroups if subgroup[1]]
