"""Plausibility of every inference for every instance, scored block by block.

The whole matrix of a test split has gigabytes; this module never stores more than one block.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.dedup.vectors import MATRIX_DIMENSIONS, check_vectors
from curation.negatives import matmul_backends
from curation.negatives.kernels import dot_rows, scale_rows
from curation.records import InvalidInput

UNIT_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class ScoreBlock:
    """Scores of c inferences for b instances, and the data that decide scores close to the gold one.

    scores: (b, c) words of a backend; scores from low to high, (b,) each, are close. golds: (b,) float64, each gold
    inference's plausibility. exact: whether scores are the plausibility; d is 0 then. Otherwise the plausibility is
    ``kernels.dot`` of the unit vectors images (b, d) and inferences (c, d).
    """

    scores: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    golds: NDArray[np.float64]
    exact: bool
    images: NDArray[Any]
    inferences: NDArray[Any]


class PlausibilityColumns(Protocol):
    """Some of the inferences, prepared for scoring."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores."""
        ...

    def start_block(self, instances: NDArray[np.intp], buffer: NDArray[Any]) -> ScoreBlock:
        """Return a block of (b,) instances; ``fill`` writes its scores into the first b rows of the buffer."""
        ...

    def fill(self, instances: NDArray[np.intp], block: ScoreBlock) -> Iterator[slice]:
        """Score the block; yield each part of the columns when its scores are ready."""
        ...

    def upper_bounds(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return upper bounds (k,) of the plausibility of (k,) scores."""
        ...

    def limit_to_one_core(self) -> AbstractContextManager[object]:
        """Return a context in which a thread that fills a block uses one core."""
        ...


class Plausibility(Protocol):
    """Plausibility of n inferences for m instances; the gold inference of instance i is inference i, m <= n."""

    @property
    def shape(self) -> tuple[int, int]:
        """(instances, inferences)."""
        ...

    def columns(self, ids: NDArray[np.intp]) -> PlausibilityColumns:
        """Prepare the (c,) inferences for scoring, in that order."""
        ...


class PlausibilityMatrix:
    """Precomputed scores, used unchanged; the array may be memory-mapped."""

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

    def columns(self, ids: NDArray[np.intp]) -> PlausibilityColumns:
        """Return the (c,) columns of the matrix."""
        return _MatrixColumns(self._matrix, ids)


class EmbeddingPlausibility:
    """Cosine of image+region vectors with inference vectors.

    Vectors are scaled to length 1 in float64 and stored in their own precision. The plausibility of a pair is
    ``kernels.dot`` of its vectors. A matrix product with a known error bound decides the clear cases. So results
    depend neither on the backend nor on the block size, and verbatim copies have exactly equal plausibility.
    """

    def __init__(
        self,
        images: NDArray[np.floating],
        inferences: NDArray[np.floating],
        backend: matmul_backends.ScoreBackend | None = None,
    ) -> None:
        """images: (m, d), inferences: (n, d), of any nonzero length; backend: numpy's by default.

        Raises InvalidInput for bad vectors.
        """
        dtype = common_dtype(images, inferences)
        self._backend = backend or matmul_backends.NumpyScoreBackend()
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

    def columns(self, ids: NDArray[np.intp]) -> PlausibilityColumns:
        """Prepare the (c, d) vectors of these inferences. A selection is copied; the whole array is not."""
        is_all = np.array_equal(ids, np.arange(len(self._inferences)))
        chosen = self._inferences if is_all else self._inferences[ids]
        prepared = self._backend.prepare(self._images, chosen)
        return _EmbeddingColumns(self._images, self._inferences, chosen, prepared)


@dataclass(frozen=True, slots=True)
class _MatrixColumns:
    matrix: NDArray[Any]
    ids: NDArray[np.intp]

    @property
    def dtype(self) -> np.dtype[Any]:
        return common_dtype(self.matrix)

    def start_block(self, instances: NDArray[np.intp], buffer: NDArray[Any]) -> ScoreBlock:
        golds = np.array([self.matrix[instance, instance] for instance in instances.tolist()], np.float64)
        images, inferences = (np.empty((len(side), 0), self.dtype) for side in (instances, self.ids))
        band = matmul_backends.round_outward(golds, 0.0, self.dtype)
        return ScoreBlock(buffer[: len(instances)], *band, golds, True, images, inferences)

    def fill(self, instances: NDArray[np.intp], block: ScoreBlock) -> Iterator[slice]:
        for position, instance in enumerate(instances.tolist()):
            row = self.matrix[instance]
            if not np.isfinite(row).all():
                raise InvalidInput(f"plausibility: row {instance} holds NaN or infinity; compute it again")
            block.scores[position] = row[self.ids]
        yield slice(0, len(self.ids))

    def upper_bounds(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        return scores.astype(np.float64)

    def limit_to_one_core(self) -> AbstractContextManager[object]:
        return nullcontext()


@dataclass(frozen=True, slots=True)
class _EmbeddingColumns:
    images: NDArray[Any]
    inferences: NDArray[Any]
    chosen: NDArray[Any]
    prepared: matmul_backends.PreparedScores

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.prepared.dtype

    def start_block(self, instances: NDArray[np.intp], buffer: NDArray[Any]) -> ScoreBlock:
        images = self.images[instances]
        golds = dot_rows(images, self.inferences[instances])
        band = self.prepared.uncertain_range(golds)
        return ScoreBlock(buffer[: len(instances)], *band, golds, False, images, self.chosen)

    def fill(self, instances: NDArray[np.intp], block: ScoreBlock) -> Iterator[slice]:
        return self.prepared.fill(instances, block.scores)

    def upper_bounds(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        return self.prepared.upper_bounds(scores)

    def limit_to_one_core(self) -> AbstractContextManager[object]:
        return self.prepared.limit_to_one_core()


def common_dtype(*arrays: NDArray[Any]) -> np.dtype[Any]:
    """Return float64 if one of the arrays is at least as wide, else float32."""
    is_wide = any(array.dtype.itemsize >= np.dtype(np.float64).itemsize for array in arrays)
    return np.dtype(np.float64 if is_wide else np.float32)


def unit_vectors(vectors: NDArray[np.floating], name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a copy of (n, d) vectors, each scaled to length 1, without a whole copy in float64.

    Raises InvalidInput as check_vectors does.
    """
    check_vectors(vectors, name)
    rows = np.empty(vectors.shape, dtype)
    for part in matmul_backends.block_slices(len(rows), UNIT_BLOCK):
        scale_rows(np.array(vectors[part], common_dtype(vectors)), rows[part])
    return rows


def _check_gold_exists(shape: tuple[int, ...]) -> None:
    instances, inferences = shape
    if not 1 <= instances <= inferences:
        raise InvalidInput(
            f"plausibility: {instances} instances and {inferences} inferences; each instance needs its own gold "
            "inference, in the same order"
        )
