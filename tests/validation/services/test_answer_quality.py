"""Evidence about how people answer: haste, runs of one answer, controls; careful people show none of it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from curation.models import Pair
from hits.domain.states import AssignmentStatus
from hits.models import Assignment, Hit, Project, Worker
from tests.support.answers import observations
from tests.support.judging.work import Work, review
from tests.support.loop import launched
from validation.domain.judging.answer_quality import (
    ALL_QUESTIONS,
    ALL_STATEMENTS,
    MAX_EXPECTED_RUNS,
    collect_evidence,
    compute_pace_limit,
    extract_run_labels,
    find_long_runs,
    mark_answers_in_runs,
)
from validation.domain.judging.quality_check_types import CheckRates, CheckRole
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.qualification.worker_rules import RuleSettings
from validation.domain.qualification.worker_status import Measure
from validation.registry import spec_of
from validation.selectors import quality, worker_rules
from validation.selectors.ratings import read_judgments
from validation.services.judging import RoundPlan, launch_review

REVIEW, LIKERT = "observation_review", "likert_comparison"
BASE = {"reasonable": [0.6, 0.3, 0.1], "boxes": [0.6, 0.3, 0.1], "interesting": [0.2, 0.5, 0.2, 0.1]}
WORDS = {
    "reasonable": ["highly", "relatively", "un"],
    "boxes": ["appropriate", "mostly", "entirely_off"],
    "interesting": ["very", "interesting", "caption_like", "not_at_all"],
}


def careful(rng: np.random.Generator, count: int) -> list[dict[str, str]]:
    drawn = {name: rng.choice(WORDS[name], count, p=BASE[name]) for name in WORDS}
    return [{name: str(drawn[name][n]) for name in WORDS} for n in range(count)]


def rated(*values: int) -> dict[str, Any]:
    return {"ratings": [{"candidate": str(n), "rating": value} for n, value in enumerate(values)]}


# -- haste


def test_the_limit_is_three_scaled_deviations_under_the_median_of_the_logarithms() -> None:
    rng = np.random.default_rng(1)
    times = np.exp(rng.normal(np.log(60), 0.5, 20_000))
    assert compute_pace_limit(list(times), 1.0) == pytest.approx(60 * np.exp(-1.5), rel=0.05)


def test_outlier_times_hardly_change_the_limit() -> None:
    rng = np.random.default_rng(1)
    times = np.exp(rng.normal(np.log(60), 0.5, 1_000))
    wild = [0.5] * 50 + [90_000.0] * 50
    assert compute_pace_limit([*times, *wild], 1.0) == pytest.approx(
        compute_pace_limit(list(times), 1.0), rel=0.25
    )


def test_the_limit_is_between_the_floor_and_half_the_median() -> None:
    assert compute_pace_limit([60.0] * 100, 9.0) == pytest.approx(30)
    assert compute_pace_limit([2.0] * 100, 9.0) == 9.0
    assert compute_pace_limit([60.0] * 19, 9.0) == 9.0
    assert compute_pace_limit([60.0] * 20 + [0.0, 0.0], 9.0) == pytest.approx(30)
    assert compute_pace_limit([], 9.0) == 9.0


# -- runs


def test_careful_people_have_no_long_runs() -> None:
    rng = np.random.default_rng(7)
    found = find_long_runs({worker: careful(rng, 400) for worker in range(60)}, spec_of(REVIEW))
    # 60 people with four dimensions each: under a quarter of a run is expected in all.
    assert sum(len(runs) for runs in found.values()) <= 1


def test_long_run_is_found_with_position_and_figures() -> None:
    rng = np.random.default_rng(7)
    answers = {worker: careful(rng, 300) for worker in range(20)}
    answers[3][100:140] = [review("highly", "appropriate", "interesting")] * 40
    runs = find_long_runs(answers, spec_of(REVIEW))[3]
    assert {run.dimension for run in runs} == {"reasonable", "boxes", "interesting", ALL_QUESTIONS}
    (run,) = [run for run in runs if run.dimension == "reasonable"]
    assert run.label == "highly"
    assert run.start <= 100
    assert 40 <= run.length < 60
    assert run.share == pytest.approx(0.6, abs=0.02)
    assert run.expected == pytest.approx(300 * run.share**run.length)
    assert run.expected < MAX_EXPECTED_RUNS
    marks = mark_answers_in_runs(runs, 300)
    assert all(marks[100:140])
    assert sum(marks) < 80


def test_run_of_the_common_answer_is_not_long() -> None:
    others = {worker: [review()] * 97 + [review("un", "mostly", "interesting")] * 3 for worker in range(10)}
    others[99] = [review()] * 60
    assert 99 not in {worker for worker, runs in find_long_runs(others, spec_of(REVIEW)).items() if runs}


def test_run_of_a_prolific_spammer_is_found() -> None:
    rng = np.random.default_rng(5)
    answers = {worker: careful(rng, 30) for worker in range(4)}
    answers[9] = [review("relatively", "mostly", "caption_like")] * 1_000
    assert sum(mark_answers_in_runs(find_long_runs(answers, spec_of(REVIEW))[9], 1_000)) == 1_000


def test_no_runs_are_found_without_other_workers() -> None:
    assert not find_long_runs({1: [review()] * 500}, spec_of(REVIEW)).get(1)
    assert find_long_runs({1: []}, spec_of(REVIEW)) == {}
    assert (
        find_long_runs({1: [{"matches": []}] * 90, 2: [{"matches": []}] * 90}, spec_of("localization_match"))
        == {}
    )


def test_run_of_sets_needs_equal_ratings_of_all_statements() -> None:
    assert extract_run_labels(rated(1, 1, 1), spec_of(LIKERT)) == {ALL_STATEMENTS: "1"}
    assert extract_run_labels(rated(1, 2, 1), spec_of(LIKERT)) == {ALL_STATEMENTS: None}
    honest = {worker: [rated(1, 2, 3)] * 40 for worker in range(5)}
    (run,) = find_long_runs(honest | {9: [rated(1, 2, 3), *[rated(3, 3, 3)] * 12]}, spec_of(LIKERT))[9]
    assert (run.dimension, run.label, run.start, run.length) == (ALL_STATEMENTS, "3", 1, 12)


# -- all of it


def rows_of(worker: int, answers: Sequence[dict[str, Any]], seconds: float = 60.0) -> list[JudgmentRow]:
    return [
        JudgmentRow(
            spec_of(REVIEW),
            f"i{n}",
            f"w{worker}",
            answer,
            worker=worker,
            unit=n,
            assignment=1_000 * worker + n,
            seconds=seconds + n % 7,
        )
        for n, answer in enumerate(answers)
    ]


def test_evidence_counts_and_lists_what_shows_it() -> None:
    rng = np.random.default_rng(2)
    rows = [row for worker in range(1, 9) for row in rows_of(worker, careful(rng, 60))]
    rows += rows_of(10, [review("relatively", "mostly", "caption_like")] * 60, seconds=4.0)
    checks = [
        JudgmentRow(REVIEW, "g", "w10", review("un"), worker=10, unit=900, assignment=1, role=CheckRole.GOLD),
        JudgmentRow(
            REVIEW, "g", "w10", review(), worker=10, unit=901, assignment=2, role=CheckRole.ATTENTION
        ),
        JudgmentRow(REVIEW, "i0", "w10", review(), worker=10, unit=902, assignment=3, role=CheckRole.REPEAT),
        JudgmentRow(REVIEW, "g", "w1", review(), worker=1, unit=900, assignment=4, role=CheckRole.GOLD),
        JudgmentRow(REVIEW, "x", "iabc", review()),
    ]
    found = collect_evidence(
        rows + checks,
        expected={900: {"reasonable": ["highly"]}, 901: {"boxes": ["mostly"], "reasonable": ["un"]}},
        originals={902: 0},
        spec=spec_of(REVIEW),
        floor_seconds=9.0,
    )
    bad, good = found[10], found[1]
    assert (bad["gold"], bad["attention"], bad["repeat"]) == ([0, 1], [0, 1], [0, 3])
    assert bad["pace"] == [0, 60]
    assert bad["varied"] == [0, 60]
    assert bad["shown"]["gold"] == [1]
    assert bad["shown"]["attention"] == [2]
    assert bad["shown"]["repeat"] == [[10_000, 3]]
    assert len(bad["shown"]["pace"]) == 20
    assert bad["shown"]["pace"][-1] == [10_059, 4.0 + 59 % 7]
    assert bad["shown"]["varied"][0]["assignments"][0] == 10_000
    assert bad["limits"]["pace_seconds"] == pytest.approx(31.5, abs=1)
    assert (good["gold"], good["attention"], good["pace"], good["varied"]) == (
        [1, 1],
        [0, 0],
        [60, 60],
        [60, 60],
    )
    assert not any(good["shown"].values())
    assert set(found) == {*range(1, 9), 10}


def test_evidence_of_nothing_is_empty() -> None:
    assert collect_evidence([], expected={}, originals={}, spec=spec_of(REVIEW), floor_seconds=1.0) == {}


# -- measures from rows


@pytest.fixture
def judged_round(work: Work) -> Work:
    """Twenty-one pairs judged by two people; the second is fast and always says the same."""
    rows = [row for n in range(7) for row in work.observed(work.image(n), worker=f"A{n}")]
    batch, _ = launch_review(
        project=work.project,
        observations=rows,
        by=None,
        plan=RoundPlan(rates=CheckRates(attention=20, repeat=20)),
    )
    work.publish(batch)
    # Units are in random order and pairs have random ids: answered in the pairs' own order, with answers drawn once,
    # every run of this test has the same series. A repeat has its pair's answer; attention checks come last.
    position = {row.instance_id: n for n, row in enumerate(rows)}
    answers = careful(np.random.default_rng(1), len(rows) + 1)
    hits = Hit.objects.filter(unit__batch=batch).select_related("unit").order_by("pk")
    for hit in sorted(hits, key=lambda hit: position.get(hit.unit.payload["observation"], len(rows))):
        check = getattr(hit.unit, "quality_check", None)
        truth = dict(answers[position.get(hit.unit.payload["observation"], len(rows))])
        if check is not None and check.role == CheckRole.ATTENTION:
            truth |= review("un", "entirely_off", truth["interesting"])
        work.answered(hit, "CAREFUL", truth)
        work.answered(hit, "FAST", review("highly", "appropriate", "not_at_all"))
    return work


def number(worker: str) -> int:
    return Worker.objects.get(worker_id=worker).pk


@pytest.mark.django_db
def test_measure_series_of_quality_checks_and_runs(judged_round: Work) -> None:
    project = judged_round.project
    attention = worker_rules.measure_series(project, Measure.ATTENTION_SHARE)
    assert attention[number("CAREFUL")] == [True] * 5
    assert attention[number("FAST")] == [False] * 5
    repeats = worker_rules.measure_series(project, Measure.REPEAT_SHARE)
    assert repeats[number("CAREFUL")] == repeats[number("FAST")] == [True] * 15
    assert worker_rules.measure_series(project, Measure.GOLD_SHARE) == {}
    pace = worker_rules.measure_series(project, Measure.PACE_SHARE)
    assert {len(values) for values in pace.values()} == {21}
    varied = worker_rules.measure_series(project, Measure.VARIED_SHARE)
    assert varied[number("FAST")] == [False] * 21
    assert all(varied[number("CAREFUL")])


@pytest.mark.django_db
def test_cached_evidence_is_recomputed_after_new_answers(
    judged_round: Work, django_assert_num_queries: Callable[..., Any]
) -> None:
    project = judged_round.project
    before = worker_rules.measure_series(project, Measure.VARIED_SHARE)
    with django_assert_num_queries(4):
        assert worker_rules.measure_series(project, Measure.VARIED_SHARE) == before
    hit = Hit.objects.filter(unit__batch__kind=REVIEW, unit__quality_check=None).order_by("pk")[0]
    judged_round.answered(hit, "THIRD", review())
    after = worker_rules.measure_series(project, Measure.VARIED_SHARE)
    assert number("THIRD") in after
    assert number("THIRD") not in before


@pytest.mark.django_db
def test_exchanged_rejection_changes_the_fingerprint(judged_round: Work) -> None:
    """As many rejections as before, of another person's work: what was kept no longer holds."""
    rows = Assignment.objects.filter(hit__unit__batch__kind=REVIEW).order_by("pk")
    first, last = rows.first(), rows.last()
    assert first is not None
    assert last is not None
    rows.filter(pk=first.pk).update(status="Rejected")
    before = quality.answers_fingerprint(judged_round.project)
    rows.filter(pk=first.pk).update(status="Approved")
    rows.filter(pk=last.pk).update(status="Rejected")
    assert quality.answers_fingerprint(judged_round.project) != before


