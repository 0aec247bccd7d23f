"""Compiled loops over rows and scores, for the exact hierarchical clustering (``curation.dedup.sparse``).

They release the interpreter's lock and process ranges of rows, so that Python threads can share the work: two threads
must not enter numba's own parallel layer at once. Only clustering code imports this module, never the web process.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

ROUNDING = 2.0**-53
SCAN_WORDS = 256  # words that are scanned together
HALF = 16  # bits of half a word
HISTOGRAM_STEP = 4  # the histogram counts every fourth column
# Scores contain no NaN, so their maximum may be computed in any order.
ANY_ORDER_MAXIMUM = {"nnan", "nsz"}
# Sums may be vectorised. Each row length always runs the same machine code, so equal input gives equal sums.
VECTOR_SUM = {"reassoc", "contract"}


def kernel(fastmath: set[str] | bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function at its first call, cached on disk if possible."""

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(nogil=True, cache=True, fastmath=fastmath)(function)
        except RuntimeError:  # no folder for the cache: compile in each process
            return numba.njit(nogil=True, fastmath=fastmath)(function)

    return compiled


@kernel(VECTOR_SUM)
def dot(left: NDArray[np.floating], right: NDArray[np.floating]) -> float:
    """Return the inner product of two rows, summed in float64."""
    total = 0.0
    for t in range(left.shape[0]):
        total += np.float64(left[t]) * np.float64(right[t])
    return total


@kernel()
def write_inverse_lengths(rows: NDArray[np.floating], inverse: NDArray[np.float64]) -> None:
    """Write 1 / length of each row (n, d) into (n,)."""
    for i in range(rows.shape[0]):
        inverse[i] = 1.0 / np.sqrt(dot(rows[i], rows[i]))


