"""Compiled loops of comparison sets: exact dot products, counting of candidates, the greedy pick.

Web code never imports this module (numba). Kernels release the interpreter lock, so that threads can share the rows.

Plausibility and similarity are *defined* as ``dot``: the float64 sum of products in one fixed order, independent of
block, thread and BLAS library. So equal vectors give equal values, bit for bit. Scores of a matrix product are
approximate; they decide the clear cases, and ``dot`` decides the close cases.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.dedup.kernels import kernel

CHUNK = 512  # columns counted at once; close scores are located only in chunks that have some
LANES = 8  # partial sums of ``dot``
# Lower bound of the cosine of unit vectors, including rounding of their components.
MIN_COSINE = -1.0 - 1e-6


class Block(NamedTuple):
    """Scores of c inferences for b instances, and the data that decide scores close to the gold one.

    scores: (b, c). low, high: (b,) of the same type; scores outside this range are clear. golds: (b,) float64, the
    gold inferences' plausibility. exact: whether scores are the plausibility; otherwise it is the ``dot`` of images
    (b, d) and inferences (c, d). slack: bound of the difference between ``dot`` and the product of the vectors in
    their own precision, summed in any order. at_least: whether an inference that is as plausible as the gold one is a
    candidate.
    """

    scores: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    golds: NDArray[np.float64]
    exact: bool
    slack: float
    at_least: bool
    images: NDArray[Any]
    inferences: NDArray[Any]


class Candidates(NamedTuple):
    """The m candidates of one instance, ascending.

    columns: (m,) of the block, and ids: (m,) of the texts' vectors. texts: (m,) numbers, equal for equal texts.
    upper: (m,) float64, upper bounds of the plausibility. heads: (m, r) and tails: (m,), float32: the ``dot`` of two
    texts' vectors is at least head x head' - tail x tail', which is cheaper.
    """

    columns: NDArray[np.intp]
    ids: NDArray[np.intp]
    texts: NDArray[np.int64]
    upper: NDArray[np.float64]
    heads: NDArray[np.float32]
    tails: NDArray[np.float32]


class PickRules(NamedTuple):
    """size: number of picks. weight: of plausibility. use_max: use the greatest similarity, not the mean."""

    size: int
    weight: float
    use_max: bool


@kernel()
def dot(first: Any, second: Any, lanes: Any) -> Any:
    """Return the sum of first[k] x second[k] in float64 in a fixed order. first, second: (d,). lanes: (>= d // 8,).

    Eighths of the vectors are added into ``lanes``, which are then folded in halves: vectorising needs no reordering.
    """
    d = first.shape[0]
    n = d // LANES
    for k in range(n):
        near = np.float64(first[k]) * np.float64(second[k])
        near += np.float64(first[k + n]) * np.float64(second[k + n])
        near += np.float64(first[k + 2 * n]) * np.float64(second[k + 2 * n])
        near += np.float64(first[k + 3 * n]) * np.float64(second[k + 3 * n])
        far = np.float64(first[k + 4 * n]) * np.float64(second[k + 4 * n])
        far += np.float64(first[k + 5 * n]) * np.float64(second[k + 5 * n])
        far += np.float64(first[k + 6 * n]) * np.float64(second[k + 6 * n])
        far += np.float64(first[k + 7 * n]) * np.float64(second[k + 7 * n])
        lanes[k] = near + far
    total = 0.0
    for k in range(LANES * n, d):
        total += np.float64(first[k]) * np.float64(second[k])
    while n > LANES:
        half = n // 2
        for k in range(half):
            lanes[k] += lanes[n - half + k]
        n -= half
    for k in range(n):
        total += lanes[k]
    return total


@kernel()
def dot_rows(first: Any, second: Any) -> Any:
    """Return the ``dot`` of each row of (r, d) with the same row of (r, d): (r,)."""
    lanes = np.empty(first.shape[1] // LANES + 1)
    values = np.empty(len(first))
    for row in range(len(first)):
        values[row] = dot(first[row], second[row], lanes)
    return values


@kernel()
def mean_similarity(vectors: Any, ids: Any) -> Any:
    """Return the mean ``dot`` of all pairs of the (k,) rows of (n, e) vectors; 0 for a single one."""
    lanes = np.empty(vectors.shape[1] // LANES + 1)
    k = len(ids)
    total = 0.0
    for i in range(k):
        for j in range(i + 1, k):
            total += dot(vectors[ids[i]], vectors[ids[j]], lanes)
    return total / max(1, k * (k - 1) // 2)


@kernel()
def _is_candidate(  # noqa: PLR0917 - passing a structure would cost more than the work
    score: Any, gold: float, exact: bool, at_least: bool, image: Any, inference: Any, lanes: Any
) -> Any:
    """Whether an inference whose score is close to the gold one's is a candidate, by its exact plausibility."""
    value = np.float64(score) if exact else dot(image, inference, lanes)
    return value > gold or (at_least and value == gold)


@kernel({"reassoc", "contract"})
def _quick_dot(first: Any, second: Any) -> Any:
    """Return the sum of first[k] x second[k] in their own precision, in any order."""
    total = first.dtype.type(0)
    for k in range(len(first)):
        total += first[k] * second[k]
    return total


@kernel()
def count_candidates(block: Block, start: int, stop: int, free: Any, counts: Any) -> None:
    """Count the candidates, and the free candidates, in the columns start to stop; add both numbers to counts (b, 2).

    free: (c,) int32, 0 or 1.
    """
    scores, low, high, golds, exact, slack, at_least, images, inferences = block
    lanes = np.empty(images.shape[1] // LANES + 1)
    found = np.empty(CHUNK + 1, np.int64)
    for row in range(len(scores)):
        image, gold = images[row], golds[row]
        total, free_count = 0, 0
        for begin in range(start, stop, CHUNK):
            end = min(begin + CHUNK, stop)
            row_scores = scores[row, begin:end]
            above, above_free, close = _count_chunk(row_scores, free[begin:end], low[row], high[row])
            total += above
            free_count += above_free
            for position in found[
                : _write_close_positions(row_scores, low[row], high[row], found) if close else 0
            ]:
                column = begin + position
                difference = 0.0 if exact else np.float64(_quick_dot(image, inferences[column])) - gold
                passes = difference > 0  # unpredictable, so without a branch
                if abs(difference) <= slack:
                    passes = _is_candidate(
                        row_scores[position], gold, exact, at_least, image, inferences[column], lanes
                    )
                total += passes
                free_count += passes & free[column]
        counts[row, 0] += total
        counts[row, 1] += free_count


@kernel()
def subtract_excluded(block: Block, starts: Any, excluded: Any, free: Any, counts: Any) -> None:
    """Subtract the candidates among excluded[starts[r] : starts[r + 1]] of each row r from counts (b, 2)."""
    scores, low, high, golds, exact, _, at_least, images, inferences = block
    lanes = np.empty(images.shape[1] // LANES + 1)
    for row in range(len(scores)):
        for column in excluded[starts[row] : starts[row + 1]]:
            score = scores[row, column]
            if score > high[row] or (
                score >= low[row]
                and _is_candidate(score, golds[row], exact, at_least, images[row], inferences[column], lanes)
            ):
                counts[row, 0] -= 1
                counts[row, 1] -= free[column]


@kernel()
def _count_chunk(scores: Any, free: Any, low: Any, high: Any) -> Any:
    """Return the number of scores above high, the number of free ones, and whether any is from low to high."""
    above, above_free, close = np.int32(0), np.int32(0), np.int32(0)
    for column in range(len(scores)):
        more = np.int32(scores[column] > high)
        above = np.int32(above + more)
        above_free = np.int32(above_free + (more & free[column]))
        close = np.int32(close + np.int32(scores[column] >= low))
    return above, above_free, close > above


@kernel()
def _write_close_positions(scores: Any, low: Any, high: Any, found: Any) -> Any:
    """Write the positions of the scores from low to high into found, which is longer; return their number."""
    count = np.int64(0)
    for column in range(len(scores)):  # without a branch, as it would be unpredictable
        found[count] = column
        count = count + (np.int64(scores[column] >= low) & np.int64(scores[column] <= high))
    return count


@kernel()
def select_candidates(block: Block, row: int, free: Any) -> Any:
    """Return the candidates of one row among the free columns, ascending. free: (c,) int32, 0 or 1."""
    scores, low, high, golds, exact, slack, at_least, images, inferences = block
    least, most, gold = low[row], high[row], golds[row]
    row_scores, image = scores[row], images[row]
    lanes = np.empty(len(image) // LANES + 1)
    found = np.empty(len(free) + 1, np.int64)
    close_count = np.int64(0)
    for column in range(len(free)):
        found[close_count] = column
        close_count = close_count + (np.int64(row_scores[column] >= least) & np.int64(free[column]))
    count = np.int64(0)
    for column in found[:close_count]:
        if row_scores[column] > most:
            passes = True
        else:
            difference = 0.0 if exact else np.float64(_quick_dot(image, inferences[column])) - gold
            passes = difference > 0
            if abs(difference) <= slack:
                passes = _is_candidate(
                    row_scores[column], gold, exact, at_least, image, inferences[column], lanes
                )
        found[count] = column
        count += np.int64(passes)
    return found[:count].copy()


@kernel()
def pick(block: Block, row: int, candidates: Candidates, rows: Any, remaining: Any, rules: PickRules) -> Any:
    """Pick greedily the greatest weight x plausibility - similarity to earlier picks; the lowest position wins a tie.

    The result is exact: every candidate has an upper bound of its value, and the value is computed for each candidate
    whose bound reaches the best value. rows: (n, e) unit vectors of texts. remaining: how often each text may still
    be picked; reduced by each pick. At least rules.size candidates must be pickable. Returns positions (size,),
    figures (size, 3) with plausibility, similarity and value, and the number of computed similarities.
    """
    columns, ids, texts, upper, heads, tails = candidates
    size, weight, use_max = rules
    image, inferences, m = block.images[row], block.inferences, len(upper)
    lanes = np.empty(max(len(image), rows.shape[1]) // LANES + 1)
    known, taken = np.full(m, block.exact), np.zeros(m, np.bool_)
    measured, similarities = np.zeros(m, np.int64), np.full(m, -np.inf if use_max else 0.0)
    lower, bounds = similarities.copy(), np.empty(m)
    picked, figures, computed = np.empty(size, np.int64), np.empty((size, 3)), 0
    for turn in range(size):
        if turn:
            _update_lower_bounds(heads, tails, picked[turn - 1], use_max, lower)
        top = _write_bounds_and_find_top(rules, turn, upper, lower, taken, bounds)
        best, best_value, best_similarity = -1, -np.inf, 0.0
        for index in range(-1, m):
            t = top if index < 0 else index
            if taken[t] or bounds[t] < best_value or remaining[texts[t]] == 0:
                continue
            for other in range(measured[t], turn):
                dot_value = dot(rows[ids[t]], rows[ids[picked[other]]], lanes)
                similarities[t] = max(similarities[t], dot_value) if use_max else similarities[t] + dot_value
            computed += turn - measured[t]
            measured[t], lower[t] = turn, similarities[t]
            if not known[t]:
                upper[t], known[t] = dot(image, inferences[columns[t]], lanes), True
            similarity = 0.0 if turn == 0 else similarities[t] if use_max else similarities[t] / turn
            value = weight * upper[t] - similarity
            if value > best_value or (value == best_value and t < best):
                best, best_value, best_similarity = t, value, similarity
        figures[turn, 0], figures[turn, 1], figures[turn, 2] = upper[best], best_similarity, best_value
        picked[turn], taken[best] = best, True
        remaining[texts[best]] -= 1
    return picked, figures, computed


@kernel({"reassoc", "contract"})
def _update_lower_bounds(heads: Any, tails: Any, new: int, use_max: bool, lower: Any) -> None:
    """Update lower, (m,), by the lower bound of each similarity to a new pick: add it, or take the maximum."""
    for t in range(len(lower)):
        near = np.float32(0)
        for k in range(heads.shape[1]):
            near += heads[new, k] * heads[t, k]
        near -= tails[new] * tails[t]
        lower[t] = max(lower[t], near) if use_max else lower[t] + near


@kernel()
def _write_bounds_and_find_top(
    rules: PickRules, turn: int, upper: Any, lower: Any, taken: Any, bounds: Any
) -> int:
    """Write upper bounds of the values, (m,); return the position of the greatest one not yet taken."""
    top = -1
    for t in range(len(upper)):
        similarity = 0.0 if turn == 0 else lower[t] if rules.use_max else lower[t] / turn
        bounds[t] = rules.weight * upper[t] - similarity
        if not taken[t] and (top < 0 or bounds[t] > bounds[top]):
            top = t
    return top


@kernel()
def to_ordered_integers(words: Any) -> None:
    """Convert (b, c) int16, the bits of bfloat16 numbers, to integers with the same order: sign x magnitude."""
    for row in range(len(words)):
        row_words = words[row]
        for column in range(len(row_words)):
            sign = row_words[column] >> np.int16(15)
            magnitude = row_words[column] & np.int16(0x7FFF)
            row_words[column] = (magnitude ^ sign) - sign


@kernel()
def scale_rows(vectors: Any, out: Any) -> None:
    """Write the (n, d) vectors, each scaled to length 1 in float64, into out; all are finite and none is zero.

    Dividing by the greatest magnitude first keeps squares of very large or small values finite.
    """
    lanes, row_values = np.empty(vectors.shape[1] // LANES + 1), np.empty(vectors.shape[1])
    for row in range(len(vectors)):
        greatest = _max_magnitude(vectors[row])
        for k in range(len(row_values)):
            row_values[k] = np.float64(vectors[row, k]) / greatest
        length = np.sqrt(dot(row_values, row_values, lanes))
        for k in range(len(row_values)):
            out[row, k] = row_values[k] / length


@kernel({"nnan", "nsz", "reassoc"})
def _max_magnitude(values: Any) -> float:
    """Return the greatest magnitude of finite values; independent of their order."""
    greatest = np.float64(0.0)
    for value in values:
        greatest = max(greatest, abs(np.float64(value)))
    return greatest
