"""Decisions, extensions and closings superseded by another process: nothing stays unpaid, held or running."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.utils import timezone

from annotation_site.ledgers import compare_ledgers
from hits.domain.states import BatchState, HitState, ReviewVerdict
from hits.marketplace.models import HIT, BonusPayment
from hits.models import Assignment, Batch, Hit, Image, Job, Project
from hits.mturk.boto import BotoMarketplace, marketplace
from hits.payments import ledger
from hits.services.batches import extensions, lifecycle
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.launching.terms import LaunchTerms
from hits.services.money import budget
from hits.services.outbox import outbox
from hits.services.reconciling import reconcile
from hits.services.reviewing import results_upload, review
from hits.tasks import extend_batch as extend_task
from hits.tasks import sync_live_batches
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import collected, page_key, published, store

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]


@pytest.fixture
def batch(project: Project, make_image: MakeImage) -> Batch:
    """Return a live batch of one unit for three workers, with a bonus."""
    market.fund()
    return published(
        project, [make_image(1)], terms=LaunchTerms(reward_cents=100, bonus_cents=10, redundancy=3)
    )


def waiting(batch: Batch) -> Assignment:
    market.work(Hit.objects.get(), market.market_worker(), observations(5))
    return collected(batch)[0]


def test_bonus_is_paid_when_auto_approval_precedes_rejection(batch: Batch) -> None:
    row = waiting(batch)
    decision = review.decide_assignment(
        assignment=row, verdict=ReviewVerdict.REJECT, by=None, feedback="Boxes miss."
    )
    marketplace().approve(row.assignment_id, "")
    with pytest.raises(Refused, match="approved and paid the submission before"):
        review.settle_decision(decision=decision, marketplace=marketplace())
    for _ in range(2):
        sync_live_batches()
    sync_live_batches()
    assert list(BonusPayment.objects.values_list("amount_cents", flat=True)) == [20]
    assert compare_ledgers().agrees


def test_rejection_by_script_can_be_overridden(batch: Batch) -> None:
    row = waiting(batch)
    decision = review.decide_assignment(assignment=row, verdict=ReviewVerdict.APPROVE, by=None)
    marketplace().reject(row.assignment_id, "by a script")
    with pytest.raises(Refused, match="rejected on the marketplace itself"):
        review.settle_decision(decision=decision, marketplace=marketplace())
    row.refresh_from_db()
    again = review.override_rejection(assignment=row, by=None)
    assert review.settle_decision(decision=again, marketplace=marketplace())
    outbox.settle_outstanding_calls(marketplace=marketplace())
    assert list(BonusPayment.objects.values_list("amount_cents", flat=True)) == [20]
    assert compare_ledgers().agrees


def extended(batch: Batch) -> Job:
    return extensions.extend_batch(batch=batch, more_redundancy=2, by=None)[1]


def test_lowered_cap_stops_extension_before_first_call(batch: Batch) -> None:
    job = extended(batch)
    budget.set_batch_cap(batch=batch, budget_cap_cents=batch.estimate_cents, by=None)
    sync_live_batches()
    extend_task(job.pk)
    sync_live_batches()
    assert HIT.objects.get().max_assignments == 3
    job.refresh_from_db()
    assert "budget: the batch" in job.error
    budget.set_batch_cap(batch=batch, budget_cap_cents=None, by=None)
    extend_task(extensions.retry_extension(batch=batch, by=None).pk)
    assert HIT.objects.get().max_assignments == 5
    assert compare_ledgers().agrees


def test_stopped_extension_stays_stopped_until_resumed(batch: Batch) -> None:
    job = extended(batch)
    jobs.cancel_job(job=job)
    assert extensions.refuse_calls_if_stopped(job=job) == 1
    extend_task(job.pk)
    sync_live_batches()
    assert HIT.objects.get().max_assignments == 3
    extend_task(extensions.retry_extension(batch=batch, by=None).pk)
    assert HIT.objects.get().max_assignments == 5


def test_batch_with_task_in_hand_is_not_closed(batch: Batch) -> None:
    worker = market.market_worker()
    task = market.accept(Hit.objects.get(), worker)  # its page is not opened yet
    lifecycle.request_close(batch=batch, by=None)
    lifecycle.expire_hits(batch=batch, marketplace=marketplace())
    batch.refresh_from_db()
    assert batch.state == BatchState.CLOSING
    market.submit_form(
        task, store(page_key(Hit.objects.get(), task.slot.assignment_id, worker.worker_id), observations(3))
    )
    sync_live_batches()
    row = Assignment.objects.get()
    review.settle_decision(
        decision=review.decide_assignment(assignment=row, verdict=ReviewVerdict.APPROVE, by=None),
        marketplace=marketplace(),
    )
    sync_live_batches()
    batch.refresh_from_db()
    assert batch.state == BatchState.CLOSED
    assert ledger.sum_entries(batch=batch).held == 0
    assert compare_ledgers().agrees


def test_task_created_while_batch_is_stopped_is_removed(
    project: Project, make_image: MakeImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.fund()
    batch = published(project, [make_image(1)], terms=LaunchTerms(reward_cents=100, redundancy=9))
    extensions.extend_batch(batch=batch, more_redundancy=2, by=None)  # a second HIT
    real = BotoMarketplace.create_hit

    def create(self: BotoMarketplace, **more: Any) -> Any:
        lifecycle.request_close(batch=batch, by=None)  # a colleague, while the call is on its way
        with suppress(Refused):
            lifecycle.expire_hits(batch=batch, marketplace=marketplace())
        return real(self, **more)

    monkeypatch.setattr(BotoMarketplace, "create_hit", create)
    with suppress(Refused):
        extensions.execute_extensions(batch=batch, marketplace=marketplace())
    for _ in range(3):
        sync_live_batches()
    assert not HIT.objects.filter(disposed_at=None).exists()
    batch.refresh_from_db()
    assert batch.state == BatchState.CLOSED
    assert ledger.sum_entries(batch=batch).held == 0
    assert compare_ledgers().agrees


def test_one_lost_task_does_not_block_release_of_others(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(
        project, [make_image(1), make_image(2)], terms=LaunchTerms(reward_cents=100, redundancy=1)
    )
    first, second = Hit.objects.order_by("pk")
    marketplace().expire(second.hit_id)
    HIT.objects.filter(hit_id=first.hit_id).update(hit_id="3LOST")
    Hit.objects.update(expires_at=timezone.now())
    lifecycle.request_close(batch=batch, by=None)
    lifecycle.expire_hits(batch=batch, marketplace=marketplace())
    assert list(Hit.objects.order_by("pk").values_list("state", flat=True)) == [
        HitState.LIVE,
        HitState.EXPIRED,
    ]


def test_results_file_cannot_reject_overridden_work(batch: Batch) -> None:
    row = waiting(batch)
    for verdict in (ReviewVerdict.REJECT, None):
        decision = (
            review.decide_assignment(assignment=row, verdict=verdict, by=None, feedback="Boxes miss.")
            if verdict
            else review.override_rejection(assignment=row, by=None)
        )
        review.settle_decision(decision=decision, marketplace=marketplace())
        row.refresh_from_db()
    file = f'AssignmentId,Approve,Reject\n{row.assignment_id},,"No."\n'
    with pytest.raises(Conflict, match="is approved already"):
        results_upload.read_upload(batch=batch, data=file)
    upload = results_upload.read_upload(batch=batch, data=file.replace(',,"No."', ",x,"))
    assert (upload.decisions, upload.already_decided) == ((), 1)


def test_hit_disposed_by_marketplace_is_released(batch: Batch) -> None:
    hit = Hit.objects.get()
    marketplace().expire(hit.hit_id)
    marketplace().delete_hit(hit.hit_id)  # as a script does, or the marketplace itself after 120 days
    reconcile.reconcile_batch(batch=batch, marketplace=marketplace())
    found = reconcile.reconcile_batch(batch=batch, marketplace=marketplace())
    assert (found.cents_ours, found.cents_marketplace) == (0, 0)
    assert compare_ledgers().agrees


def test_extension_costs_its_estimate_under_every_fee_schedule(
    project: Project, make_image: MakeImage, settings: Any
) -> None:
    settings.MARKETPLACE_FEE_SCHEDULE = "base=10% many=20% many_from=5"
    market.fund()
    batch = published(
        project, [make_image(1)], terms=LaunchTerms(reward_cents=100, bonus_cents=0, redundancy=3)
    )
    estimated_cents = extensions.estimate_extension(batch, 4).max_cents
    before = ledger.sum_entries(batch=batch).held
    extensions.extend_batch(batch=batch, more_redundancy=4, by=None)
    extensions.execute_extensions(batch=batch, marketplace=marketplace())
    assert compare_ledgers().agrees
    assert ledger.sum_entries(batch=batch).held - before == estimated_cents
