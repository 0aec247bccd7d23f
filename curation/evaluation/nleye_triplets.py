"""Measures of the triplet setup: consistency accuracy, accuracy by the position of gold, and position bias.

Source: Ventura et al. 2025 §4.2, A.3 and table 7. A triplet is right if the model chooses gold in both presentations:
chance is 25 %, and a rule that ignores the order reaches 50 %. Order 1 and 2 of table 7 are the position of gold, not
of h1. Equal, none, refused, unparseable and missing answers are never right and stay in every denominator, except in
that of the share of first positions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.exact_tests import binomial_p
from curation.evaluation.nleye_draws import divide, draw_counts, none_if_nan, share_figures
from curation.evaluation.nleye_key import REASONS, ChoiceCode, TripletKey, TripletPredictions, check_length

CONSISTENCY_CHANCE = 0.25
SHARES = (
    "consistency_accuracy",
    "gold_first_accuracy",
    "gold_second_accuracy",
    "order_gap",
    "mean_single_order_accuracy",
    "any_order_accuracy",
    "consistent",
    "first_position_share",
)
"""The measures that are shares, in the order of tables."""

_POSITIONS = 3  # no position, first, second
CELLS = 2 * _POSITIONS * _POSITIONS
"""Outcome cells of a triplet: its gold, and the position that was answered in each presentation."""


def _make_cell_facts() -> NDArray[np.int64]:
    """Return what each cell adds to the totals that ``_shares`` reads: (CELLS, 8)."""
    rows = []
    for cell in range(CELLS):
        gold, listed, swapped = cell // 9 + 1, cell // _POSITIONS % _POSITIONS, cell % _POSITIONS
        meant_listed, meant_swapped = listed, 3 - swapped if swapped else 0
        right_listed, right_swapped = meant_listed == gold, meant_swapped == gold
        gold_first, gold_second = (
            (right_listed, right_swapped) if gold == 1 else (right_swapped, right_listed)
        )
        rows.append(
            (
                1,
                right_listed and right_swapped,
                gold_first,
                gold_second,
                right_listed or right_swapped,
                meant_listed == meant_swapped != 0,
                (listed == 1) + (swapped == 1),
                (listed > 0) + (swapped > 0),
            )
        )
    return np.array(rows, dtype=np.int64)


_CELL_FACTS = _make_cell_facts()
_N, _RIGHT, _GOLD_FIRST, _GOLD_SECOND, _ANY, _CONSISTENT, _FIRSTS, _VALID = range(8)


@dataclass(frozen=True, slots=True)
class TripletOutcomes:
    """What came out for each of n triplets.

    cells: (n,) the outcome cell. right: gold in both presentations. gold_first, gold_second: gold in the presentation
    where it stands first, or second. right_listed, right_swapped: gold in this presentation. All bool (n,).
    """

    cells: NDArray[np.int64]
    right: NDArray[np.bool_]
    gold_first: NDArray[np.bool_]
    gold_second: NDArray[np.bool_]
    right_listed: NDArray[np.bool_]
    right_swapped: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TripletCounts:
    """How many triplets are in each outcome cell, (CELLS,), and how many answers are no position, by reason."""

    cells: NDArray[np.int64]
    reasons: NDArray[np.int64]

    @property
    def triplets(self) -> int:
        """The number of triplets."""
        return int(self.cells.sum())


@dataclass(frozen=True, slots=True)
class TripletMeasures:
    """The measures of n triplets: shares from 0 to 1, None if there is nothing to measure, and counts.

    consistent: the same hypothesis in both presentations, right or wrong. first_position_share: of the valid
    answers; position_p is its exact two-sided test against one half. reasons: of invalid answers.
    """

    triplets: int
    consistency_accuracy: float | None
    gold_first_accuracy: float | None
    gold_second_accuracy: float | None
    order_gap: float | None
    mean_single_order_accuracy: float | None
    any_order_accuracy: float | None
    consistent: float | None
    first_position_share: float | None
    position_p: float
    valid_presentations: int
    invalid_presentations: int
    reasons: Mapping[str, int]


def triplet_outcomes(key: TripletKey, predictions: TripletPredictions) -> TripletOutcomes:
    """Return what came out for each triplet.

    Raises:
        InvalidInput: the predictions are about another number of triplets.
    """
    check_length(len(predictions), len(key), "predictions")
    positions = np.where(predictions.codes <= ChoiceCode.SECOND, predictions.codes, 0).astype(np.int64)
    cells = ((key.golds.astype(np.int64) - 1) * _POSITIONS + positions[:, 0]) * _POSITIONS + positions[:, 1]
    facts = _CELL_FACTS[cells].astype(bool)
    first, second = facts[:, _GOLD_FIRST], facts[:, _GOLD_SECOND]
    is_first = key.golds == 1
    return TripletOutcomes(
        cells=cells,
        right=facts[:, _RIGHT],
        gold_first=first,
        gold_second=second,
        right_listed=np.where(is_first, first, second),
        right_swapped=np.where(is_first, second, first),
    )


def count_outcomes(
    key: TripletKey, predictions: TripletPredictions, groups: NDArray[np.integer], group_count: int
) -> list[TripletCounts]:
    """Return the counts of each group of triplets.

    Args:
        groups: (n,) the group of each triplet, from 0.
    """
    cells = triplet_outcomes(key, predictions).cells
    by_cell = np.bincount(groups * CELLS + cells, minlength=group_count * CELLS).reshape(-1, CELLS)
    invalid = predictions.codes > ChoiceCode.SECOND
    reasons = predictions.codes[invalid].astype(np.int64) - ChoiceCode.EQUAL
    owners = np.broadcast_to(groups[:, None], predictions.codes.shape)[invalid]
    size = len(REASONS)
    by_reason = np.bincount(owners * size + reasons, minlength=group_count * size).reshape(-1, size)
    return [TripletCounts(*row) for row in zip(by_cell, by_reason, strict=True)]


def count_all(key: TripletKey, predictions: TripletPredictions) -> TripletCounts:
    """Return the counts of all triplets."""
    return count_outcomes(key, predictions, np.zeros(len(key), dtype=np.int64), 1)[0]


def measure_triplets(key: TripletKey, predictions: TripletPredictions) -> TripletMeasures:
    """Return the measures of all triplets."""
    return measure_counts(count_all(key, predictions))


def measure_counts(counts: TripletCounts) -> TripletMeasures:
    """Return the measures of counted outcomes."""
    totals = counts.cells @ _CELL_FACTS
    valid, firsts = int(totals[_VALID]), int(totals[_FIRSTS])
    return TripletMeasures(
        triplets=counts.triplets,
        **{name: none_if_nan(float(share)) for name, share in _shares(totals).items()},
        position_p=binomial_p(firsts, valid),
        valid_presentations=valid,
        invalid_presentations=2 * counts.triplets - valid,
        reasons=dict(zip(REASONS, counts.reasons.tolist(), strict=True)),
    )


def draw_shares(counts: TripletCounts, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Return bootstrap draws of the shares by name, (REPLICATES,) each; empty without triplets."""
    return _shares(draw_counts(counts.cells, rng) @ _CELL_FACTS) if counts.triplets else {}


