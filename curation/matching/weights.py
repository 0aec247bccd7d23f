"""The weight of a response as a wrong choice of a query: ln P_rel + λ ln(1 - P_sim).

P_sim is the greatest similarity to a response that the query already has, its right one included. So a weight only
falls from round to round, to the least of the weights against each of them.
Source: Zellers et al. 2019 §4, equations 1 to 3, doi:10.1109/CVPR.2019.00688.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.matching.options import MatchOptions
from curation.records import InvalidInput

MIN_PROBABILITY = 1e-6  # P_rel and 1 - P_sim are clipped to it, so that every weight is finite
SYMMETRY_TOLERANCE = 1e-6
BLOCK_ROWS = 16  # few enough for the cache

Probabilities = NDArray[np.floating[Any]]


def weigh(relevance: Probabilities, similarity: Probabilities, options: MatchOptions) -> NDArray[np.float64]:
    """Return the weights of P_rel and P_sim, two arrays of one shape."""
    weights = relevance.astype(np.float64)
    np.log(np.clip(weights, MIN_PROBABILITY, 1.0, out=weights), out=weights)
    penalty = np.subtract(1.0, similarity, dtype=np.float64)
    np.log(np.clip(penalty, MIN_PROBABILITY, 1.0, out=penalty), out=penalty)
    weights += np.multiply(options.similarity_weight, penalty, out=penalty)
    if options.weight_step is not None:
        weights = np.rint(weights / options.weight_step) * options.weight_step
    return weights


def weigh_rows(
    relevance: Probabilities, similarity: Probabilities, held: NDArray[np.int64], options: MatchOptions
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield blocks of rows (b, n) of the weights against one response that each query has.

    relevance, similarity: (n, n). held: (n,) that response of each query; ``arange(n)`` for the right ones.
    """
    for start in range(0, len(relevance), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        yield rows, weigh(relevance[rows], similarity[held[rows]], options)


def check_probabilities(name: str, matrix: NDArray[Any], *, ignore_diagonal: bool = False) -> None:
    """Raise InvalidInput unless a matrix is square and holds floats in [0, 1]; the message has row and column."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:  # noqa: PLR2004 - rows and columns
        raise InvalidInput(f"{name}: the shape is {matrix.shape}; save as many rows as columns")
    if not np.issubdtype(matrix.dtype, np.floating):
        raise InvalidInput(f"{name}: the type is {matrix.dtype}; save float32 or float64")
    for start in range(0, len(matrix), BLOCK_ROWS):
        block = matrix[start : start + BLOCK_ROWS]
        wrong = ~((block >= 0) & (block <= 1))
        if ignore_diagonal:
            wrong[np.arange(len(block)), np.arange(start, start + len(block))] = False
        if wrong.any():
            row, column = (int(index) for index in np.argwhere(wrong)[0])
            raise InvalidInput(
                f"{name}: row {start + row}, column {column} is {block[row, column]}; give numbers from 0 to 1"
            )


def check_similarity(matrix: Probabilities) -> None:
    """Raise InvalidInput unless a matrix of probabilities is symmetric with a diagonal of 1."""
    own = np.abs(np.diagonal(matrix) - 1.0)
    if own.max(initial=0.0) > SYMMETRY_TOLERANCE:
        index = int(own.argmax())
        raise InvalidInput(
            f"similarity: row {index}, column {index} is {matrix[index, index]}; a text's similarity to itself is 1"
        )
    for start in range(0, len(matrix), BLOCK_ROWS):
        block, mirrored = matrix[start : start + BLOCK_ROWS], matrix[:, start : start + BLOCK_ROWS].T
        differs = np.abs(block - mirrored) > SYMMETRY_TOLERANCE
        if differs.any():
            row, column = (int(index) for index in np.argwhere(differs)[0])
            raise InvalidInput(
                f"similarity: row {start + row}, column {column} is {block[row, column]}, but row {column}, "
                f"column {start + row} is {mirrored[row, column]}; give a symmetric matrix"
            )


def symmetric_similarity(entailment: Probabilities) -> Probabilities:
    """Return P_sim (n, n) of entailment probabilities: the greater of both orders, and 1 for a text and itself."""
    similarity = np.maximum(entailment, entailment.T)
    np.fill_diagonal(similarity, 1.0)
    return similarity