@pytest.mark.django_db
def test_a_rule_finds_who_misses_attention_checks(judged_round: Work) -> None:
    rule = RuleSettings(Measure.ATTENTION_SHARE, 70, 50, 5)
    (finding,) = worker_rules.compute_rule_findings(rule, judged_round.project).findings
    assert (finding.worker, finding.figures["count"], finding.figures["n"]) == (number("FAST"), 0, 5)


def written(work: Work, worker: str, seed: int, inference: str, clue: str = "the cup on the table") -> None:
    """Let a worker hand in three pairs about an image: the given one, and two that are like no other."""
    batch = launched(work.project, [work.image(seed)])
    work.publish(batch)
    answer = observations(3)
    rng = np.random.default_rng(seed)
    for row in answer["observations"]:
        row["inference"] = " ".join(f"w{n}" for n in rng.integers(0, 10**6, 8))
    answer["observations"][0] |= {"inference": inference, "clue": clue}
    work.answered(Hit.objects.get(unit__batch=batch), worker, answer)


@pytest.mark.django_db
def test_copied_text_counts_against_the_later_author(work: Work) -> None:
    text = "Somebody has had breakfast here not long ago at all"
    written(work, "FIRST", 1, text)
    written(work, "FIRST", 2, "The owner will be back before the evening comes")
    written(work, "LATER", 3, text.upper(), clue="a lamp")
    written(work, "LATER", 4, text.replace("breakfast", "lunch"), clue="a chair")
    written(work, "LATER", 5, "It rained during the night before this was taken", clue="a boat")
    written(work, "LATER", 6, "A short one", clue="a road")
    written(work, "FIRST", 7, "A short one", clue="a tree")
    found = worker_rules.measure_series(work.project, Measure.ORIGINAL_SHARE)
    assert found[number("FIRST")] == [True] * 9
    assert found[number("LATER")] == [False, True, True, False, *[True] * 8]


