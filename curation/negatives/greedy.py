"""Pick a plausible and varied set from one instance's candidates.

Source: Hessel et al. 2022, appendix E, doi:10.1007/978-3-031-20059-5_32: plausibility weighs five times as much as
dissimilarity to earlier picks. They do not state whether they use the mean or the greatest similarity.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.negatives import kernels
from curation.negatives.candidates import CandidatePool, CountedBlock, IdArray
from curation.negatives.matmul_backends import block_slices
from curation.negatives.options import ComparisonSetOptions, DiversityMeasure
from curation.negatives.plausibility import common_dtype, unit_vectors

MAX_MAIN_DIRECTIONS = 64  # directions of a head
ITERATIONS = 3  # of the subspace iteration that finds the directions
SLACK = 1e-5  # added to squared tails
BLOCK_SIZE = 4096


@dataclass(frozen=True, slots=True)
class GreedyPicks:
    """The picks in order. columns: their columns in the scores. The other fields have one figure per pick.

    similarity: to earlier picks, 0 for the first pick. objectives: weight x plausibility - similarity.
    """

    columns: NDArray[np.intp]
    plausibility: tuple[float, ...]
    similarity: tuple[float, ...]
    objectives: tuple[float, ...]


class TextVectors:
    """Unit vectors of all texts. Their similarity is ``kernels.dot``, so that exact copies tie exactly."""

    def __init__(self, vectors: NDArray[np.floating]) -> None:
        """vectors: (n, e), of any nonzero length. Raises InvalidInput for bad ones."""
        self.rows = unit_vectors(vectors, "text embeddings", common_dtype(vectors))
        self._heads, self._tails = _split_heads_and_tails(self.rows)
        self._buffer = np.empty_like(self._heads)

    def heads_and_tails(self, ids: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return heads and tails of (m,) texts, as kernels.Candidates defines them; valid until the next call."""
        return np.take(self._heads, ids, axis=0, out=self._buffer[: len(ids)], mode="clip"), self._tails[ids]

    def mean_similarity(self, ids: NDArray[np.integer]) -> float:
        """Return the mean similarity over all pairs of (k,) texts; 0 for a single one."""
        return float(kernels.mean_similarity(self.rows, ids))


def _split_heads_and_tails(rows: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return heads (n, r), the projections of unit rows onto r main directions, and tails (n,), the residual lengths.

    By the Cauchy-Schwarz inequality the similarity of two texts is at least head x head' - tail x tail'. Slack is
    added to the squared tails, so that the product of two tails grows by at least the slack: it covers rows that
    rounding made too long (2e-7) and the float32 product of two heads (r x 6e-8).
    """
    sample = rows[:: -(-len(rows) // BLOCK_SIZE)].astype(np.float64)
    guess = np.random.default_rng(0).normal(size=(rows.shape[1], min(MAX_MAIN_DIRECTIONS, rows.shape[1])))
    for _ in range(ITERATIONS):  # any orthonormal directions are correct; good ones save work
        guess = np.linalg.qr(sample.T @ (sample @ guess))[0]
    heads = np.concatenate([(part @ guess).astype(np.float32) for part in _float64_blocks(rows)])
    tails = np.sqrt(np.maximum(0.0, 1.0 + SLACK - np.square(heads, dtype=np.float64).sum(axis=1)))
    return heads, np.nextafter(tails.astype(np.float32), np.float32(2))


def _float64_blocks(rows: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
    for part in block_slices(len(rows), BLOCK_SIZE):
        yield rows[part].astype(np.float64)


def pick_greedily(
    block: CountedBlock,
    row: int,
    columns: IdArray,
    pool: CandidatePool,
    vectors: TextVectors,
    options: ComparisonSetOptions,
) -> GreedyPicks:
    """Pick options.size of the (m,) candidate columns of one row, and reduce the remaining copies of their texts.

    The first pick has similarity 0; the lowest column wins a tie. There must be enough candidates.
    """
    upper = block.columns.upper_bounds(block.scored.scores[row, columns])
    ids = pool.ids[columns]
    candidates = kernels.Candidates(columns, ids, pool.numbers[columns], upper, *vectors.heads_and_tails(ids))
    rules = kernels.PickRules(options.size, options.weight, options.diversity is DiversityMeasure.MAX)
    picked, figures, _ = kernels.pick(block.scored, row, candidates, vectors.rows, pool.remaining, rules)
    plausibility, similarity, objectives = (tuple(column) for column in figures.T.tolist())
    return GreedyPicks(columns[picked], plausibility, similarity, objectives)
