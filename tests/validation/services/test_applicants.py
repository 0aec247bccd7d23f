"""Qualification rounds by rows alone: places, the pass rule, blind grading, disagreements, answers."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from hits.domain.states import AssignmentStatus, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.models import Batch, Decision, Hit, Image, Submission, Worker, WorkerDecision
from hits.selectors.eligibility.eligibility import holders
from hits.services.errors import Conflict, Refused
from hits.services.workers import qualifications
from tests.support.judging.applicants import application, grade, qualification
from tests.support.judging.work import Work
from validation.domain.qualification.outcome import PassRule
from validation.domain.qualification.worker_status import Standing
from validation.models import Grade, GradingOutcome, QualificationRound, StandingChange
from validation.selectors.grading import WINDOW, Key, desk
from validation.selectors.rounds import round_lines, round_page, unanswered_in
from validation.services.answering import _decide, _ready
from validation.services.grading import Given, record, record_many
from validation.services.rounds import Admission, launch_qualification_round, launch_training_round

pytestmark = pytest.mark.django_db


@pytest.fixture
def six(make_image: Any) -> list[Image]:
    return [make_image(n) for n in range(6)]


@pytest.fixture
def found(work: Work, six: list[Image]) -> QualificationRound:
    started = qualification(work.project, six, 12)
    work.publish(started.batch)
    return started


def applied(work: Work, found: QualificationRound, worker: str, *, hit: int = 0, **more: Any) -> Submission:
    """One worker's confirmed application."""
    chosen = Hit.objects.filter(unit__batch=found.batch).order_by("pk")[hit]
    status = more.pop("status", AssignmentStatus.SUBMITTED)
    return work.answered(chosen, worker, application(chosen.unit.payload, salt=worker, **more), status=status)


def answered(found: QualificationRound, by: User | None = None) -> list[GradingOutcome]:
    """Everything of an answer but the marketplace's calls."""
    return _decide(found, [a.first.submission for a in _ready(found)], by)


# --- starting a round


def test_a_round_spreads_its_sets_over_hits_of_nine_or_fewer(work: Work, six: list[Image]) -> None:
    found = qualification(work.project, six, 40, exam=True, rule=PassRule(8, 1))
    hits = Hit.objects.filter(unit__batch=found.batch).select_related("unit").order_by("pk")
    assert sum(hit.max_assignments for hit in hits) == 40
    assert {hit.max_assignments for hit in hits} == {8}
    shown = [hit.unit.payload["images"] for hit in hits]
    assert shown == [[i.pk for i in six[:3]], [i.pk for i in six[3:]]] * 2 + [[i.pk for i in six[:3]]]
    assert [q["id"] for q in hits[0].unit.payload["questions"]] == ["q1", "q2"]
    conditions = {
        (r.qualification.slug, r.comparator) for r in found.batch.requirements.all() if r.qualification
    }
    assert conditions == {("excluded", "DoesNotExist"), ("applied", "DoesNotExist")}
    assert Batch.objects.get(pk=found.batch_id).worker_limit == 1


def test_a_repeated_wish_launches_one_round(work: Work, six: list[Image]) -> None:
    first = qualification(work.project, six, 12, once="the same wish")
    assert qualification(work.project, six, 12, once="the same wish") == first
    assert QualificationRound.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_sets": []}, "at least one set"),
        ({"image_sets": [[1, 1, 2]]}, "3 different photos"),
        ({"applicants": 0}, "at least one"),
        ({"admission": Admission(PassRule(needed=10))}, "1 to 9 reasonable"),
        ({"admission": Admission(PassRule(exam_needed=1))}, "there are 0 questions"),
        ({"admission": Admission(PassRule(graders=3))}, "one or two"),
        ({"admission": Admission(countries=["XX"])}, "XX is no ISO"),
    ],
)
def test_what_nobody_could_pass_is_refused(
    work: Work, six: list[Image], change: dict[str, Any], message: str
) -> None:
    values: dict[str, Any] = {"image_sets": [[i.pk for i in six[:3]]], "applicants": 9}
    with pytest.raises(Refused, match=message):
        launch_qualification_round(project=work.project, by=None, **(values | change))
    assert not Batch.objects.exists()


