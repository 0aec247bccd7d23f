"""Agreement, outcome, slots and the scores' chart, as plain data."""

import math

import pytest
from sklearn.metrics import cohen_kappa_score

from hits.domain.answers.exam import ExamScore
from validation.domain.agreement.cohen import grader_agreement
from validation.domain.judging.slots import plan_slots
from validation.domain.qualification.outcome import (
    MAX_REASON_LENGTH,
    PassRule,
    Remark,
    Score,
    describe_outcome,
    has_passed,
    is_reasonable,
    needs_remark,
)


def pairs(both: int, first: int, second: int, neither: int) -> list[tuple[bool, bool]]:
    """A two by two table as pairs: both yes, only the first, only the second, neither."""
    return (
        [(True, True)] * both
        + [(True, False)] * first
        + [(False, True)] * second
        + [(False, False)] * neither
    )


def test_kappa_by_hand() -> None:
    # 35 of 50 alike; by chance 0.5 · 0.6 + 0.5 · 0.4 = 0.5; kappa = (0.7 − 0.5) / 0.5.
    found = grader_agreement(pairs(20, 5, 10, 15))
    assert (found.same, found.total, found.percent) == (35, 50, 70.0)
    assert found.kappa == pytest.approx(0.4)
    # Fleiss, Cohen and Everitt 1969, (13), term by term with 1 − kappa = 0.6:
    # alike: 0.4 (1 − 1.1 · 0.6)² + 0.3 (1 − 0.9 · 0.6)² = 0.04624 + 0.06348 = 0.10972
    # apart: 0.36 (0.1 (0.6 + 0.5)² + 0.2 (0.4 + 0.5)²) = 0.36 (0.121 + 0.162) = 0.10188
    # less:  (0.4 − 0.5 · 0.6)² = 0.01; error = sqrt(0.2016 / 50) / 0.5
    error = math.sqrt(0.2016 / 50) / 0.5
    assert found.low == pytest.approx(0.4 - 1.959964 * error)
    assert found.high == pytest.approx(0.4 + 1.959964 * error)


@pytest.mark.parametrize(
    "table", [(20, 5, 10, 15), (45, 15, 25, 15), (1, 0, 1, 9), (0, 7, 9, 0), (3, 0, 0, 4), (100, 3, 5, 2)]
)
def test_kappa_equals_scikit_learn(table: tuple[int, int, int, int]) -> None:
    rows = pairs(*table)
    found = grader_agreement(rows)
    assert found.kappa == pytest.approx(cohen_kappa_score([a for a, _ in rows], [b for _, b in rows]))
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low <= found.kappa <= found.high <= 1


def test_agreement_where_it_is_undefined() -> None:
    assert grader_agreement([]).percent is None
    one_word = grader_agreement(pairs(6, 0, 0, 0))
    assert (one_word.percent, one_word.kappa, one_word.low) == (100.0, None, None)


@pytest.mark.parametrize(
    ("grades", "counts"),
    [
        ([], False),
        ([True], True),
        ([False], False),
        ([True, True], True),
        ([True, False], False),
        ([True, True, False], True),
        ([True, False, False], False),
    ],
)
def test_a_pair_needs_more_than_half_of_its_graders(grades: list[bool], counts: bool) -> None:
    assert is_reasonable(grades) is counts


def score(reasonable: int, right: int = 0, asked: int = 0) -> Score:
    return Score(reasonable, 9, 9, ExamScore(right, asked))


@pytest.mark.parametrize(
    ("reasonable", "right", "passed"), [(8, 3, True), (9, 5, True), (7, 5, False), (8, 2, False)]
)
def test_pass_rule_includes_its_limit(reasonable: int, right: int, passed: bool) -> None:
    assert has_passed(score(reasonable, right, 5), PassRule(8, 3)) is passed


def test_fail_by_exam_needs_no_remark() -> None:
    rule = PassRule(8, 3)
    assert not needs_remark(score(9, 0, 5), rule, [])
    assert needs_remark(score(7, 5, 5), rule, [])
    assert not needs_remark(score(7, 5, 5), rule, [Remark(1, 1, "Too vague.")])


def test_outcome_message_fits_the_maximum_length() -> None:
    remarks = [Remark(n // 3 + 1, n % 3 + 1, "x" * 300) for n in range(9)]
    text = describe_outcome(score(0, 1, 5), PassRule(8, 3), remarks)
    assert len(text) <= MAX_REASON_LENGTH
    assert "0 of 9 pairs" in text
    assert "1 of 5 questions" in text
    assert text.endswith("more remarks left out.)")
    whole = describe_outcome(score(7), PassRule(), remarks[:2])
    assert "Photo 1, pair 2: " + "x" * 300 in whole


@pytest.mark.parametrize(
    ("slots", "variants", "hits", "each"),
    [
        (400, 10, 50, 8),
        (297, 5, 33, 9),
        (12, 2, 2, 6),
        (1, 1, 1, 1),
        (9, 1, 1, 9),
        (10, 1, 2, 5),
        (3, 3, 3, 1),
    ],
)
def test_slots_are_spread_over_hits(slots: int, variants: int, hits: int, each: int) -> None:
    found = plan_slots(slots, variants=variants)
    assert (found.hits, found.redundancy) == (hits, each)


@pytest.mark.parametrize("slots", range(1, 200))
def test_slot_plan_has_no_missing_and_few_extra_slots(slots: int) -> None:
    for variants in range(1, min(slots, 7) + 1):
        found = plan_slots(slots, variants=variants)
        assert slots <= found.slots < slots + 9
        assert found.redundancy <= 9
        assert found.hits >= variants


@pytest.mark.parametrize(("slots", "variants"), [(0, 1), (3, 0), (2, 3)])
def test_impossible_slot_plan_is_refused(slots: int, variants: int) -> None:
    with pytest.raises(ValueError, match="slot"):
        plan_slots(slots, variants=variants)
