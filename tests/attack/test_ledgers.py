"""Both ledgers match to the cent after random actions of staff, scripts, workers and clocks, with faults."""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models import Count

from annotation_site.ledgers import compare_ledgers
from hits.domain.states import (
    AssignmentStatus,
    BatchState,
    CallState,
    MismatchRemedy,
    ReviewVerdict,
    SubmissionMatch,
)
from hits.marketplace.errors import ActionRefused as MarketRefused
from hits.marketplace.models import BonusPayment
from hits.marketplace.services import attempts
from hits.models import Assignment, Batch, Extension, Hit, Image, Job, OutgoingCall, Project, TopUp
from hits.mturk import boto
from hits.mturk.boto import marketplace
from hits.mturk.port import MarketplaceError
from hits.payments import ledger
from hits.services.batches import extensions, lifecycle, top_up
from hits.services.collecting import assignment_sync
from hits.services.errors import Refused
from hits.services.jobs.jobs import cancel_job, leased_job
from hits.services.launching.terms import LaunchTerms
from hits.services.outbox import outbox
from hits.services.reconciling import reconcile, remedies
from hits.services.reviewing import review
from hits.tasks import sync_live_batches
from tests.support import faults, market
from tests.support.answers import observations
from tests.support.failing import Later, leases_run_out
from tests.support.faults import KINDS, Plan
from tests.support.loop import page_key, published, store
from tests.support.marketplace_clock import reset_clock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.clock]
MakeImage = Callable[..., Image]
DEPOSIT = 200_000
# Each is met more often in a row than one call repeats itself, so that it ends with its reply lost or refused.
_FAULTY_OPERATIONS = (
    "ApproveAssignment",
    "RejectAssignment",
    "SendBonus",
    "CreateAdditionalAssignmentsForHIT",
)
_OTHER_FAULTY_OPERATIONS = (
    "UpdateExpirationForHIT",
    "DeleteHIT",
    "CreateHITWithHITType",
    "ListAssignmentsForHIT",
)


@pytest.fixture
def plan(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plan]:
    """Return a plan of faults that this process follows; boto3 repeats without a pause."""
    settings.MTURK_INPROCESS_TRANSPORT = "tests.support.faults.attach"
    monkeypatch.setenv(faults.ENVIRONMENT, "")
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr("hits.services.publishing.rate_limit.time.sleep", lambda _: None, raising=False)
    boto._local.__dict__.clear()
    yield Plan(tmp_path / "faults.json").write()
    boto._local.__dict__.clear()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[Later]:
    """Return both clocks."""
    yield Later(monkeypatch)
    reset_clock()