def test_training_is_for_the_qualified_who_are_not_trained(work: Work, six: list[Image]) -> None:
    batch, _ = launch_training_round(
        project=work.project, images=[i.pk for i in six], places=20, by=None, countries=["US", "CA"]
    )
    rows = {(r.qualification.slug if r.qualification else "", r.comparator) for r in batch.requirements.all()}
    assert rows == {
        ("excluded", "DoesNotExist"),
        ("qualified", "Exists"),
        ("trained", "DoesNotExist"),
        ("", "In"),
    }
    assert sum(Hit.objects.filter(unit__batch=batch).values_list("max_assignments", flat=True)) == 20
    with pytest.raises(Refused, match="there are 6 for 3 places"):
        launch_training_round(project=work.project, images=[i.pk for i in six], places=3, by=None)


# --- who applied


def test_applicants_are_noted_once_by_several_processes(work: Work, found: QualificationRound) -> None:
    applied(work, found, "A")
    applied(work, found, "B")
    chosen = Hit.objects.filter(unit__batch=found.batch)[0]
    work.answered(chosen, "UNCONFIRMED", application(chosen.unit.payload), confirmed=False)
    from validation.services import applicants

    written = applicants._note(work.project.pk, Worker.objects.values_list("pk", flat=True), "local")
    again = applicants._note(work.project.pk, Worker.objects.values_list("pk", flat=True), "local")
    assert (len(written), again) == (2, [])
    names = Worker.objects.filter(pk__in=holders(work.project, Pool.APPLIED)).values_list(
        "worker_id", flat=True
    )
    assert set(names) == {"A", "B"}
    assert set(WorkerDecision.objects.values_list("reason", flat=True)) == {applicants.REASON}


def test_who_was_let_apply_again_is_not_noted_again(work: Work, found: QualificationRound) -> None:
    from validation.services import applicants

    worker = applied(work, found, "A").attempt.worker
    applicants._note(work.project.pk, [worker.pk], "local")
    qualifications.decide_about(
        project=work.project,
        worker=worker,
        action=WorkerAction.REVOKE,
        pool=Pool.APPLIED,
        reason="Try again, please.",
        by=None,
    )
    assert applicants._note(work.project.pk, [worker.pk], "local") == []
    assert holders(work.project, Pool.APPLIED) == set()


# --- grading


