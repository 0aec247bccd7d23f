"""Measures of the pairs setup: whether gold gets the higher score of the two hypotheses.

Source: Ventura et al. 2025 §4.2 and A.3, table 8 (rank differences and equal ranks). Equal scores and missing scores
are wrong. Differences and mean scores are over the triplets with both scores. Table 8's "correct rank" and "incorrect
rank" are not defined there, and are not the mean scores of gold and of the other hypothesis.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.intervals import REPLICATES, Figure
from curation.evaluation.nleye_draws import divide, draw_counts, make_figure, share_figures
from curation.evaluation.nleye_key import PairScores, TripletKey, check_length

PAIR_SHARES = ("order_faithful_accuracy", "equal_share")
PAIR_MEANS = (
    "mean_difference",
    "mean_difference_when_right",
    "mean_difference_when_wrong",
    "mean_score_gold",
    "mean_score_other",
)
SCALE_POINTS = 10  # of the scale in the paper
MANY_TRIPLETS = 20_000
MANY_REPLICATES = 200
"""Beyond ``MANY_TRIPLETS`` triplets, means are drawn this often: each draw costs time in the number of triplets."""
_CELLS_CHUNK_SIZE = 2_000_000  # array cells in memory at a time
_WRONG, _RIGHT, _EQUAL, _MISSING = range(4)


def pair_chance(points: int) -> float:
    """Return the chance of order-faithful accuracy, (1 − 1/L) / 2: both scores are drawn evenly from L points."""
    return (points - 1) / (2 * points)


@dataclass(frozen=True, slots=True)
class PairMeasures:
    """The measures of n triplets: shares from 0 to 1, means in points of the scale, None if nothing is measured.

    missing: triplets without both scores. Differences are absolute.
    """

    triplets: int
    order_faithful_accuracy: float | None
    equal_share: float | None
    missing: int
    mean_difference: float | None
    mean_difference_when_right: float | None
    mean_difference_when_wrong: float | None
    mean_score_gold: float | None
    mean_score_other: float | None


@dataclass(frozen=True, slots=True)
class PairOutcomes:
    """The scores of gold and of the other hypothesis, NaN if missing, and each triplet's outcome: (n,) each."""

    gold: NDArray[np.float64]
    other: NDArray[np.float64]
    cells: NDArray[np.int64]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether gold has the higher score: (n,)."""
        return self.cells == _RIGHT

    def take(self, rows: NDArray[np.integer]) -> "PairOutcomes":
        """Return the outcomes of some triplets."""
        return PairOutcomes(self.gold[rows], self.other[rows], self.cells[rows])


def pair_outcomes(key: TripletKey, scores: PairScores) -> PairOutcomes:
    """Return what came out for each triplet.

    Raises:
        InvalidInput: the scores are of another number of triplets.
    """
    check_length(len(scores), len(key), "pair scores")
    rows = np.arange(len(key))
    gold, other = scores.values[rows, key.golds - 1], scores.values[rows, 2 - key.golds]
    is_missing = np.isnan(gold) | np.isnan(other)
    cells = np.select([is_missing, gold > other, gold == other], [_MISSING, _RIGHT, _EQUAL], _WRONG)
    return PairOutcomes(gold, other, cells.astype(np.int64))


def measure_pairs(key: TripletKey, scores: PairScores) -> PairMeasures:
    """Return the measures of all triplets."""
    return measure_pair_outcomes(pair_outcomes(key, scores))


def measure_pair_outcomes(outcomes: PairOutcomes) -> PairMeasures:
    """Return the measures of outcomes. Sums are exactly rounded, so that the order of triplets does not matter."""
    n = len(outcomes.cells)
    counts = _count_cells(outcomes)
    scored = outcomes.cells != _MISSING
    difference = np.abs(outcomes.gold - outcomes.other)
    return PairMeasures(
        triplets=n,
        order_faithful_accuracy=counts[_RIGHT] / n if n else None,
        equal_share=counts[_EQUAL] / n if n else None,
        missing=counts[_MISSING],
        mean_difference=_mean(difference[scored]),
        mean_difference_when_right=_mean(difference[outcomes.right]),
        mean_difference_when_wrong=_mean(difference[scored & ~outcomes.right]),
        mean_score_gold=_mean(outcomes.gold[scored]),
        mean_score_other=_mean(outcomes.other[scored]),
    )


def draw_pair_shares(outcomes: PairOutcomes, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Return bootstrap draws of the shares by name, (REPLICATES,) each; empty without triplets."""
    n = len(outcomes.cells)
    if not n:
        return {}
    drawn = draw_counts(np.array(_count_cells(outcomes)), rng)
    return {"order_faithful_accuracy": drawn[:, _RIGHT] / n, "equal_share": drawn[:, _EQUAL] / n}


