"""From applicant to trusted worker, over the in-process marketplace: real grades decide, each cent is paid.

The long run has the paper's figures (000 A.1): 297 passed, 31 of them did not come back, 266 finished training. How
many applied is not published; 400 is our number.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection

from curation.models import Pair
from hits.domain.crashpoints import EXIT_STATUS
from hits.domain.states import AssignmentStatus, BatchState, TrainingOutcome
from hits.domain.workers.qualification_pools import Pool
from hits.marketplace.errors import ActionRefused as MarketRefused
from hits.marketplace.models import Assignment as Slot
from hits.marketplace.models import Worker as MarketWorker
from hits.models import Assignment, Batch, Hit, Image, Job, Project, Qualification, Worker, WorkerDecision
from hits.mturk.boto import marketplace
from hits.payments import ledger
from hits.selectors.eligibility import eligibility
from hits.services.batches import lifecycle
from hits.services.outbox import outbox
from hits.services.publishing import publish
from hits.services.workers import qualifications
from tests.support import children, market
from tests.support.answers import observations
from tests.support.failing import leases_run_out
from tests.support.judging.applicants import application, grade, qualification
from tests.support.loop import collected
from validation import tasks
from validation.domain.qualification.outcome import PassRule
from validation.domain.qualification.worker_status import WorkerStatus
from validation.models import GradingOutcome, QualificationRound, StatusChange
from validation.selectors.worker_status import current_statuses
from validation.services import applicant_decisions, training
from validation.services.rounds import launch_training_round

pytestmark = pytest.mark.django_db(transaction=True)

FUNDS = 10_000_00
APPLIED_ONCE = "It can be taken once"
NOT_QUALIFIED = "qualified"
ANSWER = """
from hits.mturk.boto import marketplace
from validation.models import QualificationRound
from validation.services.applicant_decisions import decide_applicants
decide_applicants(qualification_round=QualificationRound.objects.get(), by=None, marketplace=marketplace())
"""


@dataclass
class ApplicantScenario:
    """A project whose applicants come in one after the other."""

    project: Project
    images: list[Image]
    grader: User
    people: list[MarketWorker] = field(default_factory=list)

    def opened(self, applicants: int, **more: Any) -> QualificationRound:
        """Launch and publish a qualification round, whatever it costs."""
        self.project.confirm_above_cents = 100_000_000
        self.project.save(update_fields=["confirm_above_cents"])
        found = qualification(self.project, self.images[:6], applicants, **more)
        publish.publish_batch(batch=found.batch, marketplace=marketplace())
        return found

    def apply(
        self, found: QualificationRound, applicants: int, *, right: Callable[[int], int | None]
    ) -> None:
        """Let everybody apply, filling one HIT after the other, and collect it."""
        hits = list(Hit.objects.filter(unit__batch=found.batch).select_related("unit").order_by("pk"))
        self.people = [market.market_worker(f"applicant{n:03d}") for n in range(applicants)]
        for n, person in enumerate(self.people):
            hit = hits[n // hits[0].max_assignments]
            market.work(hit, person, application(hit.unit.payload, salt=f"no {n}", right=right(n)))
        collected(found.batch)
        tasks.grant_applied_qualification()

    def grade(self, found: QualificationRound, *, reasonable: Callable[[int], int]) -> None:
        """Let the grader go through everybody."""
        rows = {row.worker.worker_id: row for row in _assignments(found.batch)}
        for n, person in enumerate(self.people):
            submission = rows[person.worker_id].submission
            assert submission is not None
            grade(
                found, submission, self.grader, reasonable=reasonable(n), note="The photo does not show it."
            )

    def answer(self, found: QualificationRound) -> Job:
        """Answer everybody as the worker process does, and let it settle what is queued."""
        job = applicant_decisions.request_applicant_decisions(qualification_round=found, by=self.grader)
        tasks.decide_applicants(job.pk)
        qualifications.settle_outstanding_decisions(marketplace=marketplace())
        job.refresh_from_db()
        return job

    def train(self, people: list[MarketWorker], places: int) -> Batch:
        """Launch training, let these people do it, and let the trainer call them ready."""
        ids = [image.pk for image in self.images]
        batch, _ = launch_training_round(project=self.project, images=ids, slots=places, by=None)
        publish.publish_batch(batch=batch, marketplace=marketplace())
        hits = list(Hit.objects.filter(unit__batch=batch).select_related("unit").order_by("pk"))
        for n, person in enumerate(people):
            market.work(hits[n // hits[0].max_assignments], person, observations(salt=f"no {n}"))
        collected(batch)
        for row in _assignments(batch):
            training.give_feedback(
                assignment=row,
                outcome=TrainingOutcome.COMPLETE,
                summary="Well done: each box holds its clue.",
                remarks=[],
                by=self.grader,
            )
        tasks_settle()
        return batch

    def hold(self, pool: Pool) -> tuple[set[str], set[str]]:
        """Return the marketplace ids of who holds a pool with us, and at the marketplace."""
        row = Qualification.objects.get(project=self.project, slug=pool.value)
        ours = Worker.objects.filter(pk__in=eligibility.pool_worker_ids(self.project, pool))
        theirs = {worker for worker, _ in market.list_holders(marketplace(), row.type_id)}
        return set(ours.values_list("worker_id", flat=True)), theirs


def _assignments(batch: Batch) -> list[Assignment]:
    rows = Assignment.objects.filter(hit__unit__batch=batch)
    return list(rows.select_related("hit__unit__batch__project", "worker", "submission").order_by("pk"))


def tasks_settle() -> None:
    outbox.settle_outstanding_calls(marketplace=marketplace())
    qualifications.settle_outstanding_decisions(marketplace=marketplace())


@pytest.fixture
def scenario(project: Project, make_image: Callable[..., Image], researcher: User) -> ApplicantScenario:
    market.fund(FUNDS)
    return ApplicantScenario(project, [make_image(n) for n in range(8)], researcher)


def walk(scenario: ApplicantScenario, *, apply: int, passing: Callable[[int], bool], stay_away: int) -> None:
    """Run the whole scenario; ``passing`` selects the applicants with eight or nine reasonable pairs."""
    found = scenario.opened(apply)
    scenario.apply(found, apply, right=lambda n: None)
    assert scenario.hold(Pool.APPLIED) == ({p.worker_id for p in scenario.people},) * 2

    scenario.grade(found, reasonable=lambda n: 8 + n % 2 if passing(n) else n % 8)
    job = scenario.answer(found)
    passed = [person for n, person in enumerate(scenario.people) if passing(n)]
    assert (job.state, job.result["passed"], job.result["declined"], job.result["outstanding"]) == (
        "done",
        len(passed),
        apply - len(passed),
        0,
    )
    assert scenario.hold(Pool.QUALIFIED) == ({p.worker_id for p in passed},) * 2
    reasonable = dict(
        GradingOutcome.objects.values_list("submission__attempt__worker__worker_id", "reasonable")
    )
    assert reasonable == {
        p.worker_id: 8 + n % 2 if passing(n) else n % 8 for n, p in enumerate(scenario.people)
    }
    for row in _assignments(found.batch):
        assert row.status == AssignmentStatus.APPROVED  # the honest are paid, passed or not

    spare = scenario.opened(2)  # nobody who applied may apply again
    with pytest.raises(MarketRefused, match=APPLIED_ONCE):
        market.accept(_last(spare.batch), scenario.people[0])

    comers = passed[: len(passed) - stay_away]
    batch = scenario.train(comers, places=len(passed))
    assert scenario.hold(Pool.TRAINED) == ({p.worker_id for p in comers},) * 2
    untrained = eligibility.pool_worker_ids(scenario.project, Pool.QUALIFIED) - eligibility.pool_worker_ids(
        scenario.project, Pool.TRAINED
    )
    assert len(untrained) == stay_away
    failed = next(person for n, person in enumerate(scenario.people) if not passing(n))
    with pytest.raises(MarketRefused, match=NOT_QUALIFIED):
        market.accept(_last(batch), failed)
    assert not Pair.objects.exists()  # neither applications nor training are part of a dataset
    _check_statuses(scenario, passed, comers)
    _close(spare.batch)
    _money_adds_up(scenario, found, batch, paid=apply, trained=len(comers))


def _last(batch: Batch) -> Hit:
    hit = Hit.objects.filter(unit__batch=batch).order_by("pk").last()
    assert hit is not None
    return hit


def _check_statuses(
    scenario: ApplicantScenario, passed: list[MarketWorker], comers: list[MarketWorker]
) -> None:
    names = dict(Worker.objects.values_list("worker_id", "pk"))
    found = current_statuses(scenario.project)
    expected = {p.worker_id: WorkerStatus.DECLINED for p in scenario.people}
    expected |= {p.worker_id: WorkerStatus.QUALIFIED for p in passed} | {
        p.worker_id: WorkerStatus.TRAINED for p in comers
    }
    assert {name: found[names[name]].status for name in expected} == expected


def _money_adds_up(
    scenario: ApplicantScenario, found: QualificationRound, batch: Batch, *, paid: int, trained: int
) -> None:
    assert ledger.sum_entries(batch=found.batch).reward == 200 * paid
    assert ledger.sum_entries(batch=batch).reward == 190 * trained
    _close(found.batch)
    _close(batch)
    spent = ledger.sum_entries(project=scenario.project).spent
    assert spent == 200 * paid + 190 * trained
    balance = marketplace().get_balance()
    assert (balance.available_cents, balance.on_hold_cents) == (FUNDS - spent, 0)


def _close(batch: Batch) -> None:
    lifecycle.request_close(batch=batch, by=None)
    lifecycle.expire_hits(batch=batch, marketplace=marketplace())
    batch.refresh_from_db()
    assert batch.state == BatchState.CLOSED
    assert ledger.sum_entries(batch=batch).held == 0


def test_applicants_end_to_end(scenario: ApplicantScenario) -> None:
    walk(scenario, apply=12, passing=lambda n: n % 4 != 3, stay_away=2)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_applicants_end_to_end_with_published_figures(scenario: ApplicantScenario) -> None:
    # 297 of 400, spread evenly: no block of applicants decides the figure.
    walk(scenario, apply=400, passing=lambda n: (n + 1) * 297 // 400 > n * 297 // 400, stay_away=31)
    assert len(eligibility.pool_worker_ids(scenario.project, Pool.APPLIED)) == 400
    assert len(eligibility.pool_worker_ids(scenario.project, Pool.QUALIFIED)) == 297
    assert len(eligibility.pool_worker_ids(scenario.project, Pool.TRAINED)) == 266


def test_an_exam_counts_beside_the_pairs(scenario: ApplicantScenario) -> None:
    found = scenario.opened(3, exam=True, rule=PassRule(8, 2), countries=("US", "CA"))
    scenario.apply(found, 3, right=lambda n: n)  # none, one, both right
    scenario.grade(found, reasonable=lambda n: 9)
    scenario.answer(found)
    assert scenario.hold(Pool.QUALIFIED) == ({scenario.people[2].worker_id},) * 2
    feedback = {row.worker.worker_id: row.decisions.get().feedback for row in _assignments(found.batch)}
    assert (
        "You answered 0 of 2 questions correctly, and 2 are needed" in feedback[scenario.people[0].worker_id]
    )
    shown = set(Slot.objects.exclude(feedback="").values_list("feedback", flat=True))
    assert shown == set(feedback.values())  # that is what they read at the marketplace


def test_deciding_twice_changes_nothing(scenario: ApplicantScenario) -> None:
    found = scenario.opened(3)
    scenario.apply(found, 3, right=lambda n: None)
    scenario.grade(found, reasonable=lambda n: 7 + n)
    scenario.answer(found)
    before = (
        GradingOutcome.objects.count(),
        StatusChange.objects.count(),
        ledger.sum_entries(batch=found.batch).spent,
    )
    done = applicant_decisions.decide_applicants(
        qualification_round=found, by=scenario.grader, marketplace=marketplace()
    )
    assert (done.passed, done.declined, done.outstanding) == (0, 0, 0)
    after = (
        GradingOutcome.objects.count(),
        StatusChange.objects.count(),
        ledger.sum_entries(batch=found.batch).spent,
    )
    assert after == before == (3, 3, 600)


def test_cancelled_job_leaves_complete_decisions_and_resumes(
    scenario: ApplicantScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applicant_decisions, "APPLICANTS_CHUNK_SIZE", 2)
    found = scenario.opened(6)
    scenario.apply(found, 6, right=lambda n: None)
    scenario.grade(found, reasonable=lambda n: 9)
    job = applicant_decisions.request_applicant_decisions(qualification_round=found, by=scenario.grader)
    real = applicant_decisions._settle_payment

    def pay(*args: Any) -> bool:
        Job.objects.filter(pk=job.pk).update(cancel_requested=True)
        return real(*args)

    monkeypatch.setattr(applicant_decisions, "_settle_payment", pay)
    tasks.decide_applicants(job.pk)
    job.refresh_from_db()
    assert (job.state, GradingOutcome.objects.count()) == ("cancelled", 2)
    monkeypatch.setattr(applicant_decisions, "_settle_payment", real)
    scenario.answer(found)
    assert GradingOutcome.objects.filter(passed=True).count() == 6
    assert ledger.sum_entries(batch=found.batch).reward == 1200
    assert len(scenario.hold(Pool.QUALIFIED)[1]) == 6


@pytest.mark.parametrize("point", ["answer.after_decision", "settle.after_intent", "settle.after_call"])
def test_killed_decision_is_completed_without_second_payment(scenario: ApplicantScenario, point: str) -> None:
    found = scenario.opened(3)
    scenario.apply(found, 3, right=lambda n: None)
    scenario.grade(found, reasonable=lambda n: 7 + n)
    died = children.run(ANSWER, DEERSTALKER_CRASH_AT=point)
    assert died.returncode == EXIT_STATUS, died.stderr
    assert GradingOutcome.objects.count() == 3
    assert ledger.sum_entries(batch=found.batch).reward == 0
    leases_run_out()
    again = children.run(ANSWER)
    assert again.returncode == 0, again.stderr
    qualifications.settle_outstanding_decisions(marketplace=marketplace())
    assert GradingOutcome.objects.count() == StatusChange.objects.count() == 3
    assert ledger.sum_entries(batch=found.batch).reward == 600
    assert marketplace().get_balance().available_cents == FUNDS - 600
    assert scenario.hold(Pool.QUALIFIED) == ({p.worker_id for p in scenario.people[1:]},) * 2


def at_once(*calls: Callable[[], Any]) -> list[BaseException]:
    """Run calls in threads that begin together; return what they raised."""
    raised: list[BaseException] = []
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> None:
        gate.wait()
        try:
            call()
        except BaseException as error:
            raised.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_parallel_processes_record_and_decide_once(scenario: ApplicantScenario) -> None:
    found = scenario.opened(4)
    hits = list(Hit.objects.filter(unit__batch=found.batch).select_related("unit").order_by("pk"))
    scenario.people = [market.market_worker(f"applicant{n}") for n in range(4)]
    for n, person in enumerate(scenario.people):
        hit = hits[n // hits[0].max_assignments]
        market.work(hit, person, application(hit.unit.payload, salt=f"no {n}"))
    collected(found.batch)
    assert at_once(*[tasks.grant_applied_qualification] * 3) == []
    granted = WorkerDecision.objects.filter(qualification__slug=Pool.APPLIED)
    assert granted.count() == 4

    scenario.grade(found, reasonable=lambda n: 6 + n)

    def answer() -> None:
        applicant_decisions.decide_applicants(
            qualification_round=found, by=scenario.grader, marketplace=marketplace()
        )

    assert at_once(*[answer] * 3) == []
    tasks_settle()
    assert GradingOutcome.objects.count() == StatusChange.objects.count() == 4
    assert ledger.sum_entries(batch=found.batch).reward == 800
    assert marketplace().get_balance().available_cents == FUNDS - 800
    assert len(scenario.hold(Pool.QUALIFIED)[1]) == 2


def test_parallel_grades_and_decision_are_consistent(scenario: ApplicantScenario, admin: User) -> None:
    found = scenario.opened(2, rule=PassRule(graders=2))
    scenario.apply(found, 2, right=lambda n: None)
    submissions = [row.submission for row in _assignments(found.batch) if row.submission is not None]
    raised = at_once(
        *(
            lambda grader=grader: [grade(found, one, grader, reasonable=9) for one in submissions]
            for grader in (scenario.grader, admin)
        ),
        lambda: applicant_decisions.decide_applicants(
            qualification_round=found, by=None, marketplace=marketplace()
        ),
    )
    assert raised == []
    applicant_decisions.decide_applicants(qualification_round=found, by=None, marketplace=marketplace())
    outcomes = GradingOutcome.objects.values_list("reasonable", "graded", "passed")
    assert list(outcomes) == [(9, 9, True)] * 2  # never from a part of the grades


def test_the_command_launches_both_kinds_of_rounds(
    scenario: ApplicantScenario, tmp_path: Path, capsys: Any
) -> None:
    exam = tmp_path / "exam.json"
    exam.write_text('[{"text": "Which?", "choices": ["This", "That"], "right": 2}]')
    common = ["--project", scenario.project.slug, "--assignments", "10", "--json"]
    call_command(
        "launch_round", "qualification", *common, "--sets", "2", "--exam", str(exam), "--exam-needed", "1"
    )
    output = json.loads(capsys.readouterr().out)
    assert (output["hits"], output["assignments"], output["state"]) == (2, 10, "live")
    found = QualificationRound.objects.get()
    assert (found.needed, found.exam_needed, found.batch_id) == (8, 1, output["batch"])
    unit = found.batch.units.first()
    assert unit is not None
    assert unit.payload["questions"][0]["right"] == 1
    call_command("launch_round", "training", *common, "--limit", "5", "--countries", "US,CA")
    output = json.loads(capsys.readouterr().out)
    batch = Batch.objects.get(pk=output["batch"])
    assert (batch.kind, output["assignments"]) == ("sherlock_training", 10)
    assert batch.units.values("images").distinct().count() == 5