class LedgerScenario:
    """One batch, five workers, and everything that can happen to them."""

    def __init__(self, batch: Batch, seed: int, plan: Plan, later: Later) -> None:
        self.batch = batch
        self.draw = random.Random(seed)
        self.plan = plan
        self.later = later
        self.workers = [market.market_worker(f"worker{number}") for number in range(9)]
        self.in_hand: list[Any] = []
        self.log: list[str] = []

    def step(self) -> None:
        """Let one thing happen, over a line that may be bad."""
        steps: list[Callable[[], None]] = [
            *[self.work] * 6, self.accept, self.submit, self.return_assignment, self.submit_other_answer,
            *[self.sync] * 3, *[self.decide] * 4, self.approve_all, self.override, *[self.settle] * 2,
            self.script_decides, self.script_overrides, self.advance_time, self.sweep, self.top_up, self.pay_top_up,
            self.stop_top_up, self.extend, self.execute_extension, self.retry, self.resolve,
        ]  # fmt: skip
        if self.draw.random() < 0.012:
            steps = [self.stop_offering]
        chosen_step = self.draw.choice(steps)
        self.log.append(chosen_step.__name__)
        self.inject_faults()
        try:
            chosen_step()
        except (Refused, MarketRefused, MarketplaceError) as error:
            self.log[-1] += f" ({type(error).__name__}: {error})"
        finally:
            self.plan.faults = {}
            self.plan.write()

    def inject_faults(self) -> None:
        """Make the line bad, now and then."""
        found: dict[str, list[str]] = {}
        for operation in (*_FAULTY_OPERATIONS, *_OTHER_FAULTY_OPERATIONS):
            if self.draw.random() < 0.25:
                kind = self.draw.choice(KINDS)
                found[operation] = [kind] * self.draw.choice([1, 12])
        if found:
            self.log[-1] += f" with {found}".replace("'", "")
            self.plan.write(**found)

    # --- workers

    def work(self) -> None:
        worker = self.draw.choice(self.workers)
        pairs, seconds = self.draw.choice([3, 4, 5]), self.draw.choice([60.0, 400.0, 900.0])
        market.work(self.pick_hit(), worker, observations(pairs), active_seconds=seconds)

    def accept(self) -> None:
        self.in_hand.append(market.accept(self.pick_hit(), self.draw.choice(self.workers)))

    def submit(self) -> None:
        task = self.pop()
        if task is not None:
            key = page_key(task.hit, task.slot.assignment_id, task.worker.worker_id)
            market.submit_form(task, store(key, observations(4), active_seconds=300.0))

    def submit_other_answer(self) -> None:
        """A page of theirs, or a script: the answer names no submission of ours, or not this one."""
        task = self.pop()
        if task is None:
            return
        key = page_key(task.hit, task.slot.assignment_id, task.worker.worker_id)
        row = store(key, observations(3))
        market.submit_form(task, row, **self.draw.choice([{"sha256": "0" * 64}, {"submission_id": "none"}]))

    def return_assignment(self) -> None:
        task = self.pop()
        if task is not None:
            attempts.return_task(
                worker=task.worker, assignment_id=task.slot.assignment_id, now=market.Clock.now()
            )

    def pop(self) -> Any:
        return self.in_hand.pop(self.draw.randrange(len(self.in_hand))) if self.in_hand else None

    def pick_hit(self) -> Hit:
        rows = list(Hit.objects.exclude(hit_id=None).order_by("pk"))
        return self.draw.choice(rows)

    # --- our people

    def sync(self) -> None:
        assignment_sync.sync_batch(batch=self.batch, marketplace=marketplace())

    def decide(self) -> None:
        row = self.pick_assignment(status=AssignmentStatus.SUBMITTED)
        if row is None:
            return
        verdict = self.draw.choice([ReviewVerdict.APPROVE, ReviewVerdict.APPROVE, ReviewVerdict.REJECT])
        decision = review.decide_assignment(assignment=row, verdict=verdict, by=None, feedback="Boxes miss.")
        if self.draw.random() < 0.7:
            review.settle_decision(decision=decision, marketplace=marketplace())

    def approve_all(self) -> None:
        lifecycle.approve_waiting_assignments(batch=self.batch, by=None, marketplace=marketplace())

    def override(self) -> None:
        row = self.pick_assignment(status=AssignmentStatus.REJECTED)
        if row is not None:
            decision = review.override_rejection(assignment=row, by=None)
            review.settle_decision(decision=decision, marketplace=marketplace())

    def settle(self) -> None:
        if self.draw.random() < 0.5:
            leases_run_out()
        outbox.settle_outstanding_calls(marketplace=marketplace())

    def retry(self) -> None:
        refused = OutgoingCall.objects.filter(state=CallState.REFUSED)
        call = refused.exclude(decision=None).order_by("pk").first()
        if call is not None:
            lifecycle.retry_refused_calls(decision=call.decision, by=None)
        elif refused.exclude(extension=None).exists():
            extensions.retry_extension(batch=self.batch, by=None)

    def resolve(self) -> None:
        found = Assignment.objects.exclude(match=SubmissionMatch.MATCHED).order_by("pk")
        row = self.draw.choice(list(found)) if found else None
        if row is not None:
            remedy = self.draw.choice([MismatchRemedy.APPROVE, MismatchRemedy.REJECT])
            _, decision = remedies.resolve_assignment(assignment=row, remedy=remedy, note="seen", by=None)
            if decision is not None:
                review.settle_decision(decision=decision, marketplace=marketplace())

    def top_up(self) -> None:
        top_up.top_up_batch(batch=self.batch, by=None, marketplace=marketplace())

    def pay_top_up(self) -> None:
        for row in TopUp.objects.all():
            job = Job.objects.get(task=top_up.TASK, args__top_up=row.pk)
            with leased_job(job.pk) as progress:
                if progress is not None:
                    top_up.settle_top_up(top_up=row, marketplace=marketplace(), progress=progress)

    def stop_top_up(self) -> None:
        job = Job.objects.filter(task=top_up.TASK, state="queued").first()
        if job is not None:
            cancel_job(job=job)
            top_up.refuse_calls_if_stopped(job=job)

    def extend(self) -> None:
        more, days = self.draw.choice([(1, 0), (2, 3), (0, 2), (5, 1)])
        if Extension.objects.count() < 4:
            Job.objects.filter(task=extensions.TASK).update(state="done")
            extensions.extend_batch(
                batch=self.batch, more_redundancy=more, more_seconds=days * 86_400, by=None
            )

    def execute_extension(self) -> None:
        leases_run_out()
        extensions.execute_extensions(batch=Batch.objects.get(pk=self.batch.pk), marketplace=marketplace())

    def stop_offering(self) -> None:
        lifecycle.request_close(batch=self.batch, by=None)
        lifecycle.expire_hits(batch=self.batch, marketplace=marketplace())

    def sweep(self) -> None:
        sync_live_batches()

    # --- from outside

    def script_decides(self) -> None:
        row = self.pick_assignment(status=AssignmentStatus.SUBMITTED)
        if row is not None and self.draw.random() < 0.5:
            marketplace().approve(row.assignment_id, "by a script")
        elif row is not None:
            marketplace().reject(row.assignment_id, "by a script")

    def script_overrides(self) -> None:
        row = self.pick_assignment(status=AssignmentStatus.REJECTED)
        if row is not None:
            marketplace().approve(row.assignment_id, "by a script", override=True)

    def advance_time(self) -> None:
        self.later.by(self.draw.choice([timedelta(minutes=6), timedelta(hours=3), timedelta(days=2)]))
        if self.draw.random() < 0.15:
            self.later.by(timedelta(days=8))

    def pick_assignment(self, **filters: Any) -> Assignment | None:
        rows = list(Assignment.objects.filter(**filters).select_related("hit__unit__batch__project"))
        return self.draw.choice(rows) if rows else None

    # --- what has to hold

    def check(self) -> None:
        """Let everything on its way arrive, and compare both ledgers."""
        leases_run_out()
        outbox.settle_outstanding_calls(marketplace=marketplace())
        batch = Batch.objects.get(pk=self.batch.pk)
        with suppress(Refused):
            if batch.state == BatchState.CLOSING:
                lifecycle.expire_hits(batch=batch, marketplace=marketplace())
            else:
                extensions.execute_extensions(batch=batch, marketplace=marketplace())
        outbox.settle_outstanding_calls(marketplace=marketplace())
        found = reconcile.reconcile_batch(batch=batch, marketplace=marketplace())
        trail = "\n".join(self.log)
        assert compare_ledgers().agrees, f"{compare_ledgers().as_json()} after\n{trail}"
        sums, balance = ledger.sum_entries(batch=batch), marketplace().get_balance()
        assert sums.held == balance.on_hold_cents, trail
        assert DEPOSIT - sums.spent - sums.held == balance.available_cents, trail
        assert found.cents_ours == found.cents_marketplace, (found.cents_ours, found.cents_marketplace, trail)
        assert not [row for row in found.findings if row["what"] != "surplus"], trail
        self.check_bonuses(trail)

    def check_bonuses(self, trail: str) -> None:
        """Nobody gets the bonus of one submission twice, and no top-up twice."""
        earned = BonusPayment.objects.filter(reason__startswith="Your further")
        twice = earned.values("assignment").annotate(n=Count("pk")).filter(n__gt=1)
        assert not twice, trail
        paid = BonusPayment.objects.exclude(reason__startswith="Your further").count()
        assert paid == OutgoingCall.objects.exclude(top_up=None).filter(state=CallState.DONE).count(), trail


SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(4, 12))]
STEPS = 60


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_both_ledgers_agree_after_any_sequence(
    seed: int, project: Project, make_image: MakeImage, plan: Plan, later: Later, settings: Any
) -> None:
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    market.fund(DEPOSIT)
    Project.objects.filter(pk=project.pk).update(confirm_above_cents=2_000_000_000)
    terms = LaunchTerms(reward_cents=45, bonus_cents=7, redundancy=4)
    batch = published(project, [make_image(number) for number in range(5)], terms=terms)
    story = LedgerScenario(batch, seed, plan, later)
    for _ in range(STEPS):
        story.step()
        if story.draw.random() < 0.4:
            story.check()
    story.check()
