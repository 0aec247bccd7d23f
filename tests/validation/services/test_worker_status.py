"""Changes of worker status, end to end with the marketplace in process: what they open, close, revoke and restore."""

import uuid
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from hits.domain.states import AssignmentStatus, ReviewVerdict, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator
from hits.marketplace.errors import ActionRefused as MarketRefused
from hits.marketplace.models import Worker as MarketWorker
from hits.models import Assignment, Batch, Hit, Image, Project, Worker, WorkerCall, WorkerDecision
from hits.models.base import AppendOnlyError
from hits.mturk.boto import marketplace
from hits.mturk.port import Failure, MarketplaceError
from hits.selectors.eligibility.eligibility import pool_worker_ids
from hits.services.collecting import submit
from hits.services.collecting.submit import NotEligible
from hits.services.errors import Conflict, Refused
from hits.services.launching.terms import Eligibility, LaunchTerms, PlannedRequirement
from hits.services.reviewing import review
from hits.services.workers.qualifications import CALL_TIMEOUT, decide_on_worker, settle_outstanding_decisions
from tests.support.answers import observations
from tests.support.loop import approve, collected, page_key, published
from tests.support.market import accept, fund, list_blocks, list_holders, market_worker, submit_form, work
from tests.support.refusals import batch_refusals
from validation.domain.qualification.worker_status import WorkerStatus
from validation.models import StatusChange
from validation.selectors.worker_status import current_status, current_statuses
from validation.services.worker_status import change_worker_status, settle_worker_calls

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "Your last ten boxes cover the whole photo."


@pytest.fixture
def batch(project: Project, make_image: Callable[..., Image]) -> Batch:
    fund()
    return published(project, [make_image(seed) for seed in range(3)], terms=LaunchTerms(redundancy=3))


@pytest.fixture
def wilma() -> MarketWorker:
    return market_worker()


@pytest.fixture
def worker(wilma: MarketWorker) -> Worker:
    return Worker.objects.create(environment="local", worker_id=wilma.worker_id)


def hits_of(batch: Batch) -> list[Hit]:
    return list(Hit.objects.filter(unit__batch=batch).order_by("pk"))


def put(
    project: Project, worker: Worker, status: WorkerStatus, by: User | None, reason: str = WHY
) -> StatusChange:
    change = change_worker_status(project=project, worker=worker, status=status, reason=reason, by=by)
    assert settle_worker_calls(project=project, worker=worker, marketplace=marketplace()) == []
    return change


def hold(project: Project, worker: Worker, *pools: Pool, value: int | None = None) -> None:
    for pool in pools:
        decide_on_worker(
            project=project,
            worker=worker,
            action=WorkerAction.GRANT,
            pool=pool,
            reason="Nine of nine.",
            by=None,
            value=value,
        )
    settle_outstanding_decisions(marketplace=marketplace())


def worth_there(project: Project, pool: Pool) -> dict[str, int]:
    port = marketplace()
    type_id = port.find_qualification_type(f"{project.slug}: {pool.value}")
    return dict(list_holders(port, type_id)) if type_id else {}


def held_there(project: Project, pool: Pool) -> set[str]:
    return set(worth_there(project, pool))


def test_pause_excludes_the_worker_and_pays_work_in_progress(
    project: Project, batch: Batch, wilma: MarketWorker, worker: Worker, researcher: User
) -> None:
    first, second, third = hits_of(batch)
    task = accept(first, wilma)
    key = page_key(first, task.slot.assignment_id, wilma.worker_id)
    submit.record_consent(key=key, version=1, country="US")
    change_worker_status(
        project=project, worker=worker, status=WorkerStatus.PAUSED, reason=WHY, by=researcher
    )
    # Before anything is settled our own pages refuse what is new already.
    with pytest.raises(NotEligible, match="cover the whole photo"):
        submit.open_attempt(page_key(second, "ASECOND", wilma.worker_id))
    settle_outstanding_decisions(marketplace=marketplace())
    with pytest.raises(MarketRefused):
        accept(third, wilma)
    stored, _ = submit.store_submission(
        key=key, client_uuid=uuid.uuid4(), answer=observations(), active_seconds=60.0
    )
    submit_form(task, stored)
    (assignment,) = collected(batch)
    approve(assignment)
    assignment.refresh_from_db()
    assert assignment.status == AssignmentStatus.APPROVED
    place = current_status(worker, project)
    assert (place.status, place.reason, place.by) == (WorkerStatus.PAUSED, WHY, "rosa")


