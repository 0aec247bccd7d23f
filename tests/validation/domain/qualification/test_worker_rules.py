"""What rules find: plain data in, findings out; exactly at the limit, with too little, over the newest alone."""

import pytest

from validation.domain.qualification.worker_rules import (
    RuleSettings,
    describe_finding,
    evaluate_rule,
    has_new_items,
    summarise_finding,
)
from validation.domain.qualification.worker_status import Measure
from validation.views.worker_rule_form import MEASURE_LABELS


def rule(
    measure: Measure = Measure.ACCEPTABLE_SHARE, below: int = 80, window: int = 50, at_least: int = 20
) -> RuleSettings:
    return RuleSettings(measure, below, window, at_least)


def votes(good: int, bad: int, undecided: int = 0) -> list[bool | None]:
    return [False] * bad + [None] * undecided + [True] * good


def test_share_at_the_limit_is_not_found() -> None:
    found = evaluate_rule(rule(), {1: votes(40, 10), 2: votes(39, 11)})
    assert [finding.worker for finding in found.findings] == [2]
    figures = found.findings[0].figures
    assert (figures["count"], figures["n"], figures["items"], figures["value"]) == (39, 50, 50, 78.0)


def test_too_few_items_give_no_finding() -> None:
    found = evaluate_rule(rule(), {1: votes(0, 19), 2: votes(0, 20)})
    assert [finding.worker for finding in found.findings] == [2]
    assert (found.measured, found.workers) == (1, 2)


def test_only_the_newest_of_the_window_count() -> None:
    improved, declined = votes(0, 50) + votes(50, 0), votes(50, 0) + votes(0, 50)
    found = evaluate_rule(rule(), {1: improved, 2: declined})
    assert [(f.worker, f.figures["n"], f.figures["items"]) for f in found.findings] == [(2, 50, 100)]


def test_a_window_longer_than_the_history_takes_what_there_is() -> None:
    (finding,) = evaluate_rule(rule(window=500), {1: votes(15, 10)}).findings
    assert (finding.figures["n"], finding.figures["value"]) == (25, 60.0)


def test_undecided_items_stay_in_the_total() -> None:
    assert not evaluate_rule(rule(), {1: votes(16, 4)}).findings
    (finding,) = evaluate_rule(rule(), {1: votes(16, 4, undecided=1)}).findings
    assert (finding.figures["count"], finding.figures["n"]) == (16, 21)


def test_pay_is_found_over_its_limit_by_the_median() -> None:
    fast = rule(Measure.CENTS_PER_HOUR, below=4000, window=5, at_least=3)
    series = {1: [1000, 4000, 9000], 2: [1000, 4001, 9000], 3: [9000, 9000]}
    assert [finding.worker for finding in evaluate_rule(fast, series).findings] == [2]
    even = rule(Measure.CENTS_PER_HOUR, below=4000, window=4, at_least=4)
    (finding,) = evaluate_rule(even, {1: [0, 4000, 4001, 9000]}).findings
    assert finding.figures["value"] == 4000.5


def test_worker_without_items_gives_no_finding() -> None:
    found = evaluate_rule(rule(), {1: []})
    assert (found.findings, found.measured, found.workers) == ([], 0, 0)


def test_finding_is_new_after_newer_items() -> None:
    (finding,) = evaluate_rule(rule(), {1: votes(10, 10)}).findings
    assert has_new_items(finding.figures, [])
    assert not has_new_items(finding.figures, [finding.figures])
    (later,) = evaluate_rule(rule(), {1: [*votes(10, 10), False]}).findings
    assert has_new_items(later.figures, [finding.figures])
    assert not has_new_items(finding.figures, [finding.figures, later.figures])


@pytest.mark.parametrize(
    ("measure", "values", "words"),
    [
        (
            Measure.ACCEPTABLE_SHARE,
            votes(39, 11),
            "Most judges found 39 of your last 50 judged pairs acceptable (78%)",
        ),
        (
            Measure.BOXES_SHARE,
            votes(1, 2),
            "Most judges found the boxes of 1 of your last 3 judged pairs appropriate (33.3%)",
        ),
        (
            Measure.APPROVED_SHARE,
            votes(799, 201),
            "799 of your last 1000 decided submissions were approved (79.9%)",
        ),
        (
            Measure.GOLD_SHARE,
            votes(11, 9),
            "11 of your last 20 answers to tasks with a known answer were right (55%)",
        ),
        (
            Measure.ATTENTION_SHARE,
            votes(1, 9),
            "1 of your last 10 answers to tasks with an obvious answer was right",
        ),
        (
            Measure.REPEAT_SHARE,
            votes(5, 5),
            "5 of your last 10 answers to questions that you saw twice were the same both times (50%)",
        ),
        (Measure.PACE_SHARE, votes(3, 5), "3 of your last 8 judgments took long enough to look and read"),
        (
            Measure.VARIED_SHARE,
            votes(1, 5),
            "1 of your last 6 judgments was outside long runs of the same answer",
        ),
        (Measure.ORIGINAL_SHARE, votes(7, 3), "7 of your last 10 pairs were new, not a copy"),
        (Measure.CENTS_PER_HOUR, [8123] * 3, "is $81.23 per hour of active time, over $0.80"),
    ],
)
def test_finding_is_described_to_the_worker(
    measure: Measure, values: list[bool | int | None], words: str
) -> None:
    (finding,) = evaluate_rule(rule(measure, window=1000, at_least=1), {1: values}).findings
    assert words in describe_finding(finding.figures)


def test_a_share_is_never_rounded_up_to_the_limit() -> None:
    (finding,) = evaluate_rule(rule(window=10_000), {1: votes(7999, 2001)}).findings
    assert "(79.9%). This project requires at least 80%." in describe_finding(finding.figures)


def test_every_measure_has_description_summary_and_form_label() -> None:
    for measure in Measure:
        values: list[bool | int | None] = [9000] * 3 if measure is Measure.CENTS_PER_HOUR else votes(1, 2)
        (finding,) = evaluate_rule(rule(measure, below=50, at_least=1), {1: values}).findings
        assert describe_finding(finding.figures).endswith(".")
        assert summarise_finding(finding.figures)
        assert MEASURE_LABELS[measure]


def test_description_does_not_reveal_quality_checks() -> None:
    for measure in (Measure.GOLD_SHARE, Measure.ATTENTION_SHARE, Measure.REPEAT_SHARE):
        (finding,) = evaluate_rule(rule(measure, at_least=1), {1: votes(0, 2)}).findings
        message = describe_finding(finding.figures).lower()
        assert not any(word in message for word in ("gold", "attention", "control", "check", "spam"))