@pytest.mark.django_db
def test_a_page_finds_near_copies_of_others(
    work: Work, django_assert_num_queries: Callable[..., Any]
) -> None:
    text = "Somebody has had breakfast here not long ago at all"
    written(work, "FIRST", 1, text)
    written(work, "LATER", 2, text.replace("breakfast", "lunch"), clue="a lamp")
    written(work, "LATER", 3, "A short one", clue="a chair")
    written(work, "OTHER", 4, "A short one", clue="a boat")
    worker = Worker.objects.get(worker_id="LATER")
    with django_assert_num_queries(1):
        found = quality.worker_pair_copies(worker, work.project)
    (pair,) = found.pairs
    assert (found.total, found.near_copies_compared, pair.is_own) == (6, True, False)
    earlier = Assignment.objects.get(worker__worker_id="FIRST")
    later = Pair.objects.get(fields__inference=text.replace("breakfast", "lunch"))
    assert (pair.assignment, pair.earlier_assignment) == (later.submission.assignment.pk, earlier.pk)
    for name in ("FIRST", "OTHER"):
        other = quality.worker_pair_copies(Worker.objects.get(worker_id=name), work.project)
        assert (other.pairs, other.total) == ((), 3), name
    written(work, "LAST", 5, text.upper(), clue="a door")
    last = quality.worker_pair_copies(Worker.objects.get(worker_id="LAST"), work.project)
    assert len(last.pairs) == 1, "what was kept is not told of later work"


