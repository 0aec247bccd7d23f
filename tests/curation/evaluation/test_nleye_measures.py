"""Measures of models on image triplets: against plain loops, and on answers whose figures are known."""

import json
import random
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from curation.evaluation.exact_tests import binomial_p, mcnemar_p
from curation.evaluation.nleye import compare_models, nleye_figures
from curation.evaluation.nleye_baselines import (
    first_predictions,
    nearer_hypotheses,
    random_predictions,
    random_scores,
)
from curation.evaluation.nleye_groups import macro_mean, make_groupings
from curation.evaluation.nleye_key import (
    ChoiceCode,
    PairScores,
    TripletKey,
    TripletPredictions,
)
from curation.evaluation.nleye_pairs import PAIR_MEANS, PAIR_SHARES, measure_pairs
from curation.evaluation.nleye_pictures import brighter_hypotheses
from curation.evaluation.nleye_triplets import SHARES, count_outcomes, measure_counts, measure_triplets
from curation.records import InvalidInput
from hits.domain.answers.scene_facets import CATEGORIES, DOMAINS, TEMPORAL_CELLS
from tests.support import nleye_loops as loops
from tests.support.nleye_answers import assert_close, make_key, make_predictions, make_scores

RANDOM_SETS = 1000
FIELDS = {"category": "category", "domain": "domain", "temporal": "cell"}


def _random_rows(seed: int) -> list[loops.Row]:
    rng = random.Random(seed)
    return loops.make_rows(rng.randint(0, 14), rng, whole_scores=rng.random() < 0.5)


def _key(n: int, seed: int = 1) -> TripletKey:
    """Return a key in which gold is 1 and 2 by chance."""
    golds = np.random.default_rng(seed).integers(1, 3, size=n).tolist()
    return TripletKey.from_rows(
        (f"t{i}", gold, CATEGORIES[i % 6], DOMAINS[i % 9], TEMPORAL_CELLS[i % 5])
        for i, gold in enumerate(golds)
    )


def test_random_answers_equal_plain_loops() -> None:
    for seed in range(RANDOM_SETS):
        rows = _random_rows(seed)
        key = make_key(rows)
        assert_close(asdict(measure_triplets(key, make_predictions(rows))), loops.measure_triplets(rows))
        assert_close(asdict(measure_pairs(key, make_scores(rows))), loops.measure_pairs(rows))


