"""The measures of image triplets again, as plain loops over rows with exact fractions: what the arrays must equal.

A row has ``id``, ``gold`` (1 or 2), ``as_listed`` and ``swapped`` (a position, or why there is none), ``h1`` and
``h2`` (scores or None), ``category``, ``domain`` and ``cell``.
"""

import random
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import comb
from typing import Any

Row = dict[str, Any]
ANSWERS = ("first", "second", "equal", "none", "refused", "unparseable", "missing")
CATEGORIES = ("physical", "functional", "logical", "emotional", "social", "cultural")
DOMAINS = ("education", "religion", "other", "space travel")
CELLS = ("forward-short", "forward-long", "backward-short", "backward-long", "parallel")


def make_rows(n: int, rng: random.Random, *, whole_scores: bool = True) -> list[Row]:
    """Return made-up rows, some of them without a position or a score."""
    weights = [rng.random() + 0.05 for _ in ANSWERS]
    rows = []
    for number in range(n):
        scores = [
            None if rng.random() < 0.1 else float(rng.randint(1, 5)) if whole_scores else rng.uniform(-1, 1)
            for _ in range(2)
        ]
        rows.append(
            {
                "id": f"t{number}",
                "gold": rng.randint(1, 2),
                "as_listed": rng.choices(ANSWERS, weights)[0],
                "swapped": rng.choices(ANSWERS, weights)[0],
                "h1": scores[0],
                "h2": scores[1],
                "category": rng.choice(CATEGORIES[:4]),
                "domain": rng.choice(DOMAINS),
                "cell": rng.choice(CELLS),
            }
        )
    rng.shuffle(rows)
    return rows


def meant(row: Row, presentation: str) -> int | None:
    """Return the hypothesis that an answer means."""
    shown = [1, 2] if presentation == "as_listed" else [2, 1]
    if row[presentation] == "first":
        return shown[0]
    return shown[1] if row[presentation] == "second" else None


def measure_triplets(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the measures of the triplet setup."""
    right = first_right = second_right = any_right = same = firsts = valid = 0
    reasons = dict.fromkeys(ANSWERS[2:], 0)
    for row in rows:
        first_name = "as_listed" if row["gold"] == 1 else "swapped"
        second_name = "swapped" if row["gold"] == 1 else "as_listed"
        one, two = meant(row, first_name) == row["gold"], meant(row, second_name) == row["gold"]
        first_right += one
        second_right += two
        right += one and two
        any_right += one or two
        chosen = {meant(row, "as_listed"), meant(row, "swapped")}
        same += len(chosen) == 1 and None not in chosen
        for name in ("as_listed", "swapped"):
            if row[name] in reasons:
                reasons[row[name]] += 1
            else:
                valid += 1
                firsts += row[name] == "first"
    n = len(rows)
    return {
        "triplets": n,
        "consistency_accuracy": share(right, n),
        "gold_first_accuracy": share(first_right, n),
        "gold_second_accuracy": share(second_right, n),
        "order_gap": share(abs(first_right - second_right), n),
        "mean_single_order_accuracy": share(first_right + second_right, 2 * n),
        "any_order_accuracy": share(any_right, n),
        "consistent": share(same, n),
        "first_position_share": share(firsts, valid),
        "position_p": two_sided_p(firsts, valid),
        "valid_presentations": valid,
        "invalid_presentations": 2 * n - valid,
        "reasons": reasons,
    }


def measure_pairs(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the measures of the pairs setup."""
    differences: dict[bool, list[Fraction]] = {True: [], False: []}
    golds, others, equal = [], [], 0
    for row in rows:
        gold, other = (row["h1"], row["h2"]) if row["gold"] == 1 else (row["h2"], row["h1"])
        if gold is None or other is None:
            continue
        equal += gold == other
        golds.append(Fraction(gold))
        others.append(Fraction(other))
        differences[gold > other].append(abs(Fraction(gold - other)))
    n = len(rows)
    return {
        "triplets": n,
        "order_faithful_accuracy": share(len(differences[True]), n),
        "equal_share": share(equal, n),
        "missing": n - len(golds),
        "mean_difference": mean(differences[True] + differences[False]),
        "mean_difference_when_right": mean(differences[True]),
        "mean_difference_when_wrong": mean(differences[False]),
        "mean_score_gold": mean(golds),
        "mean_score_other": mean(others),
    }


def groups_of(rows: Iterable[Row], field: str) -> dict[str, list[Row]]:
    """Return the rows of each value of a field that occurs."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[field], []).append(row)
    return found


def macro(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that there are."""
    known = [Fraction(value) for value in values if value is not None]
    return mean(known)


def two_sided_p(k: int, n: int) -> float:
    """Return the chance of an outcome that is no likelier than k heads in n throws."""
    ways = [comb(n, heads) for heads in range(n + 1)]
    return float(Fraction(sum(way for way in ways if way <= ways[k]), 2**n))


def share(count: int, total: int) -> float | None:
    """Return a share, None of nothing."""
    return float(Fraction(count, total)) if total else None


def mean(values: Sequence[Fraction]) -> float | None:
    """Return a mean, None of nothing."""
    return float(sum(values, Fraction(0)) / len(values)) if values else None
