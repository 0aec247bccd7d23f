"""Plausibility of every inference for every instance, one row at a time.

The whole matrix of a test split is gigabytes; nothing here holds more than a block of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from curation.dedup.vectors import MATRIX_DIMENSIONS, unit_rows
from curation.records import InvalidInput

BLOCK_ROWS = 256


class PlausibilityRows(Protocol):
    """Scores of n inferences for m instances; the gold inference of instance i is inference i, m <= n."""

    @property
    def shape(self) -> tuple[int, int]:
        """(instances, inferences)."""
        ...

    def rows(self) -> Iterator[NDArray[np.floating]]:
        """The (n,) scores of each instance in turn, higher is more plausible; all are finite."""
        ...


class PlausibilityMatrix:
    """Scores that have been computed; the array may be memory-mapped."""

    def __init__(self, matrix: NDArray[np.floating]) -> None:
        """matrix: (instances, inferences) of floats. Raises InvalidInput for another shape or type."""
        if matrix.ndim != MATRIX_DIMENSIONS or not np.issubdtype(matrix.dtype, np.floating):
            raise InvalidInput(
                f"plausibility: {matrix.dtype} of shape {matrix.shape}; save floats of shape (instances, inferences)"
            )
        _check_gold_exists(matrix.shape)
        self._matrix = matrix

    @property
    def shape(self) -> tuple[int, int]:
        """(instances, inferences)."""
        return self._matrix.shape

    def rows(self) -> Iterator[NDArray[np.floating]]:
        """Rows in order. Raises InvalidInput naming the first row that holds NaN or infinity."""
        for start in range(0, len(self._matrix), BLOCK_ROWS):
            block = np.asarray(self._matrix[start : start + BLOCK_ROWS])
            finite = np.isfinite(block).all(axis=1)
            if not finite.all():
                row = start + int(np.argmin(finite))
                raise InvalidInput(f"plausibility: row {row} holds NaN or infinity; compute it again")
            yield from block


class EmbeddingPlausibility:
    """Cosine of image+region vectors with inference vectors, multiplied block by block as rows are asked for."""

    def __init__(self, images: NDArray[np.floating], inferences: NDArray[np.floating]) -> None:
        """images: (m, d), inferences: (n, d), any length but zero. Raises InvalidInput for bad vectors."""
        dtype = np.float64 if np.float64 in (images.dtype, inferences.dtype) else np.float32
        self._images = unit_rows(images, "image embeddings", dtype)
        # A product may round equal columns differently; multiplying each distinct vector once keeps a verbatim
        # copy of the gold exactly as plausible as the gold, so that it is disqualified with it.
        self._distinct, self._inverse = collapse_copies(unit_rows(inferences, "inference embeddings", dtype))
        if self._images.shape[1] != self._distinct.shape[1]:
            raise InvalidInput(
                f"image embeddings have {self._images.shape[1]} dimensions and inference embeddings "
                f"{self._distinct.shape[1]}; both must come from the same model"
            )
        _check_gold_exists(self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """(instances, inferences)."""
        return len(self._images), len(self._inverse)

    def rows(self) -> Iterator[NDArray[np.floating]]:
        """Rows in order."""
        distinct = self._distinct.T
        for start in range(0, len(self._images), BLOCK_ROWS):
            for row in self._images[start : start + BLOCK_ROWS] @ distinct:
                yield row[self._inverse]


def collapse_copies(rows: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.intp]]:
    """Distinct rows in order of first appearance, and for each of the (n, d) rows the number of its own.

    Returns ((u, d), (n,)) with distinct[inverse] equal to rows.
    """
    numbers: dict[bytes, int] = {}
    inverse = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], dtype=np.intp)
    _, first = np.unique(inverse, return_index=True)
    return rows[first], inverse


def _check_gold_exists(shape: tuple[int, int]) -> None:
    instances, inferences = shape
    if not 1 <= instances <= inferences:
        raise InvalidInput(
            f"plausibility: {instances} instances and {inferences} inferences; each instance needs its own gold "
            "inference, in the same order"
        )