def test_pairs_wait_oldest_first_and_leave_when_graded(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    first, second = applied(work, found, "A"), applied(work, found, "B")
    look = desk(found, researcher)
    assert (look.waiting, look.place) == (18, 1)
    assert [card.key for card in look.cards] == [Key(s.pk, i) for s in (first, second) for i in range(9)]
    card = look.cards[4]
    assert (card.photo, card.photos, card.pair.number) == (2, 3, 2)
    assert card.image.id == first.answer["images"][1]["image"]
    assert "A" in card.description
    assert str(first.attempt.worker.worker_id) not in {card.worker}
    record(found=found, given=Given(look.cards[0].key, True), by=researcher)
    look = desk(found, researcher, after=Key(first.pk, 3))
    assert (look.waiting, look.cards[0].key) == (17, Key(first.pk, 4))
    look = desk(found, researcher, at=Key(first.pk, 0))
    assert (look.place, look.cards[0].mine is not None) == (0, True)
    assert len(look.cards) <= WINDOW


def test_the_latest_grade_of_a_grader_counts_and_repeats_write_nothing(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    key = Key(applied(work, found, "A").pk, 0)
    assert record(found=found, given=Given(key, True), by=researcher) is not None
    assert record(found=found, given=Given(key, True), by=researcher) is None
    record(found=found, given=Given(key, False, " Too  vague. "), by=researcher)
    assert list(Grade.objects.values_list("reasonable", "note")) == [(True, ""), (False, "Too vague.")]
    mine = desk(found, researcher, at=key).cards[0].mine
    assert mine is not None
    assert (mine.reasonable, mine.note) == (False, "Too vague.")


def test_a_grade_that_was_taken_back_waits_again(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    submission = applied(work, found, "A")
    grade(found, submission, researcher)
    key = Key(submission.pk, 4)
    assert [a.state for a in round_page(found, researcher).applicants] == ["ready"]
    for wrote in (True, False):
        assert (record(found=found, given=Given(key, None), by=researcher) is not None) is wrote
    assert [a.state for a in round_page(found, researcher).applicants] == ["waiting"]
    look = desk(found, researcher)
    assert [card.key for card in look.cards] == [key]
    assert look.cards[0].mine is None
    assert Grade.objects.filter(item=4).count() == 2  # nothing is erased


def test_a_second_grader_sees_nothing_before_grading(
    work: Work, six: list[Image], researcher: User, admin: User
) -> None:
    found = qualification(work.project, six, 12, rule=PassRule(graders=2))
    work.publish(found.batch)
    submission = applied(work, found, "A")
    grade(found, submission, researcher, reasonable=0, note="The clue is not in the photo.")
    look = desk(found, admin)
    assert look.waiting == 9
    assert all(card.mine is None and card.others == () for card in look.cards)
    assert "not in the photo" not in str([card.as_page() for card in look.cards])
    (row,) = round_page(found, admin).applicants
    assert not row.score.complete
    record(found=found, given=Given(Key(submission.pk, 0), True), by=admin)
    seen = desk(found, admin, at=Key(submission.pk, 0)).cards[0]
    assert [(said.name, said.reasonable) for said in seen.others] == [("rosa", False)]
    assert all(card.others == () for card in desk(found, admin).cards)


def test_one_grader_is_sent_past_what_a_colleague_is_at(
    work: Work, found: QualificationRound, researcher: User, admin: User
) -> None:
    first, second = applied(work, found, "A"), applied(work, found, "B")
    record(found=found, given=Given(Key(first.pk, 0), True), by=researcher)
    assert desk(found, admin).cards[0].key == Key(second.pk, 0)
    assert desk(found, researcher).cards[0].key == Key(first.pk, 1)
    assert desk(found, admin).waiting == 17


def test_two_who_differ_count_as_not_reasonable_until_a_third_or_a_change(
    work: Work, six: list[Image], researcher: User, admin: User, make_user: Any
) -> None:
    found = qualification(work.project, six, 12, rule=PassRule(graders=2))
    work.publish(found.batch)
    submission = applied(work, found, "A")
    grade(found, submission, researcher, reasonable=8, note="Too vague.")
    grade(found, submission, admin, reasonable=7, note="Could be anything.")

    def score() -> tuple[int, int, int]:
        look = round_page(found, researcher)
        (row,) = look.applicants
        return row.score.reasonable, len(look.disagreements), look.borderline

    assert score() == (7, 1, 1)
    third = make_user("tess", is_superuser=True)
    (open_one,) = round_page(found, third).disagreements
    assert (open_one.reasonable, open_one.not_reasonable) == ([], [])
    record(found=found, given=Given(Key(submission.pk, 7), True), by=third)
    assert score() == (8, 1, 0)
    record(found=found, given=Given(Key(submission.pk, 7), False), by=third)
    record(found=found, given=Given(Key(submission.pk, 7), True), by=admin)
    assert score() == (8, 1, 0)
    # The agreement stays what it was while both were blind: one of nine apart.
    agreement = round_page(found, researcher).agreement
    assert (agreement.same, agreement.of) == (8, 9)


def test_one_bad_grade_does_not_cost_the_others(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    submission = applied(work, found, "A")
    other = qualification(work.project, list(Image.objects.all()), 12)
    rows = [
        Given(Key(submission.pk, 0), True),
        Given(Key(submission.pk, 9), True),
        Given(Key(submission.pk, 1), False),
    ]
    refused = record_many(found=found, grades=rows, by=researcher)
    assert [row.given.key.item for row in refused] == [9]
    assert Grade.objects.count() == 2
    assert len(record_many(found=other, grades=rows, by=researcher)) == 3


# --- answering


@pytest.mark.parametrize(
    ("reasonable", "right", "passed"),
    [(9, 2, True), (8, 1, True), (7, 2, False), (9, 0, False)],
)
def test_who_passes(
    work: Work, six: list[Image], researcher: User, reasonable: int, right: int, passed: bool
) -> None:
    found = qualification(work.project, six, 12, exam=True, rule=PassRule(8, 1))
    work.publish(found.batch)
    submission = applied(work, found, "A", right=right)
    grade(found, submission, researcher, reasonable=reasonable, note="This says what is seen.")
    (outcome,) = answered(found, researcher)
    assert outcome.passed is passed
    assert (outcome.reasonable, outcome.graded, outcome.exam_right, outcome.exam_asked) == (
        reasonable,
        9,
        right,
        2,
    )
    assert outcome.rule == PassRule(8, 1).as_row()
    assert f"{reasonable} of 9 pairs were found reasonable, and 8 are needed" in outcome.reason
    assert f"You answered {right} of 2 questions correctly, and 1 is needed" in outcome.reason
    if reasonable < 8:
        assert "Photo 3, pair 2: This says what is seen." in outcome.reason
    decision = Decision.objects.get()
    assert (decision.verdict, decision.feedback) == ("approve", outcome.reason)
    change = StandingChange.objects.get()
    assert (change.standing, change.reason) == (
        Standing.QUALIFIED if passed else Standing.DECLINED,
        outcome.reason,
    )
    assert bool(holders(work.project, Pool.QUALIFIED)) is passed
    granted = WorkerDecision.objects.filter(qualification__slug=Pool.QUALIFIED.value)
    assert list(granted.values_list("value", flat=True)) == ([reasonable] if passed else [])


def test_a_fail_without_a_reason_is_not_answered(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    submission = applied(work, found, "A")
    grade(found, submission, researcher, reasonable=7)
    assert [a.state for a in round_page(found, researcher).applicants] == ["unexplained"]
    assert answered(found) == []
    record(found=found, given=Given(Key(submission.pk, 8), False, "Nothing points there."), by=researcher)
    (outcome,) = answered(found)
    assert "Photo 3, pair 3: Nothing points there." in outcome.reason


def test_after_the_answer_grades_no_longer_change(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    submission = applied(work, found, "A")
    grade(found, submission, researcher)
    assert len(answered(found)) == 1
    with pytest.raises(Conflict, match="answered already"):
        record(found=found, given=Given(Key(submission.pk, 0), False), by=researcher)
    assert answered(found) == []
    assert desk(found, researcher).cards == []
    assert unanswered_in(work.project) == 0


def test_rejected_work_is_neither_graded_nor_answered(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    submission = applied(work, found, "A", status=AssignmentStatus.REJECTED)
    assert desk(found, researcher).waiting == 0
    with pytest.raises(Refused, match="no such pair"):
        grade(found, submission, researcher)
    assert [a.state for a in round_page(found, researcher).applicants] == ["rejected"]
    assert [(line.came_in, line.to_answer) for line in round_lines(work.project)] == [(0, 0)]


def test_what_the_clock_approved_is_answered_without_a_second_payment(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    grade(found, applied(work, found, "A", status=AssignmentStatus.APPROVED), researcher)
    assert [outcome.passed for outcome in answered(found)] == [True]
    assert not Decision.objects.exists()
    assert holders(work.project, Pool.QUALIFIED)


@pytest.mark.parametrize(
    ("standing", "granted"),
    [(Standing.PAUSED, True), (Standing.DEQUALIFIED, False), (Standing.BLOCKED, False)],
)
def test_an_answer_lifts_no_pause(
    work: Work, found: QualificationRound, admin: User, standing: Standing, granted: bool
) -> None:
    from validation.services.worker_status import change_standing

    submission = applied(work, found, "A")
    worker = submission.attempt.worker
    change_standing(project=work.project, worker=worker, standing=standing, reason="Stopped.", by=admin)
    grade(found, submission, admin)
    assert len(answered(found)) == 1
    assert StandingChange.objects.get().standing == standing
    assert (worker.pk in holders(work.project, Pool.QUALIFIED)) is granted
