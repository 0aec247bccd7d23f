"""Money and decisions under attack: refused approvals, concurrent processes, raw SQL."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from hits.domain.states import CallState, HitState, ReviewVerdict
from hits.marketplace.models import Attempt as MarketAttempt
from hits.marketplace.models import LedgerEntry as MarketEntry
from hits.marketplace.services import attempts
from hits.models import Assignment, AuditEvent, Batch, Decision, Hit, Image, OutgoingCall, Project
from hits.mturk.boto import marketplace
from hits.payments import ledger
from hits.payments.models import LedgerEntry
from hits.services.batches import lifecycle
from hits.services.errors import Refused
from hits.services.launching import launch
from hits.services.launching.launch import PlannedUnit
from hits.services.launching.terms import LaunchTerms
from hits.services.outbox import outbox
from hits.services.publishing import publish, publisher_lease
from hits.services.publishing.rate_limit import RateLimiter
from hits.services.reviewing import review
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import collected, launched, page_key, published, store

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]


@pytest.fixture
def waiting(project: Project, make_image: MakeImage) -> Assignment:
    """Return a submission with five observations, so that approving it also pays a bonus."""
    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker(), observations(5))
    return collected(batch)[0]


def test_refused_approval_pays_no_bonus(waiting: Assignment) -> None:
    decision = review.decide_assignment(assignment=waiting, verdict=ReviewVerdict.APPROVE, by=None)
    # Meanwhile somebody rejects the work with a script of their own.
    marketplace().reject(waiting.assignment_id, "rejected elsewhere")
    with pytest.raises(Refused):
        review.settle_decision(decision=decision, marketplace=marketplace())
    for _ in range(2):  # the sweeper comes round
        outbox.settle_outstanding_calls(marketplace=marketplace())
    assert not review.settle_decision(decision=decision, marketplace=marketplace())
    states = dict(OutgoingCall.objects.values_list("operation", "state"))
    assert states == {"approve": CallState.REFUSED, "bonus": CallState.PLANNED}
    assert not MarketEntry.objects.filter(kind="bonus").exists()


def test_call_made_by_other_process_is_not_repeated(waiting: Assignment) -> None:
    decision = review.decide_assignment(assignment=waiting, verdict=ReviewVerdict.APPROVE, by=None)
    seen_early = list(decision.calls.all())
    assert review.settle_decision(decision=decision, marketplace=marketplace())
    for call in seen_early:
        assert outbox.settle_call(call=call, marketplace=marketplace())
    assert set(OutgoingCall.objects.values_list("state", flat=True)) == {CallState.DONE}
    assert MarketEntry.objects.filter(kind="bonus").count() == 1


def test_slow_publisher_does_not_touch_live_hit(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = launched(project, [make_image(1)])
    early = Hit.objects.get()
    publish.publish_batch(batch=batch, marketplace=marketplace())
    live = Hit.objects.get()
    batch.refresh_from_db()
    with publisher_lease.hold_publisher_lease(batch) as alone:
        slow = publish._PublicationRun(alone, marketplace(), RateLimiter(None), None)
        slow._publish_one(early, str(batch.hit_type_id))
    after = Hit.objects.get()
    assert (after.state, after.hit_id, after.attempt_at) == (HitState.LIVE, live.hit_id, live.attempt_at)


def test_concurrent_launches_create_one_batch(project: Project, make_image: MakeImage) -> None:
    units = [PlannedUnit("one", {"image": make_image(1).pk})]
    gate = threading.Barrier(4)
    made: list[int] = []

    def press() -> None:
        gate.wait(60)
        batch, job = launch.launch_batch(
            project=project,
            kind_name="sherlock_observation",
            name="B",
            units=units,
            by=None,
            idempotency_key="wish",
        )
        made.append(batch.pk)
        assert job.args["batch"] == batch.pk
        connection.close()

    threads = [threading.Thread(target=press) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    assert len(made) == 4
    assert Batch.objects.count() == 1


@pytest.mark.parametrize(
    "terms", [LaunchTerms(reward_cents=10**20), LaunchTerms(bonus_cents=10**20), LaunchTerms(redundancy=0)]
)
def test_unreasonable_launch_terms_are_refused(
    project: Project, make_image: MakeImage, terms: LaunchTerms
) -> None:
    with pytest.raises(Refused):
        launched(project, [make_image(1)], terms=terms)
    assert not Batch.objects.exists()


def test_second_concurrent_submission_shows_thanks(
    project: Project, make_image: MakeImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two presses side by side, as PostgreSQL runs them: the second finds its task submitted by the first."""
    market.fund()
    published(project, [make_image(1)])
    hit = Hit.objects.get()
    task = market.accept(hit, market.market_worker())
    submission = store(page_key(hit, task.slot.assignment_id, task.worker.worker_id), observations())
    early = MarketAttempt.objects.select_related("assignment__hit__hit_type", "worker").get()
    market.submit_form(task, submission)
    with transaction.atomic():
        receipt = attempts._submit(early, lambda: "<answer/>", task.slot.accepted_at)
    assert receipt.is_repeated


def _tables() -> list[tuple[str, Any]]:
    rows = [LedgerEntry, MarketEntry, AuditEvent, Decision]
    return [(model._meta.db_table, model) for model in rows]


@pytest.mark.parametrize(("table", "model"), _tables())
def test_raw_sql_cannot_replace_evidence(waiting: Assignment, table: str, model: Any) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("INSERT OR REPLACE is SQLite's own")
    review.decide_assignment(assignment=waiting, verdict=ReviewVerdict.APPROVE, by=None)
    before = list(model.objects.values())
    assert before
    with pytest.raises(DatabaseError, match="append-only"), connection.cursor() as cursor:
        cursor.execute(f'INSERT OR REPLACE INTO "{table}" SELECT * FROM "{table}"')
    assert list(model.objects.values()) == before


def test_external_approval_survives_batch_close(project: Project, make_image: MakeImage) -> None:
    """Approved by a script, or by the marketplace's clock, before we looked: it is paid, so it is ours."""
    market.fund()
    batch = published(project, [make_image(1)])
    hit = Hit.objects.get()
    market.work(hit, market.market_worker(), observations(3))
    (remote,) = marketplace().list_assignments(str(hit.hit_id))
    marketplace().approve(remote.assignment_id, "")
    lifecycle.request_close(batch=batch, by=None)
    lifecycle.expire_hits(batch=batch, marketplace=marketplace())
    row = Assignment.objects.get()
    assert (row.status, row.match) == ("Approved", "matched")
    sums = ledger.sum_entries(batch=batch)
    assert (sums.reward, sums.release, sums.held) == (batch.reward_cents, 0, 0)