def pair_figures(outcomes: PairOutcomes, draws: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Return the measures as plain JSON: shares in percent with intervals, means in points without, and counts.

    Args:
        draws: those of ``draw_pair_shares``.
    """
    measures = measure_pair_outcomes(outcomes)
    shares: dict[str, float | None] = {name: getattr(measures, name) for name in PAIR_SHARES}
    return {
        "triplets": measures.triplets,
        **share_figures(shares, draws, measures.triplets),
        "missing": measures.missing,
        **{name: Figure(getattr(measures, name)).as_json() for name in PAIR_MEANS},
    }


def pair_mean_figures(outcomes: PairOutcomes, rng: np.random.Generator) -> dict[str, Any]:
    """Return the means in points of the scale with their intervals as JSON figures, and the number of draws.

    All means are drawn together: triplets are drawn, and each mean is the ratio of two sums (Cochran 1977, §2.11).
    """
    measures = measure_pair_outcomes(outcomes)
    facts = _mean_facts(outcomes)
    replicates = REPLICATES if len(facts) <= MANY_TRIPLETS else MANY_REPLICATES
    totals = _draw_sums(facts, rng, replicates) if len(facts) else np.zeros((0, facts.shape[1]))
    half = len(PAIR_MEANS)
    figures: dict[str, Any] = {}
    for column, name in enumerate(PAIR_MEANS):
        draws = divide(totals[:, column], totals[:, half + column])
        count = int(facts[:, half + column].sum())
        figures[name] = make_figure(getattr(measures, name), draws, n=count, scale=1.0).as_json()
    return figures | {"mean_draws": replicates}


def _count_cells(outcomes: PairOutcomes) -> list[int]:
    return [int(count) for count in np.bincount(outcomes.cells, minlength=_MISSING + 1)]


def _mean(values: NDArray[np.float64]) -> float | None:
    return math.fsum(values.tolist()) / len(values) if len(values) else None


def _mean_facts(outcomes: PairOutcomes) -> NDArray[np.float64]:
    """Return what each triplet adds to the sums of ``PAIR_MEANS``, then to their counts: (n, 10)."""
    scored = outcomes.cells != _MISSING
    gold, other = np.where(scored, outcomes.gold, 0.0), np.where(scored, outcomes.other, 0.0)
    difference = np.abs(gold - other)
    masks = np.column_stack([scored, outcomes.right, scored & ~outcomes.right, scored, scored])
    values = np.column_stack([difference, difference, difference, gold, other])
    return np.column_stack([np.where(masks, values, 0.0), masks.astype(np.float64)])


def _draw_sums(facts: NDArray[np.float64], rng: np.random.Generator, replicates: int) -> NDArray[np.float64]:
    """Return bootstrap sums over triplets: (replicates, 10). Equal triplets are drawn as one, in sorted order.

    einsum without a plan sums in one order; a matrix product's last digit depends on the number of threads.
    """
    distinct, times = np.unique(facts, axis=0, return_counts=True)
    columns = np.ascontiguousarray(distinct.T)
    rows = max(1, _CELLS_CHUNK_SIZE // len(distinct))
    sums = []
    for start in range(0, replicates, rows):
        size = min(rows, replicates - start)
        drawn = rng.multinomial(len(facts), times / len(facts), size=size).astype(np.float64)
        sums.append(np.einsum("rk,ck->rc", drawn, columns, optimize=False))
    return np.concatenate(sums)
