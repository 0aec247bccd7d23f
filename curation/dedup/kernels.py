"""Compiled loops over rows and scores, for the exact hierarchical clustering (``curation.dedup.exact``).

They release the interpreter's lock and run over ranges of rows, so that plain threads share the work: numba's own
parallel layer must not be entered by two Python threads at once. Only code that clusters imports this module; the
web process never does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

ROUNDING = 2.0**-53
SCAN_WORDS = 256
HALF = 16  # bits
HISTOGRAM_STEP = 4
# Scores hold no NaN, so the greatest of a run of them may be found in any order.
ANY_ORDER_MAXIMUM = {"nnan", "nsz"}
# One fixed machine code per length of row: the sums may be vectorised, and are the same at every call.
VECTOR_SUM = {"reassoc", "contract"}


def kernel(fastmath: set[str] | bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile on first use; keep the machine code on disk where a folder can be written."""

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(nogil=True, cache=True, fastmath=fastmath)(function)
        except RuntimeError:  # no folder for the cache: compile anew in each process
            return numba.njit(nogil=True, fastmath=fastmath)(function)

    return compiled


@kernel(VECTOR_SUM)
def dot(left: NDArray[np.floating], right: NDArray[np.floating]) -> float:
    """Inner product of two rows, summed in float64."""
    total = 0.0
    for t in range(left.shape[0]):
        total += np.float64(left[t]) * np.float64(right[t])
    return total


@kernel()
def inverse_lengths(rows: NDArray[np.floating], inverse: NDArray[np.float64]) -> None:
    """1 / length of each row (n, d) into (n,)."""
    for i in range(rows.shape[0]):
        inverse[i] = 1.0 / np.sqrt(dot(rows[i], rows[i]))


@kernel()
def scale_rows(
    rows: NDArray[np.floating],
    inverse: NDArray[np.float64],
    chosen: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Unit vectors of the chosen rows, rounded to float32."""
    for i in range(chosen.shape[0]):
        row = chosen[i]
        for t in range(rows.shape[1]):
            out[i, t] = np.float32(rows[row, t] * inverse[row])


@kernel()
def fingerprints(rows: NDArray[np.floating], weights: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """One number per row, the same for equal rows and nearly always another for rows that differ."""
    for i in range(rows.shape[0]):
        out[i] = dot(rows[i], weights)


@kernel()
def _same(left: NDArray[np.floating], right: NDArray[np.floating]) -> bool:
    for t in range(left.shape[0]):  # noqa: SIM110 - compiled: a generator would be slower
        if left[t] != right[t]:
            return False
    return True


@kernel()
def find_copies(
    rows: NDArray[np.floating],
    marks: NDArray[np.float64],
    order: NDArray[np.int64],
    copy_of: NDArray[np.int64],
) -> None:
    """The first row of which each row is an exact copy, itself included. order: stable sort of the fingerprints."""
    start = 0
    for at in range(order.shape[0]):
        row = order[at]
        if marks[row] != marks[order[start]]:
            start = at
        copy_of[row] = row
        for before in range(start, at):
            original = order[before]
            if copy_of[original] == original and _same(rows[original], rows[row]):
                copy_of[row] = original
                break


@kernel()
def apart(similarity: float, members: int, dimensions: int) -> float:
    """1 - similarity; zero when rounding alone could have made it that small."""
    distance = 1.0 - similarity
    return distance if distance > (members + 2 * dimensions + 16) * ROUNDING else 0.0


@kernel()
def _reaches(run: NDArray[np.int32], per_word: int, lowest: np.int32) -> bool:
    """Whether any score in a run of words is high enough: loops of this form are done many words at a time."""
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
def candidates(
    words: NDArray[np.int32],
    per_word: int,
    lowest: np.int32,
    place: tuple[int, int, int],
    span: tuple[int, int],
    ends: NDArray[np.int32],
) -> tuple[int, int]:
    """Pairs of one block of scores that may lie within reach.

    words: (rows, words) bits of the scores, ``per_word`` of them to a word, the first one in the low half. lowest:
    the bits of what any pair within reach scores at least. place: row and column of the first score, and how many
    columns there are. span: the rows of the block to look at. ends: (room, 2), filled with the pairs; only those
    with column > row count. Returns the row to go on from (there may be no room) and how many were found.
    """
    found = 0
    first_row, first_column, columns = place
    for i in range(span[0], span[1]):
        if found + columns > ends.shape[0]:
            return i, found
        row, line = first_row + i, words[i]
        first = max(0, row + 1 - first_column)
        for begin in range(first // per_word, words.shape[1], SCAN_WORDS):
            end = min(begin + SCAN_WORDS, words.shape[1])
            if not _reaches(line[begin:end], per_word, lowest):
                continue
            for w in range(begin, end):
                if line[w] < lowest and (per_word == 1 or np.int32(line[w] << HALF) < lowest):
                    continue
                for half in range(per_word):
                    j = w * per_word + half
                    score = np.int32(line[w] << (HALF * (per_word - 1 - half)))
                    if score >= lowest and first <= j < columns:
                        ends[found, 0], ends[found, 1] = row, first_column + j
                        found += 1
    return span[1], found


@kernel()
def within_reach(
    rows: NDArray[np.floating],
    inverse: NDArray[np.float64],
    reach: float,
    ends: NDArray[np.int32],
    distances: NDArray[np.float64],
) -> int:
    """Move the pairs that really lie within reach to the front, with their distances; returns how many.

    The distances are summed in float64 from the rows themselves, whatever product proposed the pairs.
    """
    kept = 0
    for pair in range(ends.shape[0]):
        row, column = ends[pair, 0], ends[pair, 1]
        similarity = dot(rows[row], rows[column]) * (inverse[row] * inverse[column])
        distance = apart(similarity, 2, rows.shape[1])
        if distance <= reach:
            ends[kept, 0], ends[kept, 1], distances[kept] = row, column, distance
            kept += 1
    return kept


@kernel(ANY_ORDER_MAXIMUM)
def _greatest(scores: NDArray[np.float32], begin: int, end: int) -> np.float32:
    greatest = np.float32(-np.inf)
    for j in range(begin, end):
        greatest = scores[j] if scores[j] > greatest else greatest
    return greatest


@kernel()
def survey(
    cosines: NDArray[np.float32],
    own: NDArray[np.int64],
    span: tuple[int, int],
    nearest: NDArray[np.float32],
    histogram: NDArray[np.int64],
) -> None:
    """Nearest other row of sampled ones, and how many pairs lie at each distance, from one block of cosines.

    own: (sample,) the column of the sampled row itself, outside of the block for most. Distances of every
    HISTOGRAM_STEP-th column are counted.
    """
    bins, columns = histogram.shape[0], cosines.shape[1]
    for i in range(span[0], span[1]):
        line = cosines[i]
        here = min(max(own[i], 0), columns)
        greatest = max(_greatest(line, 0, here), _greatest(line, min(max(own[i] + 1, 0), columns), columns))
        nearest[i] = min(nearest[i], np.float32(1.0) - greatest)
        for j in range(0, columns, HISTOGRAM_STEP):
            if j != own[i]:
                step = int((np.float32(1.0) - line[j]) * np.float32(0.5 * bins))
                histogram[max(0, min(bins - 1, step))] += 1
