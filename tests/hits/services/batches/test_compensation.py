"""Compensation for lost work: one task for one worker, once, with a message."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.models import Pair
from hits.domain.states import AssignmentStatus, MismatchRemedy, SubmissionMatch, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.marketplace.errors import ActionRefused as MarketRefused
from hits.marketplace.models import Message
from hits.models import (
    Assignment,
    Attempt,
    Batch,
    Hit,
    Image,
    Project,
    Qualification,
    Resolution,
    Submission,
    Worker,
    WorkerDecision,
)
from hits.mturk.boto import marketplace
from hits.payments import ledger
from hits.selectors.console import count_waiting_assignments
from hits.services.batches import compensation
from hits.services.collecting import assignment_sync
from hits.services.errors import Conflict, Refused
from hits.services.publishing import publish
from hits.services.reconciling import remedies
from hits.services.workers.qualifications import decide_on_worker, settle_outstanding_decisions
from hits.tasks import sync_live_batches
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import page_key, published, store
from tests.support.proof import SECRET

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("attempts_are_proven")]
MakeImage = Callable[..., Image]


class Case:
    """A worker whose answer was stored, and never reached the marketplace."""

    def __init__(self, project: Project, image: Image) -> None:
        market.fund()
        self.batch = published(project, [image])
        hit = Hit.objects.get(unit__batch=self.batch)
        self.worker = market.market_worker("unlucky")
        task = market.accept(hit, self.worker)
        key = page_key(hit, task.slot.assignment_id, self.worker.worker_id)
        self.submission: Submission = store(key, observations(5))
        ago = timedelta(seconds=self.batch.duration_seconds, hours=1, minutes=1)
        Attempt.objects.update(opened_at=timezone.now() - ago)
        self.look()

    @property
    def ours(self) -> Worker:
        """The worker's row on our side."""
        return self.submission.attempt.worker

    def look(self) -> None:
        """Ask the marketplace, and forget what was read before."""
        for batch in Batch.objects.filter(state="live"):
            assignment_sync.sync_batch(batch=batch, marketplace=marketplace())
        self.submission = Submission.objects.get(pk=self.submission.pk)


@pytest.fixture
def case(project: Project, make_image: MakeImage) -> Case:
    return Case(project, make_image(1))


def _compensated(case: Case, by: Any = None) -> Hit:
    """Compensate and carry it to the marketplace; return the task that pays."""
    resolution = compensation.compensate_submission(
        submission=case.submission, note="The network broke.", by=by
    )
    settle_outstanding_decisions(marketplace=marketplace())
    publish.publish_batch(batch=resolution.compensation, marketplace=marketplace())
    return Hit.objects.get(unit__batch=resolution.compensation)


def test_compensation_notifies_and_pays_the_worker_what_the_work_would_have_paid(
    case: Case, researcher: User, project: Project
) -> None:
    hit = _compensated(case, researcher)
    assert (hit.unit.batch.reward_cents, hit.max_assignments) == (110 + 2 * 15, 1)
    assert hit.unit.payload["submission"] == str(case.submission.pk)
    (message,) = Message.objects.all()
    assert message.worker == case.worker
    assert "pays $1.40" in message.text
    with pytest.raises(MarketRefused):
        market.accept(hit, market.market_worker("somebody else"))
    market.work(hit, case.worker, {"mine": True})
    case.look()
    paid = Assignment.objects.get(hit=hit)
    assert paid.match == SubmissionMatch.MATCHED
    assert count_waiting_assignments(project) == 0  # nobody has to review it
    sync_live_batches()
    paid.refresh_from_db()
    assert paid.status == AssignmentStatus.APPROVED
    assert ledger.sum_entries(batch=hit.unit.batch).spent == 140
    assert compensation.approve_submitted_compensations(marketplace=marketplace()) == 0
    assert not Pair.objects.exists()
    (resolution,) = Resolution.objects.all()
    assert (resolution.remedy, resolution.decided_by, resolution.note) == (
        MismatchRemedy.COMPENSATE,
        researcher,
        "The network broke.",
    )


