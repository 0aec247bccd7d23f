"""Plausibility of every inference for every instance, scored block by block.

The whole matrix of a test split is gigabytes; nothing here holds more than one block of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.dedup.vectors import MATRIX_DIMENSIONS, check_vectors
from curation.negatives.kernels import dots, scale_rows
from curation.records import InvalidInput

UNIT_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class ScoreBlock:
    """Scores of c inferences for b instances, and what decides those that are close to the gold one.

    scores: (b, c). golds: (b,) float64, each gold inference's plausibility. margin: by how much a
    score may differ from the plausibility; 0 where it is the plausibility. images: (b, d) and inferences: (c, d)
    unit vectors whose ``dot`` is the plausibility; d is 0 where the margin is.
    """

    scores: NDArray[Any]
    golds: NDArray[np.float64]
    margin: float
    images: NDArray[Any]
    inferences: NDArray[Any]

    def band(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Scores below low or above high, (b,) each and of the scores' type, need no closer look."""
        kind = self.scores.dtype
        low = np.nextafter((self.golds - self.margin).astype(kind), kind.type(-np.inf))
        high = np.nextafter((self.golds + self.margin).astype(kind), kind.type(np.inf))
        return low, high


class Columns(Protocol):
    """Some of the inferences, ready to be scored."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores."""
        ...

    def block(self, instances: NDArray[np.intp], buffer: NDArray[Any]) -> ScoreBlock:
        """Score (b,) instances into the first b rows of a (>= b, c) buffer."""
        ...


class Plausibility(Protocol):
    """Plausibility of n inferences for m instances; the gold inference of instance i is inference i, m <= n."""

    @property
    def shape(self) -> tuple[int, int]:
        """(instances, inferences)."""
        ...

    def columns(self, ids: NDArray[np.intp]) -> Columns:
        """The (c,) inferences that are to be scored, in that order."""
        ...


class PlausibilityMatrix:
    """Scores that have been computed; the array may be memory-mapped. They are taken as they are."""

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

    def columns(self, ids: NDArray[np.intp]) -> Columns:
        """The (c,) columns of the matrix."""
        return _MatrixColumns(self._matrix, ids)


class EmbeddingPlausibility:
    """Cosine of image+region vectors with inference vectors.

    Vectors are scaled to length 1 in float64 and kept in their own precision. The plausibility of a pair is their
    ``dot``. A product of whole blocks finds what is clear: summed in whatever order, the product of two unit vectors
    of d components is off by at most d u / (1 - d u), with unit roundoff u (Higham 2002, section 3.1). The margin is
    that of the block's type plus that of ``dot``, and a little wider, as rounded vectors are not quite of length 1.
    So results depend neither on the size of a block nor on the library that multiplies, and verbatim copies are
    exactly as plausible as one another.
    """

    def __init__(self, images: NDArray[np.floating], inferences: NDArray[np.floating]) -> None:
        """images: (m, d), inferences: (n, d), any length but zero. Raises InvalidInput for bad vectors."""
        dtype = precision(images, inferences)
        self._images = unit_vectors(images, "image embeddings", dtype)
        self._inferences = unit_vectors(inferences, "inference embeddings", dtype)
        if self._images.shape[1] != self._inferences.shape[1]:
            raise InvalidInput(
                f"image embeddings have {self._images.shape[1]} dimensions and inference embeddings "
                f"{self._inferences.shape[1]}; both must come from the same model"
            )
        _check_gold_exists(self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """(instances, inferences)."""
        return len(self._images), len(self._inferences)

    def columns(self, ids: NDArray[np.intp]) -> Columns:
        """A copy of the (c, d) vectors; of all of them, none is made."""
        every = np.array_equal(ids, np.arange(len(self._inferences)))
        chosen = self._inferences if every else self._inferences[ids]
        return _EmbeddingColumns(self._images, self._inferences, chosen)


@dataclass(frozen=True, slots=True)
class _MatrixColumns:
    matrix: NDArray[Any]
    ids: NDArray[np.intp]

    @property
    def dtype(self) -> np.dtype[Any]:
        return precision(self.matrix)

    def block(self, instances: NDArray[np.intp], buffer: NDArray[Any]) -> ScoreBlock:
        golds = np.empty(len(instances))
        for place, instance in enumerate(instances):
            row = self.matrix[instance]
            if not np.isfinite(row).all():
                raise InvalidInput(f"plausibility: row {instance} holds NaN or infinity; compute it again")
            buffer[place], golds[place] = row[self.ids], row[instance]
        scores = buffer[: len(instances)]
        images, inferences = (np.empty((len(side), 0), self.dtype) for side in (instances, self.ids))
        return ScoreBlock(scores, golds, 0.0, images, inferences)


@dataclass(frozen=True, slots=True)
class _EmbeddingColumns:
    images: NDArray[Any]
    inferences: NDArray[Any]
    chosen: NDArray[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.chosen.dtype

    def block(self, instances: NDArray[np.intp], buffer: NDArray[Any]) -> ScoreBlock:
        images = self.images[instances]
        scores = np.matmul(images, self.chosen.T, out=buffer[: len(instances)])
        golds = dots(images, self.inferences[instances])
        return ScoreBlock(scores, golds, product_margin(images), images, self.chosen)


def product_margin(vectors: NDArray[Any]) -> float:
    """How far a product of unit vectors of (n, d) may be from their ``dot``."""
    d = vectors.shape[1]
    return 1.01 * (_summation_error(d, vectors.dtype) + _summation_error(d, np.dtype(np.float64)))


def _summation_error(d: int, kind: np.dtype[Any]) -> float:
    rounding = d * float(np.finfo(kind).eps) / 2
    return rounding / (1 - rounding)


def precision(*arrays: NDArray[Any]) -> np.dtype[Any]:
    """float64 if one of the arrays is at least as wide, else float32."""
    wide = any(array.dtype.itemsize >= np.dtype(np.float64).itemsize for array in arrays)
    return np.dtype(np.float64 if wide else np.float32)


def unit_vectors(vectors: NDArray[np.floating], name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Copy of (n, d) vectors, each scaled to length 1; no second copy in float64 is held.

    Raises InvalidInput as check_vectors does.
    """
    check_vectors(vectors, name)
    rows = np.empty(vectors.shape, dtype)
    for part in blocks_of(len(rows), UNIT_BLOCK):
        scale_rows(np.array(vectors[part], precision(vectors)), rows[part])
    return rows


def blocks_of(n: int, size: int) -> Iterator[slice]:
    """Slices of at most size that cover 0 to n."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _check_gold_exists(shape: tuple[int, ...]) -> None:
    instances, inferences = shape
    if not 1 <= instances <= inferences:
        raise InvalidInput(
            f"plausibility: {instances} instances and {inferences} inferences; each instance needs its own gold "
            "inference, in the same order"
        )
