"""Decisions about workers: written first, settled in order, checked again when a page opens."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from hits.domain.states import CallState, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator
from hits.marketplace.errors import ActionRefused as MarketRefused
from hits.marketplace.models import Message
from hits.marketplace.models import Worker as MarketWorker
from hits.marketplace.operations import registry
from hits.models import Batch, Hit, Image, Project, Worker, WorkerCall, WorkerDecision
from hits.models.base import AppendOnlyError
from hits.mturk.boto import marketplace
from hits.mturk.port import Failure, MarketplaceError
from hits.selectors.eligibility.eligibility import pool_worker_ids, worker_holdings
from hits.services.collecting import assignment_sync, submit
from hits.services.collecting.submit import NotEligible
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import Eligibility, LaunchTerms, PlannedRequirement
from hits.services.publishing.publish import publish_batch
from hits.services.workers.qualifications import (
    CALL_TIMEOUT,
    decide_on_worker,
    settle_decision,
    settle_outstanding_decisions,
)
from tests.support.answers import observations
from tests.support.loop import collected, page_key, store
from tests.support.market import accept, fund, list_blocks, list_holders, market_worker, submit_form, work
from tests.support.refusals import batch_refusals

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def launched(project: Project, make_image: Callable[..., Image]) -> Callable[..., Batch]:
    """Return a maker of published batches with the access given."""
    fund()

    def launch(*requirements: PlannedRequirement, photos: int = 2, **eligibility: int) -> Batch:
        images = [make_image(seed) for seed in range(photos)]
        batch, _ = launch_batch(
            project=project,
            kind_name="sherlock_observation",
            name="A batch",
            units=[PlannedUnit(f"u{image.pk}", {"image": image.pk}) for image in images],
            by=None,
            terms=LaunchTerms(
                redundancy=2, eligibility=Eligibility(requirements=requirements, **eligibility)
            ),
        )
        publish_batch(batch=batch, marketplace=marketplace())
        batch.refresh_from_db()
        return batch

    return launch


def _ours(worker: MarketWorker) -> Worker:
    return Worker.objects.get_or_create(environment="local", worker_id=worker.worker_id)[0]


def _decide(
    project: Project, worker: Worker, action: WorkerAction, pool: Pool | None = None
) -> WorkerDecision:
    decision = decide_on_worker(
        project=project, worker=worker, action=action, pool=pool, reason="Nine of nine.", by=None
    )
    assert settle_decision(decision=decision, marketplace=marketplace())
    return decision


def _held_there(pool: Pool) -> set[str]:
    port = marketplace()
    type_id = port.find_qualification_type(f"street-scenes: {pool.value}")
    assert type_id is not None
    return {worker_id for worker_id, _ in list_holders(port, type_id)}


def test_a_grant_opens_a_batch_here_and_on_the_marketplace(
    project: Project, launched: Callable[..., Batch]
) -> None:
    batch = launched(PlannedRequirement(Pool.TRAINED, Comparator.EXISTS))
    hit = Hit.objects.filter(unit__batch=batch).first()
    assert hit is not None
    worker = market_worker()
    with pytest.raises(MarketRefused, match="trained"):
        accept(hit, worker)
    assert batch_refusals(_ours(worker), batch) == [
        "This task needs 'street-scenes: trained'. Granted after this project's training task "
        "if a trainer decides that you are ready."
    ]
    _decide(project, _ours(worker), WorkerAction.GRANT, Pool.TRAINED)
    assert batch_refusals(_ours(worker), batch) == []
    assert pool_worker_ids(project, Pool.TRAINED) == {_ours(worker).pk}
    assert _held_there(Pool.TRAINED) == {worker.worker_id}
    assert work(hit, worker).attempt.worker == _ours(worker)


@pytest.mark.parametrize("pool", list(Pool))
def test_every_grant_is_silent(
    project: Project, launched: Callable[..., Batch], monkeypatch: pytest.MonkeyPatch, pool: Pool
) -> None:
    """A grant suppresses Amazon's e-mail, since our own messages notify workers."""
    launched()
    sent: list[dict[str, Any]] = []
    find = registry.find_handler

    def listening(operation: str) -> Any:
        carry_out = find(operation)
        if operation != "AssociateQualificationWithWorker":
            return carry_out
        return lambda call, params: (sent.append(params), carry_out(call, params))[1]

    monkeypatch.setattr(registry, "find_handler", listening)
    worker = _ours(market_worker())
    _decide(project, worker, WorkerAction.GRANT, pool)
    assert _held_there(pool) == {worker.worker_id}
    assert [params["SendNotification"] for params in sent] == [False]
    # What a worker has to act on is told in our own words; nothing else is.
    assert Message.objects.count() == (pool in {Pool.EXCLUDED, Pool.COMPENSATION})


