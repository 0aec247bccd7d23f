"""People on image triplets, their explanations, and a judge of explanations."""

import json
import random
from collections import Counter
from typing import Any

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from curation.evaluation.nleye_explanations import (
    GradedExplanation,
    JudgedExplanation,
    explanation_figures,
    judge_figures,
    measure_judge,
    split_by_length,
)
from curation.evaluation.nleye_people import (
    LABELS,
    JudgedTriplet,
    PersonChoice,
    RatedTriplet,
    against_gold,
    compare_with_people,
    label_counts,
    measure_people,
    measure_ratings,
    people_comparison_figures,
    people_figures,
    rating_figures,
)

CERTAINTIES = ("certain", "somewhat", "uncertain")


def _made_up_triplets(n: int, seed: int, *, right: float = 0.8) -> list[JudgedTriplet]:
    rng = random.Random(seed)
    triplets = []
    for number in range(n):
        gold = rng.randint(1, 2)
        weights = [right, 0.9 - right, 0.1] if gold == 1 else [0.9 - right, right, 0.1]
        chosen = rng.choices(LABELS, weights, k=rng.choice([0, 1, 2, 3, 3, 3, 4]))
        choices = tuple(PersonChoice(label, rng.choice(CERTAINTIES)) for label in chosen)
        triplets.append(JudgedTriplet(f"t{number}", gold, choices, rng.choice(["social", "logical"])))
    return triplets


def _triplet(name: str, gold: int, *labels: str) -> JudgedTriplet:
    return JudgedTriplet(name, gold, tuple(map(PersonChoice, labels)))


@pytest.mark.parametrize("seed", range(20))
def test_people_equal_plain_loops(seed: int) -> None:
    triplets = [one for one in _made_up_triplets(30, seed) if one.choices]
    found = measure_people(triplets)
    right = majorities = ties = against = threes = alike = alike_right = answers = 0
    for triplet in triplets:
        gold = f"h{triplet.gold}"
        labels = [choice.label for choice in triplet.choices]
        answers += len(labels)
        right += labels.count(gold)
        best = max(Counter(labels).values())
        leaders = [label for label in set(labels) if labels.count(label) == best]
        ties += len(leaders) > 1
        majorities += leaders == [gold]
        against += leaders != [gold]
        threes += len(labels) == 3
        alike += len(labels) == 3 and best == 3
        alike_right += labels == [gold] * 3
    assert (found.judged, found.answers, found.ties) == (len(triplets), answers, ties)
    assert (found.against_gold, found.three_answers) == (against, threes)
    assert found.individual_accuracy == pytest.approx(right / answers)
    assert found.majority_accuracy == pytest.approx(majorities / len(triplets))
    assert found.unanimous == pytest.approx(alike / threes)
    assert found.unanimous_right == pytest.approx(alike_right / threes)
    counts = label_counts(triplets)
    expected = krippendorff.alpha(value_counts=counts[counts.sum(axis=1) > 1], level_of_measurement="nominal")
    assert found.alpha_nominal == pytest.approx(expected)


def test_alpha_is_of_hypotheses_and_not_of_positions_or_ids() -> None:
    # People agree on each triplet; half of the triplets have gold 1 and half 2, so labels differ between triplets.
    triplets = [_triplet(f"t{i}", 1 + i % 2, *[f"h{1 + i % 2}"] * 3) for i in range(10)]
    assert measure_people(triplets).alpha_nominal == 1
    mixed = [_triplet(f"t{i}", 1, "h1", "h2") for i in range(10)]
    assert measure_people(mixed).alpha_nominal == pytest.approx(-0.9)


def test_figures_have_every_group_and_intervals_around_their_values() -> None:
    triplets = _made_up_triplets(200, 3)
    figures = people_figures(triplets)
    json.dumps(figures, allow_nan=False)
    measures = measure_people(triplets)
    people = figures["people"]
    for name in ("individual_accuracy", "majority_accuracy", "unanimous", "unanimous_right"):
        value = 100 * getattr(measures, name)
        assert people[name]["value"] == pytest.approx(value)
        assert people[name]["low"] < value < people[name]["high"]
    assert people["alpha_nominal"]["value"] == measures.alpha_nominal
    assert list(figures["certainty"]) == sorted(CERTAINTIES)
    assert sum(one["answers"] for one in figures["certainty"].values()) == measures.answers
    groups = figures["category"]["groups"]
    assert groups["cultural"]["judged"] == 0
    assert groups["cultural"]["majority_accuracy"] == {"value": None, "low": None, "high": None}
    expected = {
        name: measure_people([one for one in triplets if one.category == name]).majority_accuracy
        for name in ("social", "logical")
    }
    for name, value in expected.items():
        assert groups[name]["majority_accuracy"]["value"] == pytest.approx(100 * (value or 0))
    macro = sum(value or 0 for value in expected.values()) / 2
    assert figures["category"]["macro"] == pytest.approx(100 * macro)
    assert people_figures(triplets[::-1]) == figures


def test_certainty_is_measured_by_answer() -> None:
    choices = (PersonChoice("h1", "certain"), PersonChoice("h2", "uncertain"), PersonChoice("h1"))
    found = people_figures([JudgedTriplet("a", 1, choices)])["certainty"]
    assert {name: one["accuracy"]["value"] for name, one in found.items()} == {"certain": 100, "uncertain": 0}


def test_triplets_against_gold_have_another_majority_or_a_tie() -> None:
    triplets = [
        _triplet("b", 1, "h2", "h2", "h1"),
        _triplet("a", 2, "h1"),
        _triplet("tie", 1, "h2", "h1"),
        _triplet("equal", 1, "equal", "equal", "h2"),
        _triplet("right", 1, "h1", "h1", "h2"),
        _triplet("unjudged", 1),
    ]
    assert against_gold(triplets) == ["a", "b", "equal", "tie"]


