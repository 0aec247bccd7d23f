"""Compiled loops of comparison sets: exact dot products, counting of candidates, the greedy pick.

Never imported by web code (numba). Kernels release the interpreter lock, so that threads share out rows.

A plausibility or similarity is *defined* as ``dot``: the float64 sum of products in one fixed order, whatever block,
thread or BLAS library is at work. Equal vectors therefore give equal values, bit for bit. Scores that come from
a matrix product may be off; they only decide what is clear, and ``dot`` decides the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.dedup.kernels import kernel

CHUNK = 512  # columns counted at once; those that are close are looked for only where there are some
LANES = 8
# Cosine of unit vectors, rounding of their components included, is never below this.
LEAST_COSINE = -1.0 - 1e-6


class Block(NamedTuple):
    """Scores of c inferences for b instances, and what decides those that are close to the gold one.

    scores: (b, c). low, high: (b,) of the same type; outside of them a score is decided. golds: (b,) float64. exact:
    scores are the plausibility; if not, the ``dot`` of images (b, d) and inferences (c, d) is. slack: how far their
    product summed in their own precision, in any order, may be from that. at_least: a candidate may be as plausible
    as the gold, not only more.
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
    """What one instance may be given: m candidates, ascending.

    columns: (m,) of the block, and ids: (m,) of the texts' vectors. texts: (m,) numbers, equal for equal texts.
    upper: (m,) float64, no plausibility is above it. heads: (m, r) and tails: (m,), float32: the ``dot`` of two
    texts' vectors is at least head x head' - tail x tail', which costs less.
    """

    columns: NDArray[np.intp]
    ids: NDArray[np.intp]
    texts: NDArray[np.int64]
    upper: NDArray[np.float64]
    heads: NDArray[np.float32]
    tails: NDArray[np.float32]


class Taste(NamedTuple):
    """size: how many are picked. weight: of plausibility. nearest: the greatest similarity counts, not the mean."""

    size: int
    weight: float
    nearest: bool


@kernel()
def dot(first: Any, second: Any, lanes: Any) -> Any:
    """Sum of first[k] x second[k] in float64 and a fixed order. (d,), (d,), scratch (>= d // 8,).

    Eighths are added lane by lane and lanes are folded in halves, so that no step needs reordering to be vectorised.
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
def dots(first: Any, second: Any) -> Any:
    """``dot`` of each row of (r, d) with the same row of (r, d): (r,)."""
    lanes = np.empty(first.shape[1] // LANES + 1)
    values = np.empty(len(first))
    for row in range(len(first)):
        values[row] = dot(first[row], second[row], lanes)
    return values


@kernel()
def mean_similarity(vectors: Any, ids: Any) -> Any:
    """Mean ``dot`` of all pairs of the (k,) rows of (n, e) vectors; 0 for a single one."""
    lanes = np.empty(vectors.shape[1] // LANES + 1)
    k = len(ids)
    total = 0.0
    for i in range(k):
        for j in range(i + 1, k):
            total += dot(vectors[ids[i]], vectors[ids[j]], lanes)
    return total / max(1, k * (k - 1) // 2)


@kernel()
def _passes(  # noqa: PLR0917 - handing over a structure would cost more than the work
    score: Any, gold: float, exact: bool, at_least: bool, image: Any, inference: Any, lanes: Any
) -> Any:
    """Decide a score that is close to the gold one's, by the plausibility itself."""
    value = np.float64(score) if exact else dot(image, inference, lanes)
    return value > gold or (at_least and value == gold)


@kernel({"reassoc", "contract"})
def _quick_dot(first: Any, second: Any) -> Any:
    """Sum of first[k] x second[k] in their own precision, in any order."""
    total = first.dtype.type(0)
    for k in range(len(first)):
        total += first[k] * second[k]
    return total