def test_reinstated_worker_gets_tasks(
    project: Project, batch: Batch, wilma: MarketWorker, worker: Worker, researcher: User
) -> None:
    put(project, worker, WorkerStatus.PAUSED, researcher)
    assert held_there(project, Pool.EXCLUDED) == {wilma.worker_id}
    put(project, worker, WorkerStatus.ACTIVE, researcher, "We talked it over.")
    assert held_there(project, Pool.EXCLUDED) == set()
    assert batch_refusals(worker, batch) == []
    work(hits_of(batch)[0], wilma)
    collected(batch)
    place = current_status(worker, project)
    assert (place.status, place.reason) == (WorkerStatus.ACTIVE, "Submitted their first task.")


def test_dequalifying_revokes_pools_and_reinstating_restores_them(
    project: Project, batch: Batch, wilma: MarketWorker, worker: Worker, researcher: User
) -> None:
    hold(project, worker, Pool.QUALIFIED, value=9)
    hold(project, worker, Pool.TRAINED)
    put(project, worker, WorkerStatus.TRAINED, researcher, "Ready.")
    put(project, worker, WorkerStatus.DEQUALIFIED, researcher)
    assert pool_worker_ids(project, Pool.EXCLUDED) == {worker.pk}
    for pool in (Pool.QUALIFIED, Pool.TRAINED):
        assert pool_worker_ids(project, pool) == set()
        assert held_there(project, pool) == set()
    taken = WorkerDecision.objects.filter(worker=worker, action=WorkerAction.REVOKE)
    assert {row.reason for row in taken} == {WHY}
    put(project, worker, WorkerStatus.TRAINED, researcher, "Talked it over.")
    assert worth_there(project, Pool.QUALIFIED) == {wilma.worker_id: 9}
    assert worth_there(project, Pool.TRAINED) == {wilma.worker_id: 1}
    assert held_there(project, Pool.EXCLUDED) == set()


def test_dequalifying_ignores_pools_that_were_never_held(
    project: Project, batch: Batch, worker: Worker, researcher: User
) -> None:
    hold(project, worker, Pool.QUALIFIED)
    put(project, worker, WorkerStatus.DEQUALIFIED, researcher)
    assert not WorkerDecision.objects.filter(qualification__slug=Pool.TRAINED).exists()
    put(project, worker, WorkerStatus.TRAINED, researcher, "Talked it over.")
    assert pool_worker_ids(project, Pool.QUALIFIED) == {worker.pk}
    assert pool_worker_ids(project, Pool.TRAINED) == set()


def test_only_an_admin_blocks_and_unblocks(
    project: Project, batch: Batch, wilma: MarketWorker, worker: Worker, researcher: User, admin: User
) -> None:
    for nobody in (researcher, None):
        with pytest.raises(Refused, match="Only an admin"):
            put(project, worker, WorkerStatus.BLOCKED, nobody)
    assert not StatusChange.objects.exists()
    assert not WorkerDecision.objects.exists()
    put(project, worker, WorkerStatus.BLOCKED, admin)
    assert [worker_id for worker_id, _ in list_blocks(marketplace())] == [wilma.worker_id]
    with pytest.raises(MarketRefused):
        accept(hits_of(batch)[0], wilma)
    for back in (WorkerStatus.ACTIVE, WorkerStatus.PAUSED):
        with pytest.raises(Refused, match="Only an admin"):
            put(project, worker, back, researcher, "Back.")
    put(project, worker, WorkerStatus.PAUSED, admin, "A pause is enough.")
    assert list_blocks(marketplace()) == []
    assert held_there(project, Pool.EXCLUDED) == {wilma.worker_id}


def test_status_change_requires_a_reason_and_a_settable_status(
    project: Project, worker: Worker, researcher: User
) -> None:
    with pytest.raises(Refused, match="the worker reads it"):
        put(project, worker, WorkerStatus.PAUSED, researcher, "  ")
    with pytest.raises(Refused, match="1000 or fewer"):
        put(project, worker, WorkerStatus.PAUSED, researcher, "a" * 1001)
    for derived in (WorkerStatus.NONE, WorkerStatus.APPLIED):
        with pytest.raises(Refused, match="cannot be set"):
            put(project, worker, derived, researcher)
    assert not WorkerDecision.objects.exists()


