"""What weighing judges by reliability is worth, with simulated crowds: figures and tables of docs/decisions.md."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.support.simulated_workers import (
    HABITS,
    MIXES,
    SEED,
    Habit,
    accuracy,
    expected_share,
    majority,
    misplaced,
    simulate,
    simulate_review,
    weighted,
)
from validation.domain.agreement import dawid_skene
from validation.domain.judging.rating_tables import build_tables
from validation.domain.reports.report import rank_workers, rater_figures
from validation.kinds.observation_review.judging import SPEC as REVIEW
from validation.kinds.observation_review.scales import Dimension

SIZES = (3_000, 17_000)  # a session's worth of test data, and as many pairs as were judged for the corpus
FEW = 1_000
SEEDS = range(100, 120)  # the smoothing was chosen on 0 to 11


def simulation_figures() -> dict[str, Any]:
    """Return what the simulated crowd shows, by number of items and mix of true labels; nothing here is a time."""
    figures: dict[str, Any] = {
        str(items): {name: _simulated(mix, items) for name, mix in MIXES.items()} for items in SIZES
    }
    figures["other_seeds"] = {name: _other_seeds(mix, SIZES[0]) for name, mix in MIXES.items()}
    figures["three_dimensions"] = {str(items): _three_dimensions(items) for items in (FEW, *SIZES)}
    figures["few"] = {name: _smoothing(mix, FEW) for name, mix in MIXES.items()}
    return figures


def _simulated(mix: tuple[float, ...], items: int, seed: int = SEED) -> dict[str, Any]:
    crowd = simulate(mix, items=items, seed=seed)
    fitted = dawid_skene.fit(crowd.table, smoothing=dawid_skene.SMOOTHING)
    values = dawid_skene.rater_reliabilities(fitted, crowd.table)
    careful = crowd.raters(Habit.CAREFUL)
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    sure = accuracy(crowd, weighted(0.9))
    others = len(values) - len(careful)
    return {
        "majority": round(accuracy(crowd, majority()).right, 4),
        "weighted": round(accuracy(crowd, weighted(0.5)).right, 4),
        "weighted_90": {"decided": round(sure.decided, 4), "right": round(sure.right, 4)},
        "last_rank_of_the_careful": int(ranks[careful].max()),
        "ranks": {habit.value: sorted(ranks[crowd.raters(habit)].tolist()) for habit in Habit},
        "misplaced": {
            "reliability": misplaced(crowd, values),
            "expected_share": misplaced(crowd, expected_share(fitted, crowd.table)),
            "of": len(careful) * others,
        },
    }


def _other_seeds(mix: tuple[float, ...], items: int) -> dict[str, Any]:
    found = [_simulated(mix, items, seed) for seed in SEEDS]
    return {
        "seeds": len(found),
        "majority": round(float(np.mean([row["majority"] for row in found])), 4),
        "weighted": round(float(np.mean([row["weighted"] for row in found])), 4),
        "weighted_is_better": sum(row["weighted"] > row["majority"] for row in found),
        "all_bad_ones_last": sum(row["misplaced"]["reliability"] == 0 for row in found),
    }


def _smoothing(mix: tuple[float, ...], items: int) -> dict[str, float]:
    """Return the mean accuracy over the other seeds of the majority, of the plain fit and of the smoothed one."""
    rule = weighted(0.5)
    shares = [
        (
            accuracy(crowd, majority()).right,
            accuracy(crowd, rule, dawid_skene.fit(crowd.table)).right,
            accuracy(crowd, rule).right,
        )
        for crowd in (simulate(mix, items=items, seed=seed) for seed in SEEDS)
    ]
    means = np.mean(shares, axis=0)
    names = ("majority", "plain", "smoothed")
    return {name: round(float(mean), 4) for name, mean in zip(names, means, strict=True)}


def _three_dimensions(items: int) -> dict[str, Any]:
    """Return what the report's own ranking and the decisions make of judgments in three dimensions."""
    rows, crowds = simulate_review(items=items)
    figures = rater_figures(rows, build_tables(rows, REVIEW), REVIEW, target=1500)
    order = rank_workers({int(rater.removeprefix("w")): row for rater, row in figures.items()})
    careful = [rank for rank, worker in enumerate(order, 1) if HABITS[worker] is Habit.CAREFUL]
    shares = {
        name: [
            round(accuracy(crowd, rule).right, 4)
            for rule in (majority(Dimension(name)), weighted(0.5, Dimension(name)))
        ]
        for name, crowd in crowds.items()
    }
    return {"last_rank_of_the_careful": max(careful), "people": len(order), "majority_and_weighted": shares}


def simulation_tables(figures: dict[str, Any]) -> Iterable[str]:
    """Return the tables of docs/decisions.md, line by line, from the figures of the simulation."""
    yield "| pairs | true labels | majority right | weighted right | at 0.9: decided | of these right |"
    yield "|---|---|---|---|---|---|"
    for items in SIZES:
        for name, row in figures[str(items)].items():
            sure = row["weighted_90"]
            cells = (row["majority"], row["weighted"], sure["decided"], sure["right"])
            yield f"| {items:,} | {name} | " + " | ".join(f"{100 * cell:.1f} %" for cell in cells) + " |"
    yield ""
    yield "| pairs | true labels | last careful person's rank | wrong pairs by reliability | by expected share |"
    yield "|---|---|---|---|---|"
    for items in SIZES:
        for name, row in figures[str(items)].items():
            wrong = row["misplaced"]
            yield (
                f"| {items:,} | {name} | {row['last_rank_of_the_careful']} | "
                f"{wrong['reliability']} of {wrong['of']} | {wrong['expected_share']} of {wrong['of']} |"
            )

    yield ""
    yield "| true labels | majority right | weighted right | weighted is better | all bad ones last |"
    yield "|---|---|---|---|---|"
    for name, row in figures["other_seeds"].items():
        yield (
            f"| {name} | {100 * row['majority']:.1f} % | {100 * row['weighted']:.1f} % | "
            f"{row['weighted_is_better']} of {row['seeds']} | {row['all_bad_ones_last']} of {row['seeds']} |"
        )
    yield ""
    yield "| pairs | last careful person's rank | reasonable | boxes | interesting |"
    yield "|---|---|---|---|---|"
    for items, row in figures["three_dimensions"].items():
        shares = row["majority_and_weighted"].values()
        cells = " | ".join(f"{100 * plain:.1f} → {100 * heard:.1f} %" for plain, heard in shares)
        yield f"| {int(items):,} | {row['last_rank_of_the_careful']} of {row['people']} | {cells} |"
    yield ""
    yield "| true labels | majority | weighted, plain fit | weighted, smoothed |"
    yield "|---|---|---|---|"
    for name, row in figures["few"].items():
        yield f"| {name} | " + " | ".join(f"{100 * share:.1f} %" for share in row.values()) + " |"