@kernel()
def count_candidates(block: Block, start: int, stop: int, free: Any, counts: Any) -> None:
    """Add candidates among the columns start to stop, and the free ones of them, to counts (b, 2).

    free: (c,) int32, 0 or 1.
    """
    scores, low, high, golds, exact, slack, at_least, images, inferences = block
    lanes = np.empty(images.shape[1] // LANES + 1)
    found = np.empty(CHUNK + 1, np.int64)
    for row in range(len(scores)):
        image, gold = images[row], golds[row]
        every, left = 0, 0
        for begin in range(start, stop, CHUNK):
            end = min(begin + CHUNK, stop)
            line = scores[row, begin:end]
            above, above_free, close = _count_chunk(line, free[begin:end], low[row], high[row])
            every += above
            left += above_free
            for place in found[: _find_close(line, low[row], high[row], found) if close else 0]:
                column = begin + place
                difference = 0.0 if exact else np.float64(_quick_dot(image, inferences[column])) - gold
                passes = difference > 0  # unpredictable: no branch
                if abs(difference) <= slack:
                    passes = _passes(line[place], gold, exact, at_least, image, inferences[column], lanes)
                every += passes
                left += passes & free[column]
        counts[row, 0] += every
        counts[row, 1] += left


@kernel()
def discount_barred(block: Block, starts: Any, barred: Any, free: Any, counts: Any) -> None:
    """Take what may be no candidate from counts (b, 2): the barred columns starts[r] to starts[r + 1] of row r."""
    scores, low, high, golds, exact, _, at_least, images, inferences = block
    lanes = np.empty(images.shape[1] // LANES + 1)
    for row in range(len(scores)):
        for column in barred[starts[row] : starts[row + 1]]:
            score = scores[row, column]
            if score > high[row] or (
                score >= low[row]
                and _passes(score, golds[row], exact, at_least, images[row], inferences[column], lanes)
            ):
                counts[row, 0] -= 1
                counts[row, 1] -= free[column]


@kernel()
def _count_chunk(scores: Any, free: Any, low: Any, high: Any) -> Any:
    """How many of the scores are above high, how many of those are free, and whether any is from low to high."""
    above, above_free, close = np.int32(0), np.int32(0), np.int32(0)
    for column in range(len(scores)):
        more = np.int32(scores[column] > high)
        above = np.int32(above + more)
        above_free = np.int32(above_free + (more & free[column]))
        close = np.int32(close + np.int32(scores[column] >= low))
    return above, above_free, close > above


@kernel()
def _find_close(scores: Any, low: Any, high: Any, found: Any) -> Any:
    """Write the positions of the scores from low to high into found, which is longer; return how many they are."""
    count = np.int64(0)
    for column in range(len(scores)):  # without a branch, since none could be predicted
        found[count] = column
        count = count + (np.int64(scores[column] >= low) & np.int64(scores[column] <= high))
    return count


@kernel()
def select_candidates(block: Block, row: int, free: Any) -> Any:
    """The candidates of one row among the free columns, ascending. free: (c,) int32, 0 or 1."""
    scores, low, high, golds, exact, slack, at_least, images, inferences = block
    least, most, gold = low[row], high[row], golds[row]
    line, image = scores[row], images[row]
    lanes = np.empty(len(image) // LANES + 1)
    found = np.empty(len(free) + 1, np.int64)
    near = np.int64(0)
    for column in range(len(free)):
        found[near] = column
        near = near + (np.int64(line[column] >= least) & np.int64(free[column]))
    count = np.int64(0)
    for column in found[:near]:
        if line[column] > most:
            passes = True
        else:
            difference = 0.0 if exact else np.float64(_quick_dot(image, inferences[column])) - gold
            passes = difference > 0
            if abs(difference) <= slack:
                passes = _passes(line[column], gold, exact, at_least, image, inferences[column], lanes)
        found[count] = column
        count += np.int64(passes)
    return found[:count].copy()


@kernel()
def pick(block: Block, row: int, candidates: Candidates, rows: Any, left: Any, taste: Taste) -> Any:
    """Pick greedily: each time the greatest weight x plausibility - similarity to the picked, lowest position first.

    Exact: every candidate has an upper bound of its value, and each one whose bound reaches the best value is
    measured. rows: (n, e) unit vectors of texts. left: how many more of each text may be picked; counted down. At
    least taste.size candidates must be pickable. Returns positions (size,), figures (size, 3) with plausibility,
    similarity and value, and how many similarities were computed.
    """
    columns, ids, texts, upper, heads, tails = candidates
    size, weight, nearest = taste
    image, inferences, m = block.images[row], block.inferences, len(upper)
    lanes = np.empty(max(len(image), rows.shape[1]) // LANES + 1)
    known, taken = np.full(m, block.exact), np.zeros(m, np.bool_)
    seen, gathered = np.zeros(m, np.int64), np.full(m, -np.inf if nearest else 0.0)
    least, bounds = gathered.copy(), np.empty(m)
    picked, figures, computed = np.empty(size, np.int64), np.empty((size, 3)), 0
    for turn in range(size):
        if turn:
            _add_least(heads, tails, picked[turn - 1], nearest, least)
        top = _bound_values(taste, turn, upper, least, taken, bounds)
        best, best_value, best_similarity = -1, -np.inf, 0.0
        for place in range(-1, m):
            t = top if place < 0 else place
            if taken[t] or bounds[t] < best_value or left[texts[t]] == 0:
                continue
            for other in range(seen[t], turn):
                near = dot(rows[ids[t]], rows[ids[picked[other]]], lanes)
                gathered[t] = max(gathered[t], near) if nearest else gathered[t] + near
            computed += turn - seen[t]
            seen[t], least[t] = turn, gathered[t]
            if not known[t]:
                upper[t], known[t] = dot(image, inferences[columns[t]], lanes), True
            similarity = 0.0 if turn == 0 else gathered[t] if nearest else gathered[t] / turn
            value = weight * upper[t] - similarity
            if value > best_value or (value == best_value and t < best):
                best, best_value, best_similarity = t, value, similarity
        figures[turn, 0], figures[turn, 1], figures[turn, 2] = upper[best], best_similarity, best_value
        picked[turn], taken[best] = best, True
        left[texts[best]] -= 1
    return picked, figures, computed


@kernel({"reassoc", "contract"})
def _add_least(heads: Any, tails: Any, new: int, nearest: bool, least: Any) -> None:
    """Add to least, (m,), what the similarity to a new pick is at least, or raise least to it."""
    for t in range(len(least)):
        near = np.float32(0)
        for k in range(heads.shape[1]):
            near += heads[new, k] * heads[t, k]
        near -= tails[new] * tails[t]
        least[t] = max(least[t], near) if nearest else least[t] + near


@kernel()
def _bound_values(taste: Taste, turn: int, upper: Any, least: Any, taken: Any, bounds: Any) -> int:
    """Write upper bounds of the values, (m,); return the position of the greatest one that is not taken."""
    top = -1
    for t in range(len(upper)):
        similarity = 0.0 if turn == 0 else least[t] if taste.nearest else least[t] / turn
        bounds[t] = taste.weight * upper[t] - similarity
        if not taken[t] and (top < 0 or bounds[t] > bounds[top]):
            top = t
    return top


@kernel()
def order_bfloat16(words: Any) -> None:
    """Turn (b, c) int16, the bits of bfloat16 numbers, into integers that have their order: sign x magnitude."""
    for row in range(len(words)):
        line = words[row]
        for column in range(len(line)):
            sign = line[column] >> np.int16(15)
            magnitude = line[column] & np.int16(0x7FFF)
            line[column] = (magnitude ^ sign) - sign


@kernel()
def scale_rows(vectors: Any, out: Any) -> None:
    """Write the (n, d) vectors, each scaled to length 1 in float64, into out; all are finite and none is zero.

    Scaling by the greatest magnitude first keeps the squares of very large or small values finite.
    """
    lanes, line = np.empty(vectors.shape[1] // LANES + 1), np.empty(vectors.shape[1])
    for row in range(len(vectors)):
        greatest = _greatest(vectors[row])
        for k in range(len(line)):
            line[k] = np.float64(vectors[row, k]) / greatest
        length = np.sqrt(dot(line, line, lanes))
        for k in range(len(line)):
            out[row, k] = line[k] / length


@kernel({"nnan", "nsz", "reassoc"})
def _greatest(values: Any) -> float:
    """The greatest magnitude of finite values; the same in whatever order."""
    greatest = np.float64(0.0)
    for value in values:
        greatest = max(greatest, abs(np.float64(value)))
    return greatest