@kernel()
def scale_rows(
    rows: NDArray[np.floating],
    inverse: NDArray[np.float64],
    chosen: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Write unit vectors of the chosen rows, rounded to float32."""
    for i in range(chosen.shape[0]):
        row = chosen[i]
        for t in range(rows.shape[1]):
            out[i, t] = np.float32(rows[row, t] * inverse[row])


@kernel()
def write_fingerprints(
    rows: NDArray[np.floating], weights: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write one number per row, equal for equal rows and nearly always different for different rows."""
    for i in range(rows.shape[0]):
        out[i] = dot(rows[i], weights)


@kernel()
def _rows_equal(left: NDArray[np.floating], right: NDArray[np.floating]) -> bool:
    for t in range(left.shape[0]):  # noqa: SIM110 - compiled: a generator would be slower
        if left[t] != right[t]:
            return False
    return True


@kernel()
def find_copies(
    rows: NDArray[np.floating],
    fingerprint_values: NDArray[np.float64],
    order: NDArray[np.int64],
    copy_of: NDArray[np.int64],
) -> None:
    """Find for each row the first row with equal values, possibly itself. order: stable sort of the fingerprints."""
    start = 0
    for position in range(order.shape[0]):
        row = order[position]
        if fingerprint_values[row] != fingerprint_values[order[start]]:
            start = position
        copy_of[row] = row
        for earlier in range(start, position):
            original = order[earlier]
            if copy_of[original] == original and _rows_equal(rows[original], rows[row]):
                copy_of[row] = original
                break


@kernel()
def cosine_distance_or_zero(similarity: float, member_count: int, dimensions: int) -> float:
    """Return 1 - similarity; zero if it is not distinguishable from rounding."""
    distance = 1.0 - similarity
    return distance if distance > (member_count + 2 * dimensions + 16) * ROUNDING else 0.0


@kernel()
def _has_score_at_least(run: NDArray[np.int32], per_word: int, lowest: np.int32) -> bool:
    """Whether any score in a run of words is at least ``lowest``. The compiler vectorises loops of this form."""
    greatest = np.int32(-(2**31))
    for w in range(run.shape[0]):
        score = run[w]
        greatest = score if score > greatest else greatest
    if per_word > 1:
        for w in range(run.shape[0]):
            score = np.int32(run[w] << HALF)
            greatest = score if score > greatest else greatest
    return bool(greatest >= lowest)


@kernel()
def find_candidate_pairs(
    words: NDArray[np.int32],
    per_word: int,
    lowest: np.int32,
    offset: tuple[int, int, int],
    span: tuple[int, int],
    ends: NDArray[np.int32],
) -> tuple[int, int]:
    """Find the pairs of one block of scores that may be within the radius.

    words: (rows, words) bits of the scores, ``per_word`` of them per word, the first one in the low half. lowest:
    the bits of the least score of a pair within the radius. offset: row and column of the first score, and the number
    of columns. span: the rows of the block to search. ends: (capacity, 2), filled with the pairs with column > row.
    Returns the row to continue from, as the capacity may be used up, and the number of pairs found.
    """
    found = 0
    first_row, first_column, columns = offset
    for i in range(span[0], span[1]):
        if found + columns > ends.shape[0]:
            return i, found
        row, row_words = first_row + i, words[i]
        first = max(0, row + 1 - first_column)
        for begin in range(first // per_word, words.shape[1], SCAN_WORDS):
            end = min(begin + SCAN_WORDS, words.shape[1])
            if not _has_score_at_least(row_words[begin:end], per_word, lowest):
                continue
            for w in range(begin, end):
                if row_words[w] < lowest and (per_word == 1 or np.int32(row_words[w] << HALF) < lowest):
                    continue
                for half in range(per_word):
                    j = w * per_word + half
                    score = np.int32(row_words[w] << (HALF * (per_word - 1 - half)))
                    if score >= lowest and first <= j < columns:
                        ends[found, 0], ends[found, 1] = row, first_column + j
                        found += 1
    return span[1], found


@kernel()
def filter_by_radius(
    rows: NDArray[np.floating],
    inverse: NDArray[np.float64],
    radius: float,
    ends: NDArray[np.int32],
    distances: NDArray[np.float64],
) -> int:
    """Move the pairs that are within the radius to the front, with their distances; return their number.

    The distances are summed in float64 from the rows themselves, whichever backend proposed the pairs.
    """
    count = 0
    for pair in range(ends.shape[0]):
        row, column = ends[pair, 0], ends[pair, 1]
        similarity = dot(rows[row], rows[column]) * (inverse[row] * inverse[column])
        distance = cosine_distance_or_zero(similarity, 2, rows.shape[1])
        if distance <= radius:
            ends[count, 0], ends[count, 1], distances[count] = row, column, distance
            count += 1
    return count


@kernel(ANY_ORDER_MAXIMUM)
def _max_score(scores: NDArray[np.float32], begin: int, end: int) -> np.float32:
    greatest = np.float32(-np.inf)
    for j in range(begin, end):
        greatest = scores[j] if scores[j] > greatest else greatest
    return greatest


@kernel()
def add_block_distances(
    cosines: NDArray[np.float32],
    own: NDArray[np.int64],
    span: tuple[int, int],
    nearest: NDArray[np.float32],
    histogram: NDArray[np.int64],
) -> None:
    """Update the nearest distance of sampled rows and the histogram of distances from one block of cosines.

    own: (sample,) the column of the sampled row itself, mostly outside the block. Only every HISTOGRAM_STEP-th column
    is counted.
    """
    bins, columns = histogram.shape[0], cosines.shape[1]
    for i in range(span[0], span[1]):
        row = cosines[i]
        own_column = min(max(own[i], 0), columns)
        after_own = min(max(own[i] + 1, 0), columns)
        greatest = max(_max_score(row, 0, own_column), _max_score(row, after_own, columns))
        nearest[i] = min(nearest[i], np.float32(1.0) - greatest)
        for j in range(0, columns, HISTOGRAM_STEP):
            if j != own[i]:
                step = int((np.float32(1.0) - row[j]) * np.float32(0.5 * bins))
                histogram[max(0, min(bins - 1, step))] += 1
