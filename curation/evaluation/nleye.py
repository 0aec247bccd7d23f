"""The figures of a model on image triplets as plain JSON (Ventura et al. 2025 §4).

    {"triplet": {"triplets": n, share: F, …, "position_p", "valid_presentations", "invalid_presentations", "reasons"},
     "pairs": {"triplets": n, share: F, "missing": m, mean: F, …, "mean_draws": k},
     "groups": {"category" | "domain" | "temporal": {"groups": {label: {"triplet": …, "pairs": …}},
                                                     "macro": {"triplet": {share: F}, "pairs": {share: F}}}},
     "chance": {share: percent}}

F is ``{"value", "low", "high"}``, see ``intervals.Figure``: shares are in percent, means of pairs in points of the
scale. A setup that was not asked is absent. The micro mean is the figure of all triplets. Answers become figures by
``nleye_figures`` alone: the leaderboard, evaluations and ``manage.py evaluate nleye`` give equal figures to the last
digit, whatever the order and the ids of the triplets.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.exact_tests import mcnemar_p
from curation.evaluation.nleye_draws import PERCENT, draw_counts, make_figure
from curation.evaluation.nleye_groups import Draws, Grouping, macro_figures, make_groupings
from curation.evaluation.nleye_key import PairScores, TripletKey, TripletPredictions
from curation.evaluation.nleye_pairs import (
    PAIR_SHARES,
    SCALE_POINTS,
    PairOutcomes,
    draw_pair_shares,
    measure_pair_outcomes,
    pair_chance,
    pair_figures,
    pair_mean_figures,
    pair_outcomes,
)
from curation.evaluation.nleye_triplets import (
    CONSISTENCY_CHANCE,
    SHARES,
    TripletCounts,
    count_all,
    count_outcomes,
    draw_shares,
    measure_counts,
    triplet_figures,
    triplet_outcomes,
)
from curation.records import InvalidInput

TRIPLET, PAIRS = "triplet", "pairs"
SETUPS = (TRIPLET, PAIRS)
SEED = 0
"""Of the intervals, so that equal answers have equal figures."""


def nleye_figures(
    key: TripletKey,
    predictions: TripletPredictions | None = None,
    scores: PairScores | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> dict[str, Any]:
    """Return the figures of a model's answers and of its scores, as this module describes.

    Args:
        predictions, scores: at least one, in the order of the key. rng: draws the intervals; by default always the
            same draws.

    Raises:
        InvalidInput: there are neither, or they are about another number of triplets.
    """
    if predictions is None and scores is None:
        raise InvalidInput("predictions: there are none; give predictions, pair scores or both")
    # Each part has a generator of its own, so that its intervals do not depend on the other parts.
    triplet_rng, pairs_rng, means_rng, groups_rng = (rng or np.random.default_rng(SEED)).spawn(4)
    figures: dict[str, Any] = {}
    outcomes = None if scores is None else pair_outcomes(key, scores)
    if predictions is not None:
        counts = count_all(key, predictions)
        figures[TRIPLET] = triplet_figures(counts, draw_shares(counts, triplet_rng))
    if outcomes is not None:
        drawn = draw_pair_shares(outcomes, pairs_rng)
        figures[PAIRS] = pair_figures(outcomes, drawn) | pair_mean_figures(outcomes, means_rng)
    groupings = make_groupings(key)
    figures["groups"] = {
        grouping.name: _grouping_figures(key, predictions, outcomes, grouping, own_rng)
        for grouping, own_rng in zip(groupings, groups_rng.spawn(len(groupings)), strict=True)
    }
    figures["chance"] = {
        "consistency_accuracy": PERCENT * CONSISTENCY_CHANCE,
        "order_faithful_accuracy": PERCENT * pair_chance(SCALE_POINTS),
    }
    return figures


def _grouping_figures(
    key: TripletKey,
    predictions: TripletPredictions | None,
    outcomes: PairOutcomes | None,
    grouping: Grouping,
    rng: np.random.Generator,
) -> dict[str, Any]:
    triplet_rng, pairs_rng = rng.spawn(len(SETUPS))
    groups: dict[str, dict[str, Any]] = {label: {} for label in grouping.labels}
    macro: dict[str, Any] = {}
    if predictions is not None:
        counted = count_outcomes(key, predictions, grouping.codes, len(grouping.labels))
        found, macro[TRIPLET] = _triplet_groups(counted, triplet_rng)
        for label, figures in zip(grouping.labels, found, strict=True):
            groups[label][TRIPLET] = figures
    if outcomes is not None:
        found, macro[PAIRS] = _pair_groups([outcomes.take(rows) for rows in grouping.rows()], pairs_rng)
        for label, figures in zip(grouping.labels, found, strict=True):
            groups[label][PAIRS] = figures
    return {"groups": groups, "macro": macro}


def _triplet_groups(
    counted: list[TripletCounts], rng: np.random.Generator
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the figures of each group, and the macro means."""
    draws: list[Draws] = [draw_shares(counts, rng) for counts in counted]
    found = [triplet_figures(counts, drawn) for counts, drawn in zip(counted, draws, strict=True)]
    occurring = [row for row, counts in enumerate(counted) if counts.triplets]
    measures = [measure_counts(counted[row]) for row in occurring]
    macro = macro_figures(
        [{name: getattr(measured, name) for name in SHARES} for measured in measures],
        [draws[row] for row in occurring],
        [measured.triplets for measured in measures],
    )
    return found, macro


