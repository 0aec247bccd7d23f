"""People's pairwise accuracy: the leaderboard's human figure, and a slow reading of the same definition."""

import json
from itertools import combinations, permutations

import numpy as np
import pytest

from curation.evaluation.comparison import parse_comparison_key
from curation.evaluation.inputs import read_answer_key
from tests.support import paths
from validation.domain.agreement.pairwise import pairwise_accuracy, pairwise_agreement
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.ratings import JudgmentRow, RatingTable
from validation.registry import spec_of

CASES = paths.CASES / "leaderboard" / "comparison"


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_two_raters_of_each_set_give_the_leaderboards_human_figure(case: str) -> None:
    key = parse_comparison_key(read_answer_key(CASES / case / "answer_key.json"))
    rows = [
        JudgmentRow(
            kind="likert_comparison",
            item=instance.instance,
            rater=rater,
            answer={
                "ratings": [
                    {"candidate": test_id, "rating": float(rating)}
                    for test_id, rating in zip(instance.test_ids, ratings, strict=True)
                ]
            },
        )
        for instance in key.instances
        for rater, ratings in (("annot1", instance.first), ("annot2", instance.second))
    ]
    expected = json.loads((CASES / case / "expected.json").read_text())["exact"]
    found = pairwise_accuracy(build_tables(rows, spec_of("likert_comparison"))["rating"])
    assert found.value == pytest.approx(expected["human"], abs=1e-9, rel=0)
    assert found.sets == expected["n"]
    assert found.pairs == 2 * expected["n"]
    each = [100 * value for value in expected["by_annotation"]["human"]]
    assert list(found.by_set.values()) == pytest.approx(each, abs=1e-9, rel=0)


def random_sets(rng: np.random.Generator) -> RatingTable:
    """One to six sets of one to fourteen candidates, up to five raters, some ratings missing."""
    rows = []
    missing = rng.choice([0.0, 0.1, 0.6])
    for name in range(rng.integers(1, 7)):
        for candidate in range(rng.choice([1, 2, 3, 10, 14])):
            for rater in range(rng.integers(1, 6)):
                if rng.random() >= missing:
                    rows.append(((name, candidate), rater, int(rng.integers(1, 4))))
    rng.shuffle(rows)
    return RatingTable.from_rows(
        [(tuple(item), rater, label) for item, rater, label in rows], (1, 2, 3), (1, 2, 3)
    )


def slow_accuracy(table: RatingTable) -> dict[object, tuple[float, int]]:
    """Loop over sets, ordered pairs of raters and pairs of candidates."""
    given = {
        (table.item_ids[item], table.rater_ids[rater]): float(table.values[label])
        for item, rater, label in zip(table.items, table.raters, table.labels, strict=True)
    }
    found = {}
    for name in dict.fromkeys(item[0] for item in table.item_ids):
        candidates = [item for item in table.item_ids if item[0] == name]
        noise = np.random.RandomState(1).random_sample(max(10, len(candidates))) / 1e9
        scores = []
        for first, second in permutations(table.rater_ids, 2):
            shared = [
                (given[item, first], given[item, second] + noise[place])
                for place, item in enumerate(candidates)
                if (item, first) in given and (item, second) in given
            ]
            if not shared:
                continue
            points = [(a[0] > b[0]) == (a[1] > b[1]) for a, b in combinations(shared, 2) if a[0] != b[0]]
            scores.append(2 * (np.mean(points) - 0.5) if points else 0.0)
        if scores:
            found[name] = (100 * float(np.mean(scores)), len(scores))
    return found


def test_any_number_of_raters_and_missing_ratings_follow_the_definition() -> None:
    rng = np.random.default_rng(31)
    compared = 0
    for _ in range(260):
        table = random_sets(rng)
        expected, found = slow_accuracy(table), pairwise_accuracy(table)
        assert found.by_set == pytest.approx({name: value for name, (value, _) in expected.items()}, abs=1e-9)
        assert (found.sets, found.pairs) == (len(expected), sum(pairs for _, pairs in expected.values()))
        if expected:
            value = np.mean([value for value, _ in expected.values()])
            assert found.value == pytest.approx(value, abs=1e-9, rel=0)
            assert found.accuracy == pytest.approx(50 + value / 2, abs=1e-9, rel=0)
            compared += 1
        else:
            assert (found.value, found.accuracy) == (None, None)
    assert compared >= 200


def test_accuracy_without_a_second_rater_is_undefined() -> None:
    empty = pairwise_accuracy(RatingTable.from_rows([], (1, 2, 3)))
    alone = pairwise_accuracy(RatingTable.from_rows([(("s", 1), "r", 1), (("s", 2), "r", 2)], (1, 2, 3)))
    for found in (empty, alone):
        assert (found.value, found.low, found.sets, found.pairs, found.by_set) == (None, None, 0, 0, {})


def test_perfect_order_is_100_and_opposite_order_is_less_than_chance() -> None:
    rows = [((name, at), rater, at) for name in "ab" for at in (1, 2, 3) for rater in ("r", "s")]
    found = pairwise_accuracy(RatingTable.from_rows(rows, (1, 2, 3), (1, 2, 3)), rng=np.random.default_rng(0))
    assert (found.value, found.accuracy, found.low, found.high) == (100.0, 100.0, None, None)
    turned = [(item, rater, 4 - label if rater == "s" else label) for item, rater, label in rows]
    assert pairwise_accuracy(RatingTable.from_rows(turned, (1, 2, 3), (1, 2, 3))).value == -100.0


def test_the_interval_is_over_sets() -> None:
    rng = np.random.default_rng(4)
    rows = []
    for name in range(80):
        for candidate in range(10):
            majority_label = int(rng.integers(1, 4))
            rows += [
                ((name, candidate), rater, majority_label if rng.random() < 0.6 else int(rng.integers(1, 4)))
                for rater in ("r", "s")
            ]
    table = RatingTable.from_rows(rows, (1, 2, 3), (1, 2, 3))
    found = pairwise_accuracy(table, rng=np.random.default_rng(1))
    half = 1.96 * np.std(list(found.by_set.values())) / np.sqrt(80)
    assert found.low == pytest.approx(found.value - half, abs=half / 4)
    assert found.high == pytest.approx(found.value + half, abs=half / 4)
    assert pairwise_accuracy(table).low is None


def test_pair_tied_only_in_the_ranking_is_wrong() -> None:
    assert pairwise_agreement(np.array([1.0, 2.0]), np.array([5.0, 5.0])) == -1.0
    assert pairwise_agreement(np.array([2.0, 2.0]), np.array([5.0, 4.0])) == 0.0
    assert pairwise_agreement(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.15])) == pytest.approx(1 / 3)
