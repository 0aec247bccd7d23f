"""Figures of shown and held-out shares, and what fifty submissions learn of the held-out one."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from curation.evaluation.answer_keys import (
    compute_figures,
    compute_subset_figures,
    make_subsets,
    select_all_instances,
)
from curation.leaderboard.selectors.tables import round_public_figures

PHOTOS, EACH = 40, 10
SUBMISSIONS = 50


class Keys:
    """A comparison key of photos with ten rated candidates each, as ``Keys`` has them."""

    def __init__(self, ratings: NDArray[np.int64]) -> None:
        self.names = [[f"{photo:02}-{place}" for place in range(EACH)] for photo in range(len(ratings))]
        self.ratings = ratings

    def raw_key(self, name: str) -> Mapping[str, Any]:
        return {
            "test_id_map": {
                one: {"Input_iid": f"p{photo:02}", "candidate": one}
                for photo, row in enumerate(self.names)
                for one in row
            },
            "annotations": [
                {
                    "Input_iid": f"p{photo:02}",
                    "candidates": [
                        {"source_iid": one, "annot1": int(rating), "annot2": int(rating)}
                        for one, rating in zip(row, self.ratings[photo], strict=True)
                    ],
                }
                for photo, row in enumerate(self.names)
            ],
        }


def shares_in_order(ratings: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each photo the share of its pairs with different ratings that the scores put in their order."""
    above = ratings[:, :, None] > ratings[:, None, :]
    right = scores[:, :, None] > scores[:, None, :]
    return (above & right).sum(axis=(1, 2)) / above.sum(axis=(1, 2))


def test_shown_and_held_out_shares_are_scored_separately() -> None:
    rng = np.random.default_rng(3)
    keys = Keys(rng.integers(1, 4, size=(6, EACH)))
    scores = {"comparison": rng.random(6 * EACH)}
    whole = compute_figures(scores, keys, rng=np.random.default_rng(0))
    shown, kept = compute_subset_figures(
        scores, keys, rng=np.random.default_rng(0), subsets=make_subsets(["p01", "p04"])
    )
    assert (shown["comparison"]["images"], kept["comparison"]["images"]) == (4, 2)
    parts = [(one["comparison"]["model"]["value"], one["comparison"]["images"]) for one in (shown, kept)]
    assert sum(value * count for value, count in parts) / 6 == pytest.approx(
        whole["comparison"]["model"]["value"]
    )
    assert make_subsets([]) == [select_all_instances]


def test_shown_figures_have_one_decimal_and_no_kept_share() -> None:
    figures = {"a": {"value": 44.784647517045826, "low": -0.01, "high": None}, "n": 3, "kept": {"a": 1.25}}
    assert round_public_figures(figures) == {"a": {"value": 44.8, "low": 0.0, "high": None}, "n": 3}


def test_fifty_random_submissions_learn_nothing_of_kept_photos() -> None:
    rng = np.random.default_rng(11)
    ratings = rng.integers(1, 4, size=(PHOTOS, EACH))
    kept = [f"p{photo:02}" for photo in range(0, PHOTOS, 2)]
    keys, shares = Keys(ratings), make_subsets(kept)
    tries, seen = rng.random((SUBMISSIONS, PHOTOS, EACH)), []
    for scores in tries:
        figures = compute_subset_figures({"comparison": scores.ravel()}, keys, rng=rng, subsets=shares)
        seen.append(round_public_figures(figures[0])["comparison"]["model"]["value"])
    weights = np.array(seen) - np.mean(seen)
    learned = np.einsum("s,spc->pc", weights, tries)
    found = shares_in_order(ratings, learned)
    is_kept = np.arange(PHOTOS) % 2 == 0

    def interval(values: NDArray[np.float64]) -> tuple[float, float]:
        error = values.std(ddof=1) / np.sqrt(len(values))
        return float(values.mean() - 1.96 * error), float(values.mean() + 1.96 * error)

    low, high = interval(found[is_kept])
    assert low <= 0.5 <= high
    # The attack bites where figures are shown, which is why some are kept.
    assert interval(found[~is_kept])[0] > 0.55