def test_nobody_judged() -> None:
    figures = people_figures([_triplet("a", 1)])
    assert figures["people"]["judged"] == 0
    assert figures["people"]["alpha_nominal"] == {"value": None, "low": None, "high": None}
    assert figures["category"]["macro"] is None


def test_ratings_leave_out_what_was_not_rated() -> None:
    rated = [
        RatedTriplet("a", 1, ((5, None), (None, 3), (4, 4))),  # means 4.5 and 3.5; one own order, equal
        RatedTriplet("b", 2, ((2, 5), (None, 1))),  # means 2 and 3
        RatedTriplet("c", 1, ((5, None),)),  # the other hypothesis was never rated
        RatedTriplet("d", 1, ((1, 1), (1, 1), (1, None))),  # equal means of other counts
    ]
    found = measure_ratings(rated)
    assert (found.answers, found.triplets) == (4, 3)
    assert found.individual == pytest.approx(1 / 4)
    assert found.of_means == pytest.approx(2 / 3)
    figures = rating_figures(rated)
    assert figures["individual"]["value"] == pytest.approx(25)
    assert figures["of_means"]["value"] == pytest.approx(200 / 3)
    assert (figures["answers"], figures["triplets"]) == (4, 3)
    assert measure_ratings([]).of_means is None


def test_a_model_beside_people_who_are_never_wrong() -> None:
    found = compare_with_people([True, False], [True, True])
    assert found.model_right_when_people_wrong is None
    assert found.model_errors_shared_with_people == 0
    assert compare_with_people([], []).agreement is None


def test_a_model_is_compared_on_the_triplets_that_people_judged() -> None:
    triplets = [_triplet("a", 1, "h1"), _triplet("b", 1, "h2"), _triplet("c", 2, "h2"), _triplet("d", 1)]
    found = people_comparison_figures({"a": True, "b": True, "d": True, "e": False}, triplets)
    assert found == {
        "triplets": 2,
        "both_right": 50,
        "model_only": 50,
        "both_wrong": 0,
        "people_only": 0,
        "agreement": 50,
        "model_right_when_people_wrong": 100,
        "model_errors_shared_with_people": None,
    }


def test_explanations_have_intervals_by_source() -> None:
    rng = random.Random(1)
    rows = [JudgedExplanation("m", rng.randint(0, 3), 3) for _ in range(60)]
    found = explanation_figures([*rows, JudgedExplanation("m", 0, 0)], ["people"])
    json.dumps(found, allow_nan=False)
    assert list(found) == ["people", "m"]
    assert found["people"]["at_least_1"]["value"] is None
    model = found["m"]
    assert (model["explanations"], model["judged"]) == (61, 60)
    for name, smallest in (("at_least_1", 1), ("at_least_half", 2), ("all", 3)):
        share = 100 * sum(row.votes >= smallest for row in rows) / 60
        assert model[name]["value"] == pytest.approx(share)
        assert model[name]["low"] < share < model[name]["high"]
    assert sum(model["votes_of_3"].values()) == pytest.approx(100)


def test_a_judge_that_flips_is_settled_by_the_grade_in_the_middle() -> None:
    rows = [
        GradedExplanation((2, 2, 0), 1),  # valid, flips
        GradedExplanation((1, 2, None), 0),  # the lower of two: not valid, flips
        GradedExplanation((0, 1, 1), 2),  # not valid, no flip: validity is the same
        GradedExplanation((None, None), 1),  # missing
        GradedExplanation((2,), None),  # valid, not repeated, people did not judge it
    ]
    assert [row.grade for row in rows] == [2, 1, 1, None, 2]
    found = measure_judge(rows)
    assert found.auto_score == pytest.approx(2 / 5)
    assert (found.missing, found.compared, found.repeated, found.flips) == (1, 3, 3, 2)
    assert found.agreement == pytest.approx(2 / 3)
    assert (found.judge_valid_people_not, found.people_valid_judge_not) == (0, 1)


def test_kappa_equals_that_of_scikit_learn() -> None:
    rng = random.Random(2)
    rows = [GradedExplanation((rng.randint(0, 2),), rng.randint(0, 3)) for _ in range(80)]
    expected = cohen_kappa_score(
        [row.grades[0] == 2 for row in rows], [row.votes is not None and row.votes > 0 for row in rows]
    )
    assert measure_judge(rows).cohen_kappa == pytest.approx(expected)


def test_a_judge_is_checked_on_other_triplets_and_by_length() -> None:
    rng = np.random.default_rng(3)
    rows = [
        GradedExplanation((int(grade),), 1, int(words))
        for grade, words in zip(rng.integers(0, 3, 40), rng.integers(3, 30, 40), strict=True)
    ]
    others = [GradedExplanation((0, 0, 1))] * 12
    found: dict[str, Any] = judge_figures(rows, {"other_triplet": others})
    json.dumps(found, allow_nan=False)
    assert list(found["checks"]) == ["short", "long", "other_triplet"]
    assert found["checks"]["other_triplet"]["score"]["value"] == 0
    parts = split_by_length(rows)
    assert max(row.words for row in parts["short"]) < min(row.words for row in parts["long"])
    weighted = sum(
        found["checks"][name]["score"]["value"] * found["checks"][name]["explanations"] for name in parts
    )
    assert weighted / 40 == pytest.approx(found["auto_score"]["value"])
    assert judge_figures([])["auto_score"]["value"] is None
