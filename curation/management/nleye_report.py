"""The figures of a model on image triplets, as lines."""

from collections.abc import Iterator, Mapping
from typing import Any

from curation.evaluation.nleye import PAIRS, TRIPLET
from curation.evaluation.nleye_pairs import PAIR_MEANS, PAIR_SHARES
from curation.evaluation.nleye_triplets import SHARES

LABELS = {
    "consistency_accuracy": "consistency accuracy",
    "gold_first_accuracy": "accuracy where gold is first",
    "gold_second_accuracy": "accuracy where gold is second",
    "order_gap": "difference of these two",
    "mean_single_order_accuracy": "mean of these two",
    "any_order_accuracy": "right in any order",
    "consistent": "same hypothesis in both orders",
    "first_position_share": "first positions of the valid answers",
    "order_faithful_accuracy": "order-faithful accuracy",
    "equal_share": "equal scores",
    "mean_difference": "mean difference of scores",
    "mean_difference_when_right": "mean difference where right",
    "mean_difference_when_wrong": "mean difference where wrong",
    "mean_score_gold": "mean score of gold",
    "mean_score_other": "mean score of the other hypothesis",
}


def describe_figures(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each measure, then for each group of the grouping by category."""
    if TRIPLET in figures:
        yield from _describe_triplets(figures[TRIPLET], figures["chance"])
    if PAIRS in figures:
        yield from _describe_pairs(figures[PAIRS], figures["chance"])
    for label, found in figures["groups"]["category"]["groups"].items():
        setup, name = (TRIPLET, SHARES[0]) if TRIPLET in found else (PAIRS, PAIR_SHARES[0])
        n, share = found[setup]["triplets"], found[setup][name]
        yield f"{label}, {n} triplets: {_describe_figure(share, ' %')}"


def _describe_triplets(found: Mapping[str, Any], chance: Mapping[str, float]) -> Iterator[str]:
    yield f"{found['triplets']} triplets in both orders, {found['invalid_presentations']} answers without a position"
    for name in SHARES:
        yield f"{LABELS[name]}: {_describe_figure(found[name], ' %')}{_describe_chance(chance.get(name))}"
    yield f"position test: p = {found['position_p']:.4g}"
    counts = ", ".join(f"{count} {reason}" for reason, count in found["reasons"].items() if count)
    if counts:
        yield f"answers without a position: {counts}"


def _describe_pairs(found: Mapping[str, Any], chance: Mapping[str, float]) -> Iterator[str]:
    yield f"{found['triplets']} triplets with scores, {found['missing']} without both"
    for name in PAIR_SHARES:
        yield f"{LABELS[name]}: {_describe_figure(found[name], ' %')}{_describe_chance(chance.get(name))}"
    for name in PAIR_MEANS:
        yield f"{LABELS[name]}: {_describe_figure(found[name], '')}"


def _describe_figure(figure: Mapping[str, float | None], unit: str) -> str:
    value, low, high = figure["value"], figure["low"], figure["high"]
    if value is None:
        return "nothing to measure"
    digits = 1 if unit else 2
    between = "" if low is None or high is None else f" ({low:.{digits}f} to {high:.{digits}f})"
    return f"{value:.{digits}f}{unit}{between}"


def _describe_chance(chance: float | None) -> str:
    return "" if chance is None else f"; chance {chance:g} %"