def _pair_groups(
    groups: list[PairOutcomes], rng: np.random.Generator
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the figures of each group, and the macro means."""
    draws: list[Draws] = [draw_pair_shares(outcomes, rng) for outcomes in groups]
    found = [pair_figures(outcomes, drawn) for outcomes, drawn in zip(groups, draws, strict=True)]
    occurring = [row for row, outcomes in enumerate(groups) if len(outcomes.cells)]
    measures = [measure_pair_outcomes(groups[row]) for row in occurring]
    macro = macro_figures(
        [{name: getattr(measured, name) for name in PAIR_SHARES} for measured in measures],
        [draws[row] for row in occurring],
        [measured.triplets for measured in measures],
    )
    return found, macro


def compare_models(
    key: TripletKey,
    first: tuple[TripletPredictions | None, PairScores | None],
    second: tuple[TripletPredictions | None, PairScores | None],
    *,
    rng: np.random.Generator | None = None,
) -> dict[str, Any]:
    """Return how two models differ on the same triplets, by the measure of each setup that both were asked.

    ``{"consistency_accuracy": D, "order_faithful_accuracy": D}``; D is described at ``paired_difference``.
    """
    triplet_rng, pairs_rng = (rng or np.random.default_rng(SEED)).spawn(len(SETUPS))
    found: dict[str, Any] = {}
    if first[0] is not None and second[0] is not None:
        right = [triplet_outcomes(key, answers).right for answers in (first[0], second[0])]
        found["consistency_accuracy"] = paired_difference(*right, rng=triplet_rng)
    if first[1] is not None and second[1] is not None:
        right = [pair_outcomes(key, scores).right for scores in (first[1], second[1])]
        found["order_faithful_accuracy"] = paired_difference(*right, rng=pairs_rng)
    return found


def paired_difference(
    first: NDArray[np.bool_], second: NDArray[np.bool_], *, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the difference of two accuracies over the same triplets, first minus second, in points of percent.

    ``{"difference": F, "first_only", "second_only", "triplets", "p"}``: a paired bootstrap over triplets, how many
    only one of them has right, and the p of McNemar's exact test.

    Args:
        first, second: (n,) which triplets each model has right.
    """
    n = len(first)
    counts = np.bincount(first * 2 + second.astype(np.int64), minlength=4)
    second_only, first_only = int(counts[1]), int(counts[2])
    if n:
        drawn = draw_counts(counts, rng)
        difference = make_figure(
            (first_only - second_only) / n, (drawn[:, 2] - drawn[:, 1]) / n, n=n, scale=PERCENT
        )
    else:
        difference = make_figure(None, None, n=0, scale=PERCENT)
    return {
        "difference": difference.as_json(),
        "first_only": first_only,
        "second_only": second_only,
        "triplets": n,
        "p": mcnemar_p(first_only, second_only),
    }
