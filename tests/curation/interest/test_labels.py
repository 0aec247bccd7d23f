"""Verdicts become targets, and the hard rules count objects."""

from datetime import UTC, datetime, timedelta

import pytest

from curation.interest.labels import OkayImages, Verdict, targets, verdict_sums
from curation.interest.rules import HardRules, ObjectCounts, count_objects
from curation.records import InvalidInput

START = datetime(2026, 1, 1, tzinfo=UTC)


def verdict(image: int, person: str, value: int, minute: int = 0) -> Verdict:
    return Verdict(image, person, value, "researchers", START + timedelta(minutes=minute))


def test_verdict_sums_newest_of_a_person_counts_wherever_it_is_in_the_list() -> None:
    rows = [verdict(1, "a", 1, minute=5), verdict(1, "a", -1, minute=2), verdict(1, "b", 1)]
    assert verdict_sums(rows) == {1: 2}
    assert verdict_sums([verdict(1, "a", 1), verdict(1, "a", -1)]) == {1: -1}, "equally old: the last"


@pytest.mark.parametrize(
    ("okay", "expected"),
    [
        (OkayImages.LEFT_OUT, {1: True, 2: False}),
        (OkayImages.INTERESTING, {1: True, 2: False, 3: True, 4: True}),
        (OkayImages.BORING, {1: True, 2: False, 3: False, 4: False}),
    ],
)
def test_targets_sum_of_verdicts_decides(okay: OkayImages, expected: dict[int, bool]) -> None:
    rows = [
        *(verdict(1, name, value) for name, value in (("a", 1), ("b", 1), ("c", -1))),
        *(verdict(2, name, value) for name, value in (("a", -1), ("b", 0))),
        verdict(3, "a", 0),
        *(verdict(4, name, value) for name, value in (("a", 1), ("b", -1))),
    ]
    assert targets(verdict_sums(rows), okay) == expected


def test_count_objects_low_scores_do_not_count() -> None:
    objects = [("person", 0.9), ("person", 0.7), ("person", 0.69), ("dog", 0.99), ("car", 0.1)]
    assert count_objects(objects) == ObjectCounts(people=2, others=1)
    assert count_objects(objects, 0.0) == ObjectCounts(people=3, others=2)


@pytest.mark.parametrize(
    ("rules", "people", "others", "kept"),
    [
        (HardRules(), 2, 1, True),
        (HardRules(), 2, 0, False),
        (HardRules(), 1, 9, False),
        (HardRules(min_people=0), 0, 3, True),
        (HardRules(min_objects=0, min_people=0), 0, 0, True),
    ],
)
def test_hard_rules_counts_decide(rules: HardRules, people: int, others: int, kept: bool) -> None:
    assert rules.is_met_by(ObjectCounts(people, others)) is kept


@pytest.mark.parametrize(
    "options", [{"min_objects": -1}, {"min_people": -2}, {"min_score": 1.2}, {"min_score": float("nan")}]
)
def test_hard_rules_impossible_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="min "):
        HardRules(**options)  # type: ignore[arg-type]
