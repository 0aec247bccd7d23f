"""A marketplace that loses replies, is unreachable for a day, or was replaced by another one."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation_site.ledgers import compare_ledgers
from hits import tasks
from hits.domain.states import AssignmentStatus, BatchState, CallState, HitState, ReviewVerdict
from hits.marketplace.models import HIT, BonusPayment, Requester
from hits.models import Assignment, Batch, Decision, Hit, Image, Job, OutgoingCall, Project
from hits.mturk.boto import marketplace
from hits.mturk.port import Environment, Failure, MarketplaceError, RemoteHit
from hits.payments import ledger
from hits.services.batches import lifecycle
from hits.services.collecting import assignment_sync
from hits.services.errors import Conflict, Refused
from hits.services.outbox import outbox
from hits.services.publishing import publish
from hits.services.publishing.orphan_recovery import LISTING_LAG
from hits.services.publishing.rate_limit import RateLimiter
from hits.services.reconciling import reconcile
from hits.services.reviewing import review
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import approve, collected, launched, published
from tests.support.marketplace_clock import advance_clock, reset_clock

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
LOST = MarketplaceError(Failure.UNREACHABLE, "the reply was lost")


class FaultyMarketplace:
    """The marketplace behind a bad line: ``trouble`` maps an operation to what happens to it.

    "lost": it is carried out, and the reply is lost. An error: it is raised instead.
    """

    def __init__(self, **trouble: str | MarketplaceError) -> None:
        self.trouble = trouble
        self.real = marketplace()

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.real, name)
        trouble = self.trouble.get(name)
        if trouble is None:
            return real

        def call(*args: Any, **more: Any) -> Any:
            if isinstance(trouble, MarketplaceError):
                raise trouble
            real(*args, **more)
            raise LOST

        return call


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[timedelta], None]]:
    """Return a function that moves our clock, and the marketplace's, on to a time after the start."""
    start, moved = timezone.now(), [timedelta(0)]

    def go(to: timedelta) -> None:
        advance_clock(by=to - moved[0])
        moved[0] = to

    monkeypatch.setattr("django.utils.timezone.now", lambda: start + moved[0])
    yield go
    reset_clock()


@pytest.fixture
def waiting(project: Project, make_image: MakeImage) -> Assignment:
    """Return a submission with five observations, so that approving it also pays a bonus."""
    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker(), observations(5))
    return collected(batch)[0]


HOURS = [timedelta(hours=hours) for hours in (1, 12, 22, 25, 47)]


def test_a_bonus_is_paid_once_through_a_long_outage(
    waiting: Assignment, later: Callable[[timedelta], None]
) -> None:
    """Every retry in between must not make the dead token look fresh."""
    port = FaultyMarketplace(send_bonus="lost")
    decision = review.decide_assignment(assignment=waiting, verdict=ReviewVerdict.APPROVE, by=None)
    with pytest.raises(Refused):
        review.settle_decision(decision=decision, marketplace=port)
    port.trouble = {"send_bonus": LOST, "list_bonuses": LOST}
    for moment in HOURS:
        later(moment)
        outbox.settle_outstanding_calls(marketplace=port)
    port.trouble = {}
    outbox.settle_outstanding_calls(marketplace=port)
    assert BonusPayment.objects.count() == 1
    assert set(OutgoingCall.objects.values_list("state", flat=True)) == {CallState.DONE}
    assert ledger.sum_entries().bonus == 30


def unanswered(project: Project, make_image: MakeImage, port: FaultyMarketplace) -> Batch:
    """Launch a batch of one task, whose creation gets no answer through ``port``."""
    market.fund()
    batch = launched(project, [make_image(1)])
    with pytest.raises(Refused):
        publish.publish_batch(batch=batch, marketplace=port)
    return batch