def test_repeating_a_lost_request_writes_nothing_twice(
    project: Project, worker: Worker, researcher: User, admin: User
) -> None:
    first = put(project, worker, WorkerStatus.PAUSED, researcher)
    assert put(project, worker, WorkerStatus.PAUSED, admin).pk == first.pk
    with pytest.raises(Conflict, match="is paused already"):
        put(project, worker, WorkerStatus.PAUSED, admin, "Another reason.")
    assert WorkerDecision.objects.count() == WorkerCall.objects.count() == 1


def test_status_changes_are_append_only(project: Project, worker: Worker, researcher: User) -> None:
    change = put(project, worker, WorkerStatus.PAUSED, researcher)
    change.reason = "Kinder words."
    with pytest.raises(AppendOnlyError):
        change.save()
    with pytest.raises(AppendOnlyError):
        change.delete()
    with pytest.raises(AppendOnlyError):
        StatusChange.objects.update(reason="")


def test_status_follows_submissions_until_a_decision(
    project: Project, batch: Batch, wilma: MarketWorker, worker: Worker, researcher: User
) -> None:
    assert current_status(worker, project).status is WorkerStatus.NONE
    work(hits_of(batch)[0], wilma)
    assert current_status(worker, project).status is WorkerStatus.NONE  # not confirmed by the marketplace yet
    (assignment,) = collected(batch)
    place = current_status(worker, project)
    assert (place.status, place.since) == (WorkerStatus.ACTIVE, assignment.submitted_at)
    put(project, worker, WorkerStatus.DEQUALIFIED, researcher)
    assert current_statuses(project)[worker.pk].status is WorkerStatus.DEQUALIFIED
    put(project, worker, WorkerStatus.TRAINED, researcher, "Talked it over.")
    place = current_status(worker, project)
    assert (place.status, place.reason, place.by) == (WorkerStatus.ACTIVE, "Talked it over.", "rosa")


def test_rejected_work_does_not_exclude_the_worker(
    project: Project, batch: Batch, wilma: MarketWorker, worker: Worker
) -> None:
    work(hits_of(batch)[0], wilma)
    (assignment,) = collected(batch)
    decision = review.decide_assignment(
        assignment=assignment, verdict=ReviewVerdict.REJECT, by=None, feedback="No box fits."
    )
    review.settle_decision(decision=decision, marketplace=marketplace())
    assert current_status(worker, project).status is WorkerStatus.ACTIVE
    assert Assignment.objects.get().status == AssignmentStatus.REJECTED


def test_pause_does_not_affect_other_projects(
    project: Project, rehearsal: Project, worker: Worker, researcher: User
) -> None:
    put(project, worker, WorkerStatus.PAUSED, researcher)
    assert current_status(worker, rehearsal).status is WorkerStatus.NONE


def test_refused_call_is_reported_and_stays_outstanding(
    project: Project, worker: Worker, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = marketplace()

    def down(*args: object) -> None:
        raise MarketplaceError(Failure.UNREACHABLE, "no answer")

    change_worker_status(
        project=project, worker=worker, status=WorkerStatus.PAUSED, reason=WHY, by=researcher
    )
    with monkeypatch.context() as patch:
        patch.setattr(port, "grant", down)
        (message,) = settle_worker_calls(project=project, worker=worker, marketplace=port)
    assert "no answer" in message
    (message,) = settle_worker_calls(project=project, worker=worker, marketplace=port)
    assert "still outstanding" in message  # the lost call may still arrive
    WorkerCall.objects.update(attempt_at=timezone.now() - CALL_TIMEOUT)
    assert settle_worker_calls(project=project, worker=worker, marketplace=port) == []
    assert held_there(project, Pool.EXCLUDED) == {worker.worker_id}


def test_only_trained_workers_see_tasks_of_the_pool(
    project: Project, make_image: Callable[..., Image], wilma: MarketWorker, worker: Worker, researcher: User
) -> None:
    fund()
    eligibility = Eligibility(requirements=(PlannedRequirement(Pool.TRAINED, Comparator.EXISTS),))
    closed = published(project, [make_image(9)], terms=LaunchTerms(eligibility=eligibility))
    hold(project, worker, Pool.TRAINED)
    assert batch_refusals(worker, closed) == []
    put(project, worker, WorkerStatus.DEQUALIFIED, researcher)
    reasons = " ".join(batch_refusals(worker, closed))
    assert "was taken back on" in reasons
    assert reasons.count(WHY) == 2  # why no new tasks, and why the qualification is gone