def test_second_press_compensates_once(case: Case, researcher: User, admin: User) -> None:
    compensation.compensate_submission(submission=case.submission, note="Lost.", by=researcher)
    with pytest.raises(Conflict, match="has a decision already"):
        compensation.compensate_submission(submission=case.submission, note="Lost.", by=admin)
    with pytest.raises(Conflict):
        remedies.close_without_payment(submission=case.submission, note="No.", by=admin)
    assert Batch.objects.filter(kind="compensation").count() == 1
    assert WorkerDecision.objects.count() == Resolution.objects.count() == 1


def test_simultaneous_presses_compensate_once(case: Case, monkeypatch: Any) -> None:
    # Both have looked before either wrote.
    monkeypatch.setattr(compensation, "_check_can_compensate", lambda submission, note: None)
    compensation.compensate_submission(submission=case.submission, note="Lost.", by=None)
    with pytest.raises(Conflict, match="Somebody else"):
        compensation.compensate_submission(submission=case.submission, note="Lost.", by=None)
    assert Batch.objects.filter(kind="compensation").count() == 1
    assert WorkerDecision.objects.count() == Resolution.objects.count() == 1


def test_two_compensations_of_one_worker_stay_open_side_by_side(
    case: Case, project: Project, make_image: MakeImage
) -> None:
    second = published(project, [make_image(2)])
    hit = Hit.objects.get(unit__batch=second)
    task = market.accept(hit, case.worker)
    other = store(page_key(hit, task.slot.assignment_id, case.worker.worker_id), observations(3))
    Attempt.objects.update(opened_at=timezone.now() - timedelta(hours=5))
    case.look()
    first = _compensated(case)
    case.submission = Submission.objects.get(pk=other.pk)
    later = _compensated(case)
    for hit in (later, first):
        market.work(hit, case.worker, {"mine": True})
    case.look()
    assert compensation.approve_submitted_compensations(marketplace=marketplace()) == 2


def test_submission_that_may_arrive_or_arrived_is_not_compensated(
    project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    stored = market.work(Hit.objects.get(), market.market_worker())
    for _ in range(2):
        fresh = Submission.objects.get(pk=stored.pk)
        with pytest.raises(Refused, match="may still list this submission"):
            compensation.compensate_submission(submission=fresh, note="Lost.", by=None)
        assignment_sync.sync_batch(batch=batch, marketplace=marketplace())
        Attempt.objects.update(opened_at=timezone.now() - timedelta(days=1))
    assert not Batch.objects.filter(kind="compensation").exists()


def test_excluded_worker_is_compensated_and_blocked_worker_is_refused(case: Case, project: Project) -> None:
    facts = {"project": project, "worker": case.ours, "reason": "Why", "by": None}
    decide_on_worker(action=WorkerAction.GRANT, pool=Pool.EXCLUDED, **facts)
    decide_on_worker(action=WorkerAction.BLOCK, **facts)
    with pytest.raises(Refused, match="lift the block first"):
        compensation.compensate_submission(submission=case.submission, note="Lost.", by=None)
    decide_on_worker(action=WorkerAction.UNBLOCK, **facts)
    hit = _compensated(case)
    market.work(hit, case.worker, {"mine": True})
    assert not Qualification.objects.get(slug=Pool.COMPENSATION).name.endswith(case.worker.worker_id)


def test_compensation_page_names_the_work_and_asks_for_one_tick(case: Case) -> None:
    hit = _compensated(case)
    task = market.accept(hit, case.worker)
    frame = Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"))
    query = {
        "assignmentId": task.slot.assignment_id,
        "hitId": str(hit.hit_id),
        "turkSubmitTo": f"{settings.PUBLIC_URL}/a/{SECRET}",
    }
    url = reverse("hit-page", args=[hit.unit.public_id])
    page = frame.get(url, query | {"workerId": case.worker.worker_id})
    assert page.status_code == 200
    assert "it did not reach the marketplace" in page.text
    assert "Submit for $1.40" in page.text
    assert frame.get(url, query | {"workerId": "ASOMEBODYELSE"}).status_code == 403
    with pytest.raises(ValueError, match="mine"):
        store(page_key(hit, task.slot.assignment_id, case.worker.worker_id), {"mine": False})