def test_a_hit_is_published_once_through_a_long_outage(
    project: Project, make_image: MakeImage, later: Callable[[timedelta], None]
) -> None:
    port = FaultyMarketplace(create_hit="lost")
    batch = unanswered(project, make_image, port)
    port.trouble = {"create_hit": LOST, "list_hits": LOST}
    for moment in HOURS:
        later(moment)
        with pytest.raises((Refused, MarketplaceError)):
            publish.publish_batch(batch=batch, marketplace=port)
    port.trouble = {}
    publish.publish_batch(batch=batch, marketplace=port)
    assert HIT.objects.count() == 1
    assert Hit.objects.get().hit_id == HIT.objects.get().hit_id


def test_pressing_try_again_does_not_pay_again(
    waiting: Assignment, later: Callable[[timedelta], None]
) -> None:
    """The first try went through and its reply was lost; a later one was refused; the token is dead."""
    port = FaultyMarketplace(send_bonus="lost")
    decision = review.decide_assignment(assignment=waiting, verdict=ReviewVerdict.APPROVE, by=None)
    with pytest.raises(Refused):
        review.settle_decision(decision=decision, marketplace=port)
    port.trouble = {
        "send_bonus": MarketplaceError(Failure.REFUSED, "keys were rotated"),
        "list_bonuses": MarketplaceError(Failure.REFUSED, "keys were rotated"),
    }
    with pytest.raises(Refused):
        review.settle_decision(decision=decision, marketplace=port)
    assert OutgoingCall.objects.get(operation="bonus").state == CallState.REFUSED
    lifecycle.retry_refused_calls(decision=decision, by=None)
    later(timedelta(hours=30))
    assert review.settle_decision(decision=decision, marketplace=marketplace())
    assert BonusPayment.objects.count() == 1