def triplet_figures(counts: TripletCounts, draws: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Return the measures as plain JSON: shares in percent with intervals, and counts.

    Args:
        draws: those of ``draw_shares``.
    """
    measures = measure_counts(counts)
    shares: dict[str, float | None] = {name: getattr(measures, name) for name in SHARES}
    return {
        "triplets": measures.triplets,
        **share_figures(shares, draws, measures.triplets),
        "position_p": measures.position_p,
        "valid_presentations": measures.valid_presentations,
        "invalid_presentations": measures.invalid_presentations,
        "reasons": dict(measures.reasons),
    }


def _shares(totals: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Return the shares that follow from totals (…, 8): (…,) each, NaN if there is nothing to measure."""
    n, first, second = totals[..., _N], totals[..., _GOLD_FIRST], totals[..., _GOLD_SECOND]
    return {
        "consistency_accuracy": divide(totals[..., _RIGHT], n),
        "gold_first_accuracy": divide(first, n),
        "gold_second_accuracy": divide(second, n),
        "order_gap": divide(np.abs(first - second), n),
        "mean_single_order_accuracy": divide(first + second, 2 * n),
        "any_order_accuracy": divide(totals[..., _ANY], n),
        "consistent": divide(totals[..., _CONSISTENT], n),
        "first_position_share": divide(totals[..., _FIRSTS], totals[..., _VALID]),
    }