def test_exclusion_applies_without_a_launch_requirement_and_lets_open_work_finish(
    project: Project, launched: Callable[..., Batch]
) -> None:
    first, second = Hit.objects.filter(unit__batch=launched()).order_by("pk")
    worker = market_worker()
    task = accept(first, worker)
    key = page_key(first, task.slot.assignment_id, worker.worker_id)
    submit.record_consent(key=key, version=1, country="US")
    _decide(project, _ours(worker), WorkerAction.GRANT, Pool.EXCLUDED)
    stored, _ = submit.store_submission(
        key=key, client_uuid=uuid.uuid4(), answer=observations(), active_seconds=9.0
    )
    submit_form(task, stored)
    with pytest.raises(MarketRefused):
        accept(second, worker)
    with pytest.raises(
        NotEligible, match=r"no new tasks of this project\. This was decided on .*Nine of nine"
    ):
        submit.open_attempt(page_key(second, "ASOMETHING", worker.worker_id))
    _decide(project, _ours(worker), WorkerAction.REVOKE, Pool.EXCLUDED)
    assert batch_refusals(_ours(worker), second.unit.batch) == []
    accept(second, worker)


def test_a_hard_block_refuses_with_its_reason_until_it_is_lifted(
    project: Project, launched: Callable[..., Batch]
) -> None:
    hit = Hit.objects.filter(unit__batch=launched()).first()
    assert hit is not None
    worker = market_worker()
    _decide(project, _ours(worker), WorkerAction.BLOCK)
    assert batch_refusals(_ours(worker), hit.unit.batch) == [
        "You are blocked from this project's tasks: Nine of nine."
    ]
    with pytest.raises(MarketRefused):
        accept(hit, worker)
    assert [worker_id for worker_id, _ in list_blocks(marketplace())] == [worker.worker_id]
    _decide(project, _ours(worker), WorkerAction.UNBLOCK)
    accept(hit, worker)


def test_worker_limit_of_one_counts_from_the_first_accept(launched: Callable[..., Batch]) -> None:
    batch = launched(worker_limit=1)
    first, second = Hit.objects.filter(unit__batch=batch).order_by("pk")
    worker = market_worker()
    task = accept(first, worker)
    with pytest.raises(MarketRefused, match="You have accepted or done it already"):
        accept(second, worker)
    key = page_key(task.hit, task.slot.assignment_id, worker.worker_id)
    submit_form(task, store(key, observations()))
    with pytest.raises(MarketRefused, match="You have accepted or done it already"):
        accept(second, worker)
    collected(batch)
    assert "Each worker can do this once. You have accepted or done it already." in batch_refusals(
        _ours(worker), batch
    )


def test_a_country_that_is_not_on_the_list_is_refused_once_it_is_known(
    launched: Callable[..., Batch],
) -> None:
    batch = launched(PlannedRequirement(None, Comparator.IN, ("US", "CA")))
    hit = Hit.objects.filter(unit__batch=batch).first()
    assert hit is not None
    worker = market_worker()  # the marketplace believes what was declared there
    task = accept(hit, worker)
    key = page_key(hit, task.slot.assignment_id, worker.worker_id)
    with pytest.raises(NotEligible, match="open in United States and Canada"):
        submit.record_consent(key=key, version=1, country="FR")
    with pytest.raises(NotEligible, match="open in United States and Canada"):
        submit.store_submission(key=key, client_uuid=uuid.uuid4(), answer=observations(), active_seconds=1.0)
    other = market_worker("carla")
    submit.record_consent(key=page_key(hit, "ASOMETHING", other.worker_id), version=1, country="ca")
    assert worker_holdings(_ours(other), batch.project).country == "CA"


