"""The table of measures matches stored figures, and chance equals random scores."""

from itertools import permutations

import numpy as np
import pytest

from curation.evaluation.figures import comparison_figures, localization_figures, retrieval_figures
from curation.evaluation.localization import LocalizationShares
from curation.evaluation.measures import MEASURES, get_count, get_figure
from curation.evaluation.retrieval import rank_true_pairs, retrieval_chance_figures

HALF = np.array([0.5, 1.0])


def test_every_measure_has_its_figure_and_count() -> None:
    rng = np.random.default_rng(0)
    figures = {
        "retrieval": retrieval_figures([rank_true_pairs(np.eye(3))], rng=rng),
        "localization": localization_figures(LocalizationShares(HALF, HALF, HALF), rng=rng),
        "comparison": comparison_figures(np.full((4, 4), 25.0), rng=rng),
    }
    values = {name: get_figure(figures, one.figure_path).get("value") for name, one in MEASURES.items()}
    assert values == {
        "p_at_1": 100.0,
        "im2txt": 1.0,
        "txt2im": 1.0,
        "gt_accuracy": 75.0,
        "auto_accuracy": 75.0,
        "comparison": 25.0,
    }
    assert [get_count(figures, one) for one in MEASURES.values()] == [3, 3, 3, 2, 2, 4]
    assert [name for name, one in MEASURES.items() if one.is_rank] == ["im2txt", "txt2im"]


def test_unmeasured_figures_are_none() -> None:
    assert [get_figure({}, one.figure_path) for one in MEASURES.values()] == [{}] * 6
    assert [get_count({}, one) for one in MEASURES.values()] == [None] * 6


def test_chance_is_the_mean_over_all_orders_of_a_chunk() -> None:
    orders = list(permutations(range(3)))
    found = [rank_true_pairs(np.array([order] * 3, dtype=float)) for order in orders]
    chance = retrieval_chance_figures([3])
    assert np.mean([one.im2txt.mean() for one in found]) == pytest.approx(chance["im2txt"])
    assert 100 * np.mean([one.hits.mean() for one in found]) == pytest.approx(chance["p_at_1"])


def test_chance_of_chunks_is_the_mean_over_chunks() -> None:
    assert retrieval_chance_figures([2, 4]) == {"p_at_1": 37.5, "im2txt": 2.0, "txt2im": 2.0}