@pytest.mark.django_db
def test_in_a_large_project_a_page_finds_own_copies_and_others_word_for_word(
    work: Work, django_assert_num_queries: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "MAX_COMPARED_PAIRS", 5)
    text = "Somebody has had breakfast here not long ago at all"
    written(work, "FIRST", 1, text)
    written(work, "LATER", 2, text, clue="a lamp")
    written(work, "LATER", 3, text.replace("breakfast", "lunch"), clue="a chair")
    written(work, "LATER", 4, "It rained during the night before this was taken", clue="a boat")
    written(work, "LAST", 5, text, clue="a door")
    worker = Worker.objects.get(worker_id="LATER")
    with django_assert_num_queries(3):
        found = quality.worker_pair_copies(worker, work.project)
    assert (found.total, found.near_copies_compared) == (9, False)
    assert [(pair.is_own, pair.inference) for pair in found.pairs] == [
        (False, text),
        (False, text.replace("breakfast", "lunch")),
    ]
    first = Worker.objects.get(worker_id="FIRST")
    assert quality.worker_pair_copies(first, work.project).pairs == ()


@pytest.mark.django_db
def test_rejected_work_is_no_evidence(work: Work, project: Project) -> None:
    rows = work.observed(work.image(1), worker="A")
    batch, _ = launch_review(project=project, observations=rows, by=None)
    work.publish(batch)
    hit = Hit.objects.filter(unit__batch=batch)[0]
    work.answered(hit, "J", review(), status=AssignmentStatus.REJECTED)
    assert worker_rules.measure_series(project, Measure.PACE_SHARE) == {}
    answers = read_judgments(project=project, kind=REVIEW, roles=None)
    spec = spec_of(REVIEW)
    assert collect_evidence(answers, expected={}, originals={}, spec=spec, floor_seconds=1) == {}