def test_refused_approval_of_other_process_stops_bonus(
    waiting: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    decision = review.decide_assignment(assignment=waiting, verdict=ReviewVerdict.APPROVE, by=None)
    real = outbox.settle_call

    def slow(*, call: OutgoingCall, marketplace: Any) -> bool:
        if call.operation == "approve":  # meanwhile another process got a refusal
            OutgoingCall.objects.filter(pk=call.pk).update(state=CallState.REFUSED)
        return real(call=call, marketplace=marketplace)

    monkeypatch.setattr(outbox, "settle_call", slow)
    assert not review.settle_decision(decision=decision, marketplace=marketplace())
    assert not BonusPayment.objects.exists()


def test_one_silent_call_does_not_stop_other_payments(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(project, [make_image(1), make_image(2)])
    worker = market.market_worker()
    for hit in Hit.objects.all():
        market.work(hit, worker)
    rows = collected(batch)
    for row in rows:
        review.decide_assignment(assignment=row, verdict=ReviewVerdict.APPROVE, by=None)
    port = FaultyMarketplace(get_assignment=LOST)
    marketplace().approve(
        rows[0].assignment_id, ""
    )  # its own reply was lost, so ours is refused as a repetition
    outbox.settle_outstanding_calls(marketplace=port)
    states = dict(OutgoingCall.objects.values_list("decision__assignment", "state"))
    assert states == {rows[0].pk: CallState.INTENT, rows[1].pk: CallState.DONE}
    outbox.settle_outstanding_calls(marketplace=marketplace())
    assert set(OutgoingCall.objects.values_list("state", flat=True)) == {CallState.DONE}


def test_missing_hit_stops_neither_sync_nor_payment(
    waiting: Assignment, project: Project, make_image: MakeImage
) -> None:
    gone = published(project, [make_image(2)])
    Hit.objects.filter(unit__batch=gone).update(hit_id="GONE")
    good = published(project, [make_image(3)])
    market.work(Hit.objects.get(unit__batch=good), market.market_worker("wendy"))
    review.decide_assignment(assignment=waiting, verdict=ReviewVerdict.APPROVE, by=None)
    tasks.sync_live_batches()
    assert set(OutgoingCall.objects.values_list("state", flat=True)) == {CallState.DONE}
    assert Assignment.objects.filter(hit__unit__batch=good).exists()
    assert assignment_sync.sync_batch(batch=gone, marketplace=marketplace()).failed == 1


def test_batch_is_never_sent_to_another_marketplace(project: Project, make_image: MakeImage) -> None:
    """Launched on the built-in one, so without a typed cost: real money must not see it."""
    market.fund()
    batch = launched(project, [make_image(1)])
    here = marketplace().environment
    live = Environment("aws-production", "https://mturk.example", False, True, here.fees, "Amazon")

    class Live:
        environment = live

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} was called")

    for service in (publish.publish_batch, assignment_sync.sync_batch, lifecycle.expire_hits):
        with pytest.raises(Refused, match="launched on the marketplace local"):
            service(batch=batch, marketplace=Live())
    assert Hit.objects.get().state == HitState.PLANNED


def test_fees_stay_as_at_launch(waiting: Assignment, settings: Any) -> None:
    batch = waiting.hit.unit.batch
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    with pytest.raises(Refused, match="launched with the fees of 'local'"):
        lifecycle.approve_waiting_assignments(
            batch=batch, last_pk=waiting.pk, by=None, marketplace=marketplace()
        )
    assert not Decision.objects.exists()
    settings.MARKETPLACE_FEE_SCHEDULE = "local"
    approve(waiting)
    owner = Requester.objects.get(name="Deerstalker")
    assert ledger.sum_entries(batch=batch).held == owner.held_cents == 0


def test_batch_with_stopped_publication_can_be_closed(
    project: Project, make_image: MakeImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.fund(330)  # enough for three of five; the rest went elsewhere after we asked
    monkeypatch.setattr("hits.services.money.budget.check_batch_budget", lambda **_: None)
    batch = launched(project, [make_image(n) for n in range(5)])
    with pytest.raises(Refused, match="insufficient funds"):
        publish.publish_batch(batch=batch, marketplace=marketplace())
    batch.refresh_from_db()
    assert batch.state == BatchState.LAUNCHING
    with pytest.raises(Conflict, match="is being published"):
        lifecycle.request_close(batch=batch, by=None)
    Job.objects.update(state="failed")  # what the worker process writes of the job that was refused
    lifecycle.request_close(batch=batch, by=None)
    lifecycle.expire_hits(batch=batch, marketplace=marketplace())
    batch.refresh_from_db()
    assert batch.state == BatchState.CLOSED
    assert sorted(Hit.objects.values_list("state", flat=True)) == ["cancelled"] * 2 + ["expired"] * 3
    assert ledger.sum_entries(batch=batch).held == marketplace().get_balance().on_hold_cents == 0
    with pytest.raises(Refused, match="cannot be published"):
        publish.publish_batch(batch=batch, marketplace=marketplace())


def test_close_finds_hit_with_unconfirmed_creation(project: Project, make_image: MakeImage) -> None:
    batch = unanswered(project, make_image, FaultyMarketplace(create_hit="lost"))
    stopped(batch, marketplace())
    assert Hit.objects.get().state == HitState.EXPIRED
    assert ledger.sum_entries(batch=batch).held == marketplace().get_balance().on_hold_cents == 0


def stopped(batch: Batch, port: Any) -> None:
    """Stop a batch's publication, and let everything be taken off that ``port`` shows."""
    Job.objects.update(state="failed")
    lifecycle.request_close(batch=batch, by=None)
    lifecycle.expire_hits(batch=batch, marketplace=port)
    batch.refresh_from_db()


def test_stop_waits_for_task_missing_from_list(
    project: Project, make_image: MakeImage, later: Callable[[timedelta], None]
) -> None:
    port = FaultyMarketplace(create_hit="lost")
    batch = unanswered(project, make_image, port)
    port.list_hits = lambda: iter([])  # type: ignore[method-assign]
    stopped(batch, port)
    assert (batch.state, Hit.objects.get().state) == (BatchState.CLOSING, HitState.INTENT)
    later(timedelta(minutes=1))  # by now the list shows it
    for _ in range(2):
        tasks.sync_live_batches()
    batch.refresh_from_db()
    assert (batch.state, Hit.objects.get().state) == (BatchState.CLOSED, HitState.EXPIRED)
    assert HIT.objects.get().disposed_at is not None
    assert ledger.sum_entries(batch=batch).held == marketplace().get_balance().on_hold_cents == 0


def test_task_never_created_is_given_up_after_list_lag(
    project: Project, make_image: MakeImage, later: Callable[[timedelta], None]
) -> None:
    batch = unanswered(project, make_image, FaultyMarketplace(create_hit=LOST))
    stopped(batch, marketplace())
    for wait, state in (
        (LISTING_LAG - timedelta(seconds=1), BatchState.CLOSING),
        (LISTING_LAG, BatchState.CLOSED),
    ):
        later(wait)
        tasks.sync_live_batches()
        batch.refresh_from_db()
        assert batch.state == state
    assert Hit.objects.get().state == HitState.CANCELLED


def test_task_created_long_after_stop_is_recorded_and_removed(
    project: Project, make_image: MakeImage, later: Callable[[timedelta], None]
) -> None:
    """Its publisher slept longer than its lease, and the batch was closed meanwhile."""
    market.fund()
    batch = launched(project, [make_image(1)])
    port = FaultyMarketplace()

    def create(**more: Any) -> RemoteHit:
        Batch.objects.update(lease_until=timezone.now())
        stopped(batch, marketplace())
        later(LISTING_LAG)
        tasks.sync_live_batches()
        batch.refresh_from_db()
        assert (batch.state, Hit.objects.get().state) == (BatchState.CLOSED, HitState.CANCELLED)
        return port.real.create_hit(**more)

    port.create_hit = create
    publish.publish_batch(batch=batch, marketplace=port)
    batch.refresh_from_db()
    assert (batch.state, Hit.objects.get().state) == (BatchState.CLOSING, HitState.LIVE)
    for _ in range(2):
        tasks.sync_live_batches()
    batch.refresh_from_db()
    assert (batch.state, Hit.objects.get().state) == (BatchState.CLOSED, HitState.EXPIRED)
    assert ledger.sum_entries(batch=batch).held == marketplace().get_balance().on_hold_cents == 0


def test_work_on_given_up_task_is_paid_after_reconciliation(
    project: Project, make_image: MakeImage, later: Callable[[timedelta], None], client: Client, admin: User
) -> None:
    port = FaultyMarketplace(create_hit="lost")
    batch = unanswered(project, make_image, port)
    port.list_hits = lambda: iter([])  # type: ignore[method-assign]
    stopped(batch, port)
    later(LISTING_LAG)
    lifecycle.dispose_hits_and_close_if_done(batch=batch, marketplace=port)
    batch.refresh_from_db()
    assert batch.state == BatchState.CLOSED
    there = HIT.objects.get()
    (found,) = reconcile.reconcile_batch(batch=batch, marketplace=marketplace()).findings
    assert (found["what"], found["hit_id"]) == (reconcile.SURPLUS, there.hit_id)
    client.force_login(admin)
    assert (
        b"The marketplace has this HIT, but it was given up here"
        in client.get(reverse("batch-reconcile", args=[batch.pk])).content
    )
    client.post(reverse("reconcile-hit", args=[batch.pk]), {"act": "expire", "hit_id": there.hit_id})
    market.work(Hit.objects.get(state=HitState.LIVE), market.market_worker())
    tasks.sync_live_batches()
    approve(Assignment.objects.get())
    tasks.sync_live_batches()
    batch.refresh_from_db()
    assert (batch.state, Hit.objects.get().state) == (BatchState.CLOSED, HitState.EXPIRED)
    assert HIT.objects.get().disposed_at is not None
    sums = ledger.sum_entries(batch=batch)
    assert (sums.reward, sums.held, marketplace().get_balance().on_hold_cents) == (110, 0, 0)


def overriding(row: Assignment) -> Decision:
    """Return the decision to override a rejection, without carrying it out."""
    rejection = review.decide_assignment(
        assignment=row, verdict=ReviewVerdict.REJECT, by=None, feedback="Boxes miss."
    )
    review.settle_decision(decision=rejection, marketplace=marketplace())
    row.refresh_from_db()
    return review.override_rejection(assignment=row, by=None)


@pytest.mark.parametrize("trouble", [LOST, MarketplaceError(Failure.NO_FUNDS, "insufficient funds")])
def test_task_is_not_disposed_before_override(waiting: Assignment, trouble: MarketplaceError) -> None:
    batch = waiting.hit.unit.batch
    decision = overriding(waiting)
    port = FaultyMarketplace(approve=trouble)
    with pytest.raises(Refused):
        review.settle_decision(decision=decision, marketplace=port)
    stopped(batch, port)
    assert (batch.state, HIT.objects.get().disposed_at) == (BatchState.CLOSING, None)
    if trouble is not LOST:
        lifecycle.retry_refused_calls(decision=decision, by=None)
    tasks.sync_live_batches()
    batch.refresh_from_db()
    assert (batch.state, HIT.objects.get().disposed_at is None) == (BatchState.CLOSED, False)
    totals = ledger.sum_entries(batch=batch)
    assert (totals.reward, totals.bonus, totals.held) == (110, 30, 0)
    assert marketplace().get_balance().on_hold_cents == 0


def test_late_override_shows_message_and_ledgers_agree(waiting: Assignment) -> None:
    decision = overriding(waiting)
    marketplace().expire(str(waiting.hit.hit_id))
    marketplace().delete_hit(str(waiting.hit.hit_id))  # a script was faster
    with pytest.raises(Refused, match="its task was disposed of, or 30 days have passed"):
        review.settle_decision(decision=decision, marketplace=marketplace())
    outbox.settle_outstanding_calls(marketplace=marketplace())
    assert not BonusPayment.objects.exists()
    assert compare_ledgers().agrees


def test_auto_approved_work_gets_promised_bonus_once(waiting: Assignment) -> None:
    marketplace().approve(waiting.assignment_id, "")  # by the marketplace's clock, or by a script
    for _ in range(2):
        tasks.sync_live_batches()
    waiting.refresh_from_db()
    assert waiting.status == AssignmentStatus.APPROVED
    assert BonusPayment.objects.count() == 1
    totals = ledger.sum_entries(batch=waiting.hit.unit.batch)
    assert (totals.reward, totals.bonus, totals.held) == (110, 30, 0)


def test_stale_read_does_not_undo_decision(waiting: Assignment) -> None:
    early = list(marketplace().list_assignments(str(waiting.hit.hit_id)))
    approve(waiting)
    assignment_sync.record_assignment(hit=waiting.hit, remote=early[0])
    waiting.refresh_from_db()
    assert waiting.status == AssignmentStatus.APPROVED


def test_hit_of_old_database_is_not_recovered(project: Project, make_image: MakeImage) -> None:
    """Another installation on the same account counts its batches and units from 1 as well."""
    market.fund()
    batch = launched(project, [make_image(1)])
    hit = Hit.objects.get()
    old = f"v1/local/{batch.pk}/{hit.unit_id}/1"
    assert hit.annotation != old
    port = FaultyMarketplace(create_hit="lost")
    port.list_hits = lambda: iter(  # type: ignore[method-assign]
        [RemoteHit("OLD", old, "Assignable", 1, timezone.now())]
    )
    with pytest.raises(Refused):
        publish.publish_batch(batch=batch, marketplace=port)
    seen = MarketplaceError(Failure.ALREADY_EXISTS, "The idempotency token has already been processed.")
    port.trouble = {"create_hit": seen}
    impatient = RateLimiter(None, sleep=lambda _: None)
    with pytest.raises(Refused, match="does not list them yet"):
        publish.publish_batch(batch=batch, marketplace=port, rate_limiter=impatient)
    assert Hit.objects.get().hit_id != "OLD"


@pytest.mark.parametrize("command", [("sync_batch",), ("review_batch", "--approve-all")])
def test_commands_report_unreachable_marketplace_in_one_line(
    waiting: Assignment, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = waiting.hit.unit.batch
    assert isinstance(batch, Batch)
    name, *flags = command
    module = f"hits.management.commands.{name}"
    monkeypatch.setattr(f"{module}.marketplace", lambda: FaultyMarketplace(list_assignments=LOST))
    with pytest.raises(CommandError, match="the marketplace: the reply was lost") as caught:
        call_command(name, str(batch.pk), *flags)
    assert caught.value.returncode == 1