def test_random_answers_by_group_equal_plain_loops() -> None:
    for seed in range(RANDOM_SETS // 4):
        rows = _random_rows(seed)
        key, predictions = make_key(rows), make_predictions(rows)
        for grouping in make_groupings(key):
            expected = loops.groups_of(rows, FIELDS[grouping.name])
            counted = count_outcomes(key, predictions, grouping.codes, len(grouping.labels))
            found = dict(zip(grouping.labels, map(measure_counts, counted), strict=True))
            for label, measures in found.items():
                assert_close(asdict(measures), loops.measure_triplets(expected.pop(label, [])))
            assert not expected
            shares = [measures.consistency_accuracy for measures in found.values()]
            by_loop = [
                loops.measure_triplets(group)["consistency_accuracy"]
                for group in loops.groups_of(rows, FIELDS[grouping.name]).values()
            ]
            assert_close(macro_mean(shares), loops.macro(by_loop))


def _values(figures: dict[str, Any], names: tuple[str, ...], scale: float) -> dict[str, float | None]:
    return {
        name: None if figures[name]["value"] is None else figures[name]["value"] / scale for name in names
    }


@pytest.mark.parametrize("seed", range(12))
def test_figures_of_all_and_of_groups_equal_plain_loops(seed: int) -> None:
    rng = random.Random(seed)
    rows = loops.make_rows(rng.randint(1, 60), rng, whole_scores=bool(seed % 2))
    figures = nleye_figures(make_key(rows), make_predictions(rows), make_scores(rows))
    json.dumps(figures, allow_nan=False)
    _check_figures(figures, rows)
    for name, field in FIELDS.items():
        expected = loops.groups_of(rows, field)
        found = figures["groups"][name]
        for label, group in found["groups"].items():
            _check_figures(group, expected.get(label, []))
        measured = [loops.measure_triplets(group) for group in expected.values()]
        macro = {share: loops.macro(one[share] for one in measured) for share in SHARES}
        assert_close(_values(found["macro"]["triplet"], SHARES, 100), macro)
        scored = [loops.measure_pairs(group) for group in expected.values()]
        macro = {share: loops.macro(one[share] for one in scored) for share in PAIR_SHARES}
        assert_close(_values(found["macro"]["pairs"], PAIR_SHARES, 100), macro)


def _check_figures(figures: dict[str, Any], rows: list[loops.Row]) -> None:
    triplet, pairs = loops.measure_triplets(rows), loops.measure_pairs(rows)
    assert_close(_values(figures["triplet"], SHARES, 100), {name: triplet[name] for name in SHARES})
    for name in ("triplets", "valid_presentations", "invalid_presentations", "reasons", "position_p"):
        assert_close(figures["triplet"][name], triplet[name])
    assert_close(_values(figures["pairs"], PAIR_SHARES, 100), {name: pairs[name] for name in PAIR_SHARES})
    assert_close(_values(figures["pairs"], PAIR_MEANS, 1), {name: pairs[name] for name in PAIR_MEANS})
    assert figures["pairs"]["missing"] == pairs["missing"]


def test_the_order_and_the_ids_of_triplets_change_no_digit() -> None:
    rows = loops.make_rows(80, random.Random(3), whole_scores=False)
    shuffled = random.Random(4).sample(rows, len(rows))
    renamed = [row | {"id": f"other-{number}"} for number, row in enumerate(shuffled)]
    expected = nleye_figures(make_key(rows), make_predictions(rows), make_scores(rows))
    for other in (shuffled, renamed):
        assert nleye_figures(make_key(other), make_predictions(other), make_scores(other)) == expected


def test_a_setup_that_was_not_asked_is_absent_and_changes_nothing() -> None:
    rows = loops.make_rows(40, random.Random(5))
    key, predictions, scores = make_key(rows), make_predictions(rows), make_scores(rows)
    both = nleye_figures(key, predictions, scores)
    alone = nleye_figures(key, predictions)
    assert "pairs" not in alone
    assert alone["triplet"] == both["triplet"]
    assert alone["groups"]["domain"]["macro"]["triplet"] == both["groups"]["domain"]["macro"]["triplet"]
    assert nleye_figures(key, None, scores)["pairs"] == both["pairs"]
    with pytest.raises(InvalidInput, match="give predictions, pair scores or both"):
        nleye_figures(key)


def test_no_triplets_give_no_figures() -> None:
    key = make_key([])
    figures = nleye_figures(key, make_predictions([]), make_scores([]))
    for name in SHARES:
        assert figures["triplet"][name] == {"value": None, "low": None, "high": None}
    assert figures["triplet"]["position_p"] == 1
    assert figures["pairs"]["mean_difference"]["value"] is None
    assert figures["groups"]["category"]["macro"]["triplet"] == {}
    assert figures["groups"]["category"]["groups"]["cultural"]["triplet"]["triplets"] == 0


def test_always_first_is_right_where_gold_is_first_and_never_consistent() -> None:
    key = _key(200)
    figures = nleye_figures(key, first_predictions(200))["triplet"]
    values = {name: figures[name]["value"] for name in SHARES}
    assert values == {
        "consistency_accuracy": 0,
        "gold_first_accuracy": 100,
        "gold_second_accuracy": 0,
        "order_gap": 100,
        "mean_single_order_accuracy": 50,
        "any_order_accuracy": 100,
        "consistent": 0,
        "first_position_share": 100,
    }
    assert figures["position_p"] < 1e-100


def test_a_rule_that_ignores_the_order_is_equally_accurate_in_both_orders() -> None:
    key = _key(4000)
    pixels = np.random.default_rng(2).integers(0, 256, size=(2, 4000, 3))
    predictions = TripletPredictions.from_hypotheses(brighter_hypotheses(*pixels))
    found = measure_triplets(key, predictions)
    assert found.gold_first_accuracy == found.gold_second_accuracy == found.consistency_accuracy
    assert found.order_gap == 0
    assert found.consistency_accuracy == pytest.approx(0.5, abs=0.03)
    assert found.first_position_share == 0.5


def test_random_answers_reach_chance() -> None:
    n, rng = 100_000, np.random.default_rng(7)
    key = _key(n)
    found = measure_triplets(key, random_predictions(n, rng))
    assert found.consistency_accuracy == pytest.approx(0.25, abs=0.005)
    assert measure_pairs(key, random_scores(n, rng)).order_faithful_accuracy == pytest.approx(0.45, abs=0.005)


def test_likeness_chooses_the_nearer_or_the_farther_hypothesis() -> None:
    likeness = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    assert nearer_hypotheses(likeness).tolist() == [1, 2, 0]
    assert nearer_hypotheses(likeness, farther=True).tolist() == [2, 1, 0]
    codes = TripletPredictions.from_hypotheses(nearer_hypotheses(likeness)).codes.tolist()
    assert codes == [
        [ChoiceCode.FIRST, ChoiceCode.SECOND],
        [ChoiceCode.SECOND, ChoiceCode.FIRST],
        [ChoiceCode.EQUAL, ChoiceCode.EQUAL],
    ]


def test_intervals_of_shares_are_those_of_binomial_draws() -> None:
    n, right = 400, 100
    codes = [[ChoiceCode.FIRST, ChoiceCode.SECOND]] * right + [[ChoiceCode.EQUAL, ChoiceCode.SECOND]] * (
        n - right
    )
    key = make_key({"id": str(i), "gold": 1} for i in range(n))
    found = nleye_figures(key, TripletPredictions.from_codes(codes))["triplet"]["consistency_accuracy"]
    half_width = 100 * 1.96 * np.sqrt(0.25 * 0.75 / n)
    assert found["value"] == 25
    assert found["low"] == pytest.approx(25 - half_width, abs=0.6)
    assert found["high"] == pytest.approx(25 + half_width, abs=0.6)


def test_the_interval_of_the_order_gap_is_drawn_jointly() -> None:
    # Both orders are right or wrong together, so the gap is 0 in every draw.
    codes = [[ChoiceCode.FIRST, ChoiceCode.SECOND], [ChoiceCode.SECOND, ChoiceCode.FIRST]] * 100
    key = make_key({"id": str(i), "gold": 1} for i in range(200))
    figures = nleye_figures(key, TripletPredictions.from_codes(codes))["triplet"]
    assert figures["order_gap"] == {"value": 0, "low": None, "high": None}
    assert figures["gold_first_accuracy"]["low"] < 50 < figures["gold_first_accuracy"]["high"]


def test_intervals_of_mean_differences() -> None:
    n = 500
    values = np.random.default_rng(3).normal(size=(n, 2))
    key = _key(n)
    figures = nleye_figures(key, None, PairScores(values))["pairs"]
    difference = np.abs(values[:, 0] - values[:, 1])
    half_width = 1.96 * difference.std() / np.sqrt(n)
    found = figures["mean_difference"]
    assert found["low"] == pytest.approx(difference.mean() - half_width, abs=0.2 * half_width)
    assert found["high"] == pytest.approx(difference.mean() + half_width, abs=0.2 * half_width)
    assert figures["mean_draws"] == 1000


def test_many_triplets_draw_means_two_hundred_times() -> None:
    n = 20_001
    scores = random_scores(n, np.random.default_rng(1))
    assert nleye_figures(_key(n), None, scores)["pairs"]["mean_draws"] == 200


@pytest.mark.parametrize("n", [1, 2, 7, 10, 57, 300])
def test_binomial_test_equals_scipy(n: int) -> None:
    for k in range(n + 1):
        assert binomial_p(k, n) == pytest.approx(binomtest(k, n).pvalue, rel=1e-9)


def test_binomial_test_of_many_draws() -> None:
    assert binomial_p(100_400, 200_000) == pytest.approx(binomtest(100_400, 200_000).pvalue, rel=1e-8)
    assert binomial_p(0, 200_000) == 0
    with pytest.raises(ValueError, match="from 0 to 3"):
        binomial_p(4, 3)


def test_models_are_compared_on_the_same_triplets() -> None:
    key = make_key({"id": str(i), "gold": 1} for i in range(60))
    right, wrong = [ChoiceCode.FIRST, ChoiceCode.SECOND], [ChoiceCode.FIRST, ChoiceCode.FIRST]
    first = TripletPredictions.from_codes([right] * 40 + [wrong] * 20)
    second = TripletPredictions.from_codes([right] * 22 + [wrong] * 33 + [right] * 5)
    scores = PairScores.from_rows([(2.0, 1.0)] * 60)
    found = compare_models(key, (first, scores), (second, None))
    assert set(found) == {"consistency_accuracy"}
    difference = found["consistency_accuracy"]
    assert (difference["first_only"], difference["second_only"], difference["triplets"]) == (18, 5, 60)
    assert difference["p"] == mcnemar_p(18, 5) == pytest.approx(binomtest(5, 23).pvalue)
    figure = difference["difference"]
    assert figure["value"] == pytest.approx(100 * 13 / 60)
    assert 0 < figure["low"] < figure["value"] < figure["high"]
    swapped = compare_models(key, (second, None), (first, None))["consistency_accuracy"]
    assert swapped["difference"]["value"] == -figure["value"]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: TripletPredictions(np.zeros((3, 2), np.int8)), "a code is unknown"),
        (lambda: TripletPredictions(np.ones((3, 3), np.int8)), "two presentations"),
        (lambda: PairScores(np.array([[1.0, np.inf]])), "beyond 1e\\+100"),
        (lambda: make_key([{"id": "a", "gold": 3}]), "gold must be 1 or 2"),
        (lambda: make_key([{"id": "a", "gold": 1}] * 2), "an id occurs twice"),
        (lambda: measure_triplets(_key(3), first_predictions(2)), "2 triplets, but the answer key has 3"),
        (lambda: ChoiceCode.from_names("third"), "'third' is unknown"),
        (lambda: ChoiceCode.from_names("missing"), "'missing' is unknown"),
    ],
)
def test_wrong_arrays_are_refused(make: Any, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        make()
