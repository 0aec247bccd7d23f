"""Qualification rounds by rows alone: places, the pass rule, blind grading, disagreements, answers."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from hits.domain.states import AssignmentStatus, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.models import Batch, Decision, Hit, Image, Submission, Worker, WorkerDecision
from hits.selectors.eligibility.eligibility import pool_worker_ids
from hits.services.errors import Conflict, Refused
from hits.services.workers import qualifications
from tests.support.judging.applicants import application, grade, qualification
from tests.support.judging.work import Work
from validation.domain.qualification.outcome import PassRule
from validation.domain.qualification.worker_status import WorkerStatus
from validation.models import Grade, GradingOutcome, QualificationRound, StatusChange
from validation.selectors.grading import MAX_CARDS, PairKey, grading_queue
from validation.selectors.rounds import count_waiting_applicants, round_overview, round_rows
from validation.services.applicant_decisions import _decide_chunk, _ready_applicants
from validation.services.grading import GradeInput, save_grade, save_grades
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
    return _decide_chunk(found, [a.first_key.submission for a in _ready_applicants(found)], by)


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


def test_repeated_request_launches_one_round(work: Work, six: list[Image]) -> None:
    first = qualification(work.project, six, 12, idempotency_key="the same key")
    assert qualification(work.project, six, 12, idempotency_key="the same key") == first
    assert QualificationRound.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_sets": []}, "at least one set"),
        ({"image_sets": [[1, 1, 2]]}, "use three photos; it has 2 different ones"),
        ({"applicants": 0}, "assignments: use at least 1"),
        ({"admission": Admission(PassRule(needed=10))}, "1 to 9 reasonable"),
        ({"admission": Admission(PassRule(exam_needed=1))}, "there are 0 questions"),
        ({"admission": Admission(PassRule(graders=3))}, "use 1 or 2"),
        ({"admission": Admission(countries=["XX"])}, "XX is not an ISO"),
    ],
)
def test_impassable_round_is_refused(
    work: Work, six: list[Image], change: dict[str, Any], message: str
) -> None:
    values: dict[str, Any] = {"image_sets": [[i.pk for i in six[:3]]], "applicants": 9}
    with pytest.raises(Refused, match=message):
        launch_qualification_round(project=work.project, by=None, **(values | change))
    assert not Batch.objects.exists()


def test_training_requires_qualified_and_untrained_workers(work: Work, six: list[Image]) -> None:
    batch, _ = launch_training_round(
        project=work.project, images=[i.pk for i in six], slots=20, by=None, countries=["US", "CA"]
    )
    rows = {(r.qualification.slug if r.qualification else "", r.comparator) for r in batch.requirements.all()}
    assert rows == {
        ("excluded", "DoesNotExist"),
        ("qualified", "Exists"),
        ("trained", "DoesNotExist"),
        ("", "In"),
    }
    assert sum(Hit.objects.filter(unit__batch=batch).values_list("max_assignments", flat=True)) == 20
    with pytest.raises(Refused, match="there are 6 for 3 assignments"):
        launch_training_round(project=work.project, images=[i.pk for i in six], slots=3, by=None)


# --- who applied


def test_parallel_processes_record_applicants_once(work: Work, found: QualificationRound) -> None:
    applied(work, found, "A")
    applied(work, found, "B")
    chosen = Hit.objects.filter(unit__batch=found.batch)[0]
    work.answered(chosen, "UNCONFIRMED", application(chosen.unit.payload), confirmed=False)
    from validation.services import applicants

    written = applicants._grant_to_workers(
        work.project.pk, Worker.objects.values_list("pk", flat=True), "local"
    )
    again = applicants._grant_to_workers(
        work.project.pk, Worker.objects.values_list("pk", flat=True), "local"
    )
    assert (len(written), again) == (2, [])
    names = Worker.objects.filter(pk__in=pool_worker_ids(work.project, Pool.APPLIED)).values_list(
        "worker_id", flat=True
    )
    assert set(names) == {"A", "B"}
    assert set(WorkerDecision.objects.values_list("reason", flat=True)) == {applicants.APPLIED_REASON}


def test_applicant_with_revoked_grant_is_not_recorded_again(work: Work, found: QualificationRound) -> None:
    from validation.services import applicants

    worker = applied(work, found, "A").attempt.worker
    applicants._grant_to_workers(work.project.pk, [worker.pk], "local")
    qualifications.decide_on_worker(
        project=work.project,
        worker=worker,
        action=WorkerAction.REVOKE,
        pool=Pool.APPLIED,
        reason="Try again, please.",
        by=None,
    )
    assert applicants._grant_to_workers(work.project.pk, [worker.pk], "local") == []
    assert pool_worker_ids(work.project, Pool.APPLIED) == set()


# --- grading


def test_grading_queue_is_oldest_first_without_graded_pairs(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    first, second = applied(work, found, "A"), applied(work, found, "B")
    look = grading_queue(found, researcher)
    assert (look.waiting, look.position) == (18, 1)
    assert [card.key for card in look.cards] == [PairKey(s.pk, i) for s in (first, second) for i in range(9)]
    card = look.cards[4]
    assert (card.photo_number, card.photo_count, card.pair.number) == (2, 3, 2)
    assert card.image.id == first.answer["images"][1]["image"]
    assert "A" in card.pair.caption[1]
    assert str(first.attempt.worker.worker_id) not in {card.worker}
    save_grade(qualification_round=found, grade=GradeInput(look.cards[0].key, True), by=researcher)
    look = grading_queue(found, researcher, after=PairKey(first.pk, 3))
    assert (look.waiting, look.cards[0].key) == (17, PairKey(first.pk, 4))
    look = grading_queue(found, researcher, start=PairKey(first.pk, 0))
    assert (look.position, look.cards[0].own_grade is not None) == (0, True)
    assert len(look.cards) <= MAX_CARDS


def test_the_latest_grade_of_a_grader_counts_and_repeats_write_nothing(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    key = PairKey(applied(work, found, "A").pk, 0)
    assert save_grade(qualification_round=found, grade=GradeInput(key, True), by=researcher) is not None
    assert save_grade(qualification_round=found, grade=GradeInput(key, True), by=researcher) is None
    save_grade(qualification_round=found, grade=GradeInput(key, False, " Too  vague. "), by=researcher)
    assert list(Grade.objects.values_list("reasonable", "note")) == [(True, ""), (False, "Too vague.")]
    mine = grading_queue(found, researcher, start=key).cards[0].own_grade
    assert mine is not None
    assert (mine.reasonable, mine.note) == (False, "Too vague.")


def test_pair_with_a_withdrawn_grade_waits_again(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    submission = applied(work, found, "A")
    grade(found, submission, researcher)
    key = PairKey(submission.pk, 4)
    assert [a.state for a in round_overview(found, researcher).submissions] == ["ready"]
    for wrote in (True, False):
        assert (
            save_grade(qualification_round=found, grade=GradeInput(key, None), by=researcher) is not None
        ) is wrote
    assert [a.state for a in round_overview(found, researcher).submissions] == ["waiting"]
    look = grading_queue(found, researcher)
    assert [card.key for card in look.cards] == [key]
    assert look.cards[0].own_grade is None
    assert Grade.objects.filter(item=4).count() == 2  # nothing is erased


def test_second_grader_grades_blind(work: Work, six: list[Image], researcher: User, admin: User) -> None:
    found = qualification(work.project, six, 12, rule=PassRule(graders=2))
    work.publish(found.batch)
    submission = applied(work, found, "A")
    grade(found, submission, researcher, reasonable=0, note="The clue is not in the photo.")
    look = grading_queue(found, admin)
    assert look.waiting == 9
    assert all(card.own_grade is None and card.other_grades == () for card in look.cards)
    assert "not in the photo" not in str([card.as_page_dict() for card in look.cards])
    (row,) = round_overview(found, admin).submissions
    assert not row.score.is_complete
    save_grade(qualification_round=found, grade=GradeInput(PairKey(submission.pk, 0), True), by=admin)
    seen = grading_queue(found, admin, start=PairKey(submission.pk, 0)).cards[0]
    assert [(grade.name, grade.reasonable) for grade in seen.other_grades] == [("rosa", False)]
    assert all(card.other_grades == () for card in grading_queue(found, admin).cards)


def test_queue_skips_submissions_of_a_colleague(
    work: Work, found: QualificationRound, researcher: User, admin: User
) -> None:
    first, second = applied(work, found, "A"), applied(work, found, "B")
    save_grade(qualification_round=found, grade=GradeInput(PairKey(first.pk, 0), True), by=researcher)
    assert grading_queue(found, admin).cards[0].key == PairKey(second.pk, 0)
    assert grading_queue(found, researcher).cards[0].key == PairKey(first.pk, 1)
    assert grading_queue(found, admin).waiting == 17


def test_pair_with_differing_grades_is_not_reasonable(
    work: Work, six: list[Image], researcher: User, admin: User, make_user: Any
) -> None:
    found = qualification(work.project, six, 12, rule=PassRule(graders=2))
    work.publish(found.batch)
    submission = applied(work, found, "A")
    grade(found, submission, researcher, reasonable=8, note="Too vague.")
    grade(found, submission, admin, reasonable=7, note="Could be anything.")

    def score() -> tuple[int, int, int]:
        look = round_overview(found, researcher)
        (row,) = look.submissions
        return row.score.reasonable, len(look.disagreements), look.borderline_count

    assert score() == (7, 1, 1)
    third = make_user("tess", is_superuser=True)
    (open_one,) = round_overview(found, third).disagreements
    assert (open_one.reasonable, open_one.not_reasonable) == ([], [])
    save_grade(qualification_round=found, grade=GradeInput(PairKey(submission.pk, 7), True), by=third)
    assert score() == (8, 1, 0)
    save_grade(qualification_round=found, grade=GradeInput(PairKey(submission.pk, 7), False), by=third)
    save_grade(qualification_round=found, grade=GradeInput(PairKey(submission.pk, 7), True), by=admin)
    assert score() == (8, 1, 0)
    # The agreement stays what it was while both were blind: one of nine apart.
    agreement = round_overview(found, researcher).agreement
    assert (agreement.same, agreement.total) == (8, 9)


def test_refused_grade_does_not_affect_others(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    submission = applied(work, found, "A")
    other = qualification(work.project, list(Image.objects.all()), 12)
    rows = [
        GradeInput(PairKey(submission.pk, 0), True),
        GradeInput(PairKey(submission.pk, 9), True),
        GradeInput(PairKey(submission.pk, 1), False),
    ]
    refused = save_grades(qualification_round=found, grades=rows, by=researcher)
    assert [row.grade.key.item for row in refused] == [9]
    assert Grade.objects.count() == 2
    assert len(save_grades(qualification_round=other, grades=rows, by=researcher)) == 3


# --- answering


@pytest.mark.parametrize(
    ("reasonable", "right", "passed"),
    [(9, 2, True), (8, 1, True), (7, 2, False), (9, 0, False)],
)
def test_pass_rule_decides_outcome(
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
    change = StatusChange.objects.get()
    assert (change.status, change.reason) == (
        WorkerStatus.QUALIFIED if passed else WorkerStatus.DECLINED,
        outcome.reason,
    )
    assert bool(pool_worker_ids(work.project, Pool.QUALIFIED)) is passed
    granted = WorkerDecision.objects.filter(qualification__slug=Pool.QUALIFIED.value)
    assert list(granted.values_list("value", flat=True)) == ([reasonable] if passed else [])


def test_fail_without_remark_is_not_ready(work: Work, found: QualificationRound, researcher: User) -> None:
    submission = applied(work, found, "A")
    grade(found, submission, researcher, reasonable=7)
    assert [a.state for a in round_overview(found, researcher).submissions] == ["unexplained"]
    assert answered(found) == []
    save_grade(
        qualification_round=found,
        grade=GradeInput(PairKey(submission.pk, 8), False, "Nothing points there."),
        by=researcher,
    )
    (outcome,) = answered(found)
    assert "Photo 3, pair 3: Nothing points there." in outcome.reason


def test_grades_are_fixed_after_the_decision(work: Work, found: QualificationRound, researcher: User) -> None:
    submission = applied(work, found, "A")
    grade(found, submission, researcher)
    assert len(answered(found)) == 1
    with pytest.raises(Conflict, match="has a decision already"):
        save_grade(
            qualification_round=found, grade=GradeInput(PairKey(submission.pk, 0), False), by=researcher
        )
    assert answered(found) == []
    assert grading_queue(found, researcher).cards == []
    assert count_waiting_applicants(work.project) == 0


def test_rejected_work_is_neither_graded_nor_decided(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    submission = applied(work, found, "A", status=AssignmentStatus.REJECTED)
    assert grading_queue(found, researcher).waiting == 0
    with pytest.raises(Refused, match="no such pair"):
        grade(found, submission, researcher)
    assert [a.state for a in round_overview(found, researcher).submissions] == ["rejected"]
    assert [(line.submitted, line.without_decision) for line in round_rows(work.project)] == [(0, 0)]


def test_auto_approved_submission_is_not_paid_twice(
    work: Work, found: QualificationRound, researcher: User
) -> None:
    grade(found, applied(work, found, "A", status=AssignmentStatus.APPROVED), researcher)
    assert [outcome.passed for outcome in answered(found)] == [True]
    assert not Decision.objects.exists()
    assert pool_worker_ids(work.project, Pool.QUALIFIED)


@pytest.mark.parametrize(
    ("status", "granted"),
    [(WorkerStatus.PAUSED, True), (WorkerStatus.DEQUALIFIED, False), (WorkerStatus.BLOCKED, False)],
)
def test_decision_does_not_lift_a_pause(
    work: Work, found: QualificationRound, admin: User, status: WorkerStatus, granted: bool
) -> None:
    from validation.services.worker_status import change_worker_status

    submission = applied(work, found, "A")
    worker = submission.attempt.worker
    change_worker_status(project=work.project, worker=worker, status=status, reason="Stopped.", by=admin)
    grade(found, submission, admin)
    assert len(answered(found)) == 1
    assert StatusChange.objects.get().status == status
    assert (worker.pk in pool_worker_ids(work.project, Pool.QUALIFIED)) is granted
