"""Checks and unit rows, shared by all code that compares vectors by cosine."""

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

MATRIX_DIMENSIONS = 2
BLOCK_ROWS = 4096


def check_vectors(vectors: NDArray[np.floating], name: str) -> None:
    """Require a real (n, d) array, n and d at least 1, without NaN, infinity or zero rows.

    name: of the array in the message. Raises InvalidInput that names the first bad row.
    """
    if vectors.ndim != MATRIX_DIMENSIONS or 0 in vectors.shape:
        raise InvalidInput(f"{name}: shape {vectors.shape}; save (rows, dimensions), at least one of each")
    if not np.issubdtype(vectors.dtype, np.floating):
        raise InvalidInput(f"{name}: {vectors.dtype} values; save them as float32")
    # One number per row is enough: the greatest magnitude is NaN, infinite or zero if the row is bad.
    greatest = np.maximum(vectors.max(axis=1), -vectors.min(axis=1))
    broken = np.flatnonzero(~np.isfinite(greatest))
    if broken.size:
        raise InvalidInput(f"{name}: row {broken[0]} holds NaN or infinity; leave it out or compute it again")
    empty = np.flatnonzero(greatest == 0)
    if empty.size:
        raise InvalidInput(f"{name}: row {empty[0]} is all zeros and has no direction; leave it out")


def unit_rows(
    vectors: NDArray[np.floating], name: str, dtype: type[np.floating] = np.float64
) -> NDArray[np.floating]:
    """Return a copy of (n, d) vectors, each row scaled to length 1. Raises as check_vectors does."""
    check_vectors(vectors, name)
    rows = np.empty(vectors.shape, dtype=dtype)
    for start in range(0, len(vectors), BLOCK_ROWS):  # in blocks, so that temporary arrays stay small
        # Dividing by the greatest magnitude first keeps squares of very large or small values finite.
        block = vectors[start : start + BLOCK_ROWS].astype(np.float64)
        block /= np.abs(block).max(axis=1, keepdims=True)
        block /= np.linalg.norm(block, axis=1, keepdims=True)
        rows[start : start + BLOCK_ROWS] = block
    return rows
