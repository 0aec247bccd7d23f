"""A random sample of each split."""

from collections.abc import Sequence

import numpy as np


def sample_by_split(splits: Sequence[str], size: int, generator: np.random.Generator) -> list[int]:
    """Return ``size`` random indices of each split, or all of a smaller one, ascending; 0 takes all.

    splits: the split of each pair. Splits are sampled in alphabetical order, so that equal seeds give equal
    samples. The paper scores 10,000 pairs of each split (Hessel et al. 2022, appendix A.4).
    """
    names = np.asarray(splits)
    chosen: list[int] = []
    for split in sorted(set(splits)):
        members = np.flatnonzero(names == split)
        if size and size < len(members):
            members = generator.choice(members, size=size, replace=False)
        chosen += members.tolist()
    return sorted(chosen)
