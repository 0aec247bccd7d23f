"""Every case of tests/cases/nleye.json is equalled to 1e-12; null stays null."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from curation.evaluation.exact_tests import binomial_p
from curation.evaluation.nleye_explanations import (
    GradedExplanation,
    JudgedExplanation,
    explanation_candidates,
    measure_explanations,
    measure_judge,
)
from curation.evaluation.nleye_groups import Grouping, group_means
from curation.evaluation.nleye_key import PairScores, TripletPredictions
from curation.evaluation.nleye_pairs import measure_pairs, pair_chance
from curation.evaluation.nleye_people import (
    JudgedTriplet,
    PersonChoice,
    RatedTriplet,
    compare_with_people,
    measure_people,
    measure_ratings,
)
from curation.evaluation.nleye_pictures import brighter_hypotheses, combined_layout
from curation.evaluation.nleye_replies import read_choice
from curation.evaluation.nleye_triplets import CONSISTENCY_CHANCE, measure_triplets, triplet_outcomes
from hits.domain.answers.scene_facets import CATEGORIES
from tests.support.nleye_answers import assert_close, make_key, make_predictions
from tests.support.paths import CASES

FILE = json.loads((CASES / "nleye.json").read_text(encoding="utf-8"))
CASE = {case["name"]: case for case in FILE["cases"]}
TRIPLET_CASES = [name for name in CASE if name.startswith("triplet-")]
OTHER_TESTS = {"arms"}  # tests/hits/selectors/test_arms.py
TESTED = {
    *TRIPLET_CASES,
    "pairs",
    "pairs-chance",
    "by-category",
    "people",
    "people-pairs",
    "explanations",
    "explanation-candidates",
    "judge",
    "model-and-people",
    "parse-choice",
    "dumb-pixel",
    "position-test",
    "combined-picture",
}


def _given(name: str) -> Any:
    return CASE[name]["given"]


def _equal_named(found: Any, expected: dict[str, Any]) -> None:
    """Assert that the named fields of a dataclass are equal."""
    assert_close({name: getattr(found, name) for name in expected}, expected)


def test_every_case_has_a_test() -> None:
    assert set(CASE) == TESTED | OTHER_TESTS
    assert len(CASE) == 18


@pytest.mark.parametrize("name", TRIPLET_CASES)
def test_triplet_figures(name: str) -> None:
    rows = _given(name)["rows"]
    key, predictions = make_key(rows), make_predictions(rows)
    _equal_named(measure_triplets(key, predictions), CASE[name]["expected"]["figures"])


@pytest.mark.parametrize("name", ["triplet-all", "triplet-missing-order"])
def test_triplet_rows(name: str) -> None:
    rows = _given(name)["rows"]
    found = triplet_outcomes(make_key(rows), make_predictions(rows))
    expected = CASE[name]["expected"]["rows"]
    assert [row["id"] for row in rows] == [row["id"] for row in expected]
    for values, field in (
        (found.right, "correct"),
        (found.gold_first, "gold_first_correct"),
        (found.gold_second, "gold_second_correct"),
    ):
        assert values.astype(int).tolist() == [row[field] for row in expected]


def test_pairs() -> None:
    rows = [row | {"id": str(number)} for number, row in enumerate(_given("pairs")["rows"])]
    scores = PairScores.from_rows((row["score_h1"], row["score_h2"]) for row in rows)
    _equal_named(measure_pairs(make_key(rows), scores), CASE["pairs"]["expected"]["figures"])


def test_pairs_chance() -> None:
    expected = CASE["pairs-chance"]["expected"]
    found = {str(points): pair_chance(points) for points in _given("pairs-chance")["points"]}
    assert_close(found, expected["by_points"])
    assert_close(CONSISTENCY_CHANCE, expected["triplet_consistency_chance"])


def test_by_category() -> None:
    rows, expected = _given("by-category")["rows"], CASE["by-category"]["expected"]
    grouping = Grouping.from_values("category", [row["category"] for row in rows], CATEGORIES)
    found = group_means(np.array([row["correct"] for row in rows]), grouping)
    by_category = {label: {"n": n, "value": value} for label, (n, value) in found.by_group.items()}
    assert_close(by_category, expected["by_category"])
    assert_close([found.micro, found.macro], [expected["micro"], expected["macro"]])


def _judged(rows: list[dict[str, Any]]) -> list[JudgedTriplet]:
    labels = {1: "h1", 2: "h2", "equal": "equal"}
    return [
        JudgedTriplet(row["id"], row["gold"], tuple(PersonChoice(labels[one]) for one in row["answers"]))
        for row in rows
    ]


def test_people() -> None:
    judged = _judged(_given("people")["rows"])
    expected = dict(CASE["people"]["expected"])
    labels = {1: "h1", 2: "h2", None: None, "equal": "equal"}
    assert [triplet.majority for triplet in judged] == [labels[one] for one in expected.pop("majority")]
    _equal_named(measure_people(judged), expected)


def test_people_pairs() -> None:
    rows = _given("people-pairs")["rows"]
    rated = [
        RatedTriplet(str(number), row["gold"], tuple((a, b) for a, b in row["ratings"]))
        for number, row in enumerate(rows)
    ]
    _equal_named(measure_ratings(rated), CASE["people-pairs"]["expected"])


def test_explanations() -> None:
    rows, expected = _given("explanations")["rows"], CASE["explanations"]["expected"]["by_source"]
    found = measure_explanations([JudgedExplanation(**row) for row in rows], ["people", "m1", "m2"])
    assert_close({source: asdict(measures) for source, measures in found.items()}, expected)


def test_explanation_candidates() -> None:
    rows, expected = _given("explanation-candidates")["rows"], CASE["explanation-candidates"]["expected"]
    found = explanation_candidates(make_key(rows), make_predictions(rows))
    assert [list(one) for one in found] == expected["candidates"]
    assert len(found) == expected["any_order"]


def test_judge() -> None:
    rows = [GradedExplanation((row["grade"],), row["votes"]) for row in _given("judge")["rows"]]
    _equal_named(measure_judge(rows), CASE["judge"]["expected"])


def test_model_and_people() -> None:
    model, people = zip(*_given("model-and-people")["rows"], strict=True)
    _equal_named(compare_with_people(model, people), CASE["model-and-people"]["expected"])


def test_parse_choice() -> None:
    rows = _given("parse-choice")["rows"]
    found = [read_choice(row["text"], row["finish"]).code for row in rows]
    names = ["invalid" if code.reason == "unparseable" else code.choice or code.reason for code in found]
    assert names == CASE["parse-choice"]["expected"]["choices"]


def test_dumb_pixel() -> None:
    rows, expected = _given("dumb-pixel")["rows"], CASE["dumb-pixel"]["expected"]
    chosen = brighter_hypotheses(*(np.array([row[name] for row in rows]) for name in ("h1", "h2")))
    assert [one or None for one in chosen.tolist()] == expected["choices"]
    key = make_key({"id": str(number), "gold": row["gold"]} for number, row in enumerate(rows))
    measures = measure_triplets(key, TripletPredictions.from_hypotheses(chosen))
    for name in ("consistency_accuracy", "gold_first_accuracy", "gold_second_accuracy"):
        assert_close(getattr(measures, name), expected["accuracy"])


def test_position_test() -> None:
    assert_close(
        [binomial_p(k, n) for k, n in _given("position-test")["rows"]], CASE["position-test"]["expected"]["p"]
    )


def test_combined_picture() -> None:
    given, expected = _given("combined-picture")["sizes"], CASE["combined-picture"]["expected"]["layouts"]
    found = [combined_layout([tuple(size) for size in sizes]) for sizes in given]
    assert_close([asdict(layout) for layout in found], expected)