@pytest.mark.parametrize("bad", ["XX", "USA", "1"])
def test_a_country_is_one_of_the_list(launched: Callable[..., Batch], bad: str) -> None:
    hit = Hit.objects.filter(unit__batch=launched()).first()
    assert hit is not None
    with pytest.raises(Refused, match="country"):
        submit.record_consent(key=page_key(hit, "ASOMETHING", "AWORKER"), version=1, country=bad)


def test_later_of_two_decisions_wins_in_any_settling_order(
    project: Project, launched: Callable[..., Batch]
) -> None:
    launched()
    worker = _ours(market_worker())
    facts = {"project": project, "worker": worker, "pool": Pool.EXCLUDED, "reason": "A reason", "by": None}
    grant = decide_on_worker(action=WorkerAction.GRANT, **facts)
    revoke = decide_on_worker(action=WorkerAction.REVOKE, **facts)
    assert settle_decision(decision=revoke, marketplace=marketplace())
    assert settle_decision(decision=grant, marketplace=marketplace())  # overtaken: nothing is sent
    assert _held_there(Pool.EXCLUDED) == set()
    assert WorkerCall.objects.get(decision=grant).error


def test_a_later_decision_waits_for_an_earlier_call_that_may_still_arrive(
    project: Project, launched: Callable[..., Batch]
) -> None:
    launched()
    worker = _ours(market_worker())
    facts = {"project": project, "worker": worker, "pool": Pool.EXCLUDED, "reason": "A reason", "by": None}
    grant = decide_on_worker(action=WorkerAction.GRANT, **facts)
    revoke = decide_on_worker(action=WorkerAction.REVOKE, **facts)
    WorkerCall.objects.filter(decision=grant).update(state=CallState.INTENT, attempt_at=timezone.now())
    assert not settle_decision(decision=revoke, marketplace=marketplace())
    WorkerCall.objects.filter(decision=grant).update(attempt_at=timezone.now() - 2 * CALL_TIMEOUT)
    assert settle_outstanding_decisions(marketplace=marketplace()) == 2
    assert _held_there(Pool.EXCLUDED) == set()


def test_a_lost_reply_is_repeated_and_a_refusal_is_kept(
    project: Project, launched: Callable[..., Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    launched()
    worker = _ours(market_worker())
    port = marketplace()
    decision = decide_on_worker(
        project=project, worker=worker, action=WorkerAction.GRANT, pool=Pool.EXCLUDED, reason="Why", by=None
    )
    failures = [Failure.UNREACHABLE, Failure.REFUSED]

    def fail(*arguments: object) -> None:
        raise MarketplaceError(failures.pop(0), "no such luck")

    with monkeypatch.context() as patch:
        patch.setattr(type(port), "grant", fail)
        assert settle_outstanding_decisions(marketplace=port) == 0
        assert WorkerCall.objects.get(decision=decision).state == CallState.INTENT
        assert settle_outstanding_decisions(marketplace=port) == 0  # the lost one may still arrive
        assert failures == [Failure.REFUSED]
        WorkerCall.objects.update(attempt_at=timezone.now() - CALL_TIMEOUT)
        assert settle_outstanding_decisions(marketplace=port) == 0
    call = WorkerCall.objects.get(decision=decision)
    assert (call.state, call.error) == (CallState.REFUSED, "no such luck")


def test_a_decision_needs_a_reason_and_is_never_rewritten(project: Project, admin: User) -> None:
    worker = Worker.objects.create(environment="local", worker_id="AWORKER")
    facts = {"project": project, "worker": worker, "by": admin}
    with pytest.raises(Refused, match="reason: write the reason"):
        decide_on_worker(action=WorkerAction.GRANT, pool=Pool.TRAINED, reason="  ", **facts)
    with pytest.raises(Refused, match="qualification"):
        decide_on_worker(action=WorkerAction.GRANT, reason="Why", **facts)
    decision = decide_on_worker(action=WorkerAction.GRANT, pool=Pool.TRAINED, reason="Why", **facts)
    decision.reason = "Another"
    with pytest.raises(AppendOnlyError):
        decision.save()
    assert project.events.filter(action="worker.grant", subject=str(worker.pk)).count() == 1


def test_batch_launched_before_requirements_existed_is_synced(
    launched: Callable[..., Batch],
) -> None:
    batch = launched()
    hit = Hit.objects.filter(unit__batch=batch).first()
    assert hit is not None
    work(hit, market_worker())
    assert assignment_sync.sync_batch(batch=batch, marketplace=marketplace()).matched == 1
