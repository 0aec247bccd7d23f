"""The outbox: order per assignment, leases, overrides, and decisions that the marketplace made first."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from hits.domain.states import AssignmentStatus, CallState, HitState, ReviewVerdict
from hits.marketplace.models import BonusPayment
from hits.models import Assignment, Decision, Hit, Image, OutgoingCall, Project
from hits.mturk.boto import marketplace
from hits.payments import ledger
from hits.services.collecting import assignment_sync
from hits.services.errors import Conflict, Refused
from hits.services.outbox import outbox
from hits.services.reviewing import review
from tests.support import market
from tests.support.answers import observations
from tests.support.failing import Later, check_money, leases_run_out
from tests.support.loop import approve, collected, published
from tests.support.marketplace_clock import reset_clock

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
OPERATIONS = OutgoingCall.Operation


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[Later]:
    """Return both clocks."""
    yield Later(monkeypatch)
    reset_clock()


@pytest.fixture
def waiting(project: Project, make_image: MakeImage) -> Assignment:
    """Return a submission with five observations, so that approving it also pays a bonus."""
    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker(), observations(5))
    return collected(batch)[0]


def _rejected(assignment: Assignment) -> Assignment:
    decision = review.decide_assignment(
        assignment=assignment, verdict=ReviewVerdict.REJECT, by=None, feedback="No box fits its clue."
    )
    assert review.settle_decision(decision=decision, marketplace=marketplace())
    assignment.refresh_from_db()
    return assignment


def test_a_call_is_planned_once(waiting: Assignment) -> None:
    batch = waiting.hit.unit.batch
    key = (waiting.assignment_id, "thanks")
    with transaction.atomic():
        first = outbox.plan_call(
            operation=OPERATIONS.BONUS, batch=batch, key=key, assignment=waiting, amount_cents=5
        )
        with pytest.raises(IntegrityError):
            outbox.plan_call(
                operation=OPERATIONS.BONUS, batch=batch, key=key, assignment=waiting, amount_cents=5
            )
        assert OutgoingCall.objects.get() == first  # and the transaction goes on
    assert (len(first.token), first.state) == (64, CallState.PLANNED)


def test_a_fresh_lease_is_left_alone_and_an_old_one_taken_over(waiting: Assignment) -> None:
    review.decide_assignment(assignment=waiting, verdict=ReviewVerdict.APPROVE, by=None)
    call = OutgoingCall.objects.get(operation="approve")
    rival = {"state": CallState.INTENT, "lease_owner": "rival", "attempt_at": timezone.now()}
    OutgoingCall.objects.filter(pk=call.pk).update(lease_until=timezone.now() + outbox.LEASE, **rival)
    assert not outbox.settle_call(call=call, marketplace=marketplace())
    call.refresh_from_db()
    assert call.lease_owner == "rival"
    leases_run_out()
    assert outbox.settle_call(call=call, marketplace=marketplace())
    call.refresh_from_db()
    assert (call.state, call.lease_owner, call.lease_until) == (CallState.DONE, "", None)
    assert call.attempt_at == rival["attempt_at"]  # a token lives from the first attempt on


def test_a_bonus_waits_for_its_approval(waiting: Assignment) -> None:
    review.decide_assignment(assignment=waiting, verdict=ReviewVerdict.APPROVE, by=None)
    bonus = OutgoingCall.objects.get(operation="bonus")
    assert not outbox.settle_call(call=bonus, marketplace=marketplace())
    found = outbox.settle_outstanding_calls(marketplace=marketplace())
    assert (found.done, found.refused, found.outstanding) == (2, 0, 0)
    assert BonusPayment.objects.get().reason == (
        f"Your further observations are complete. Reference {bonus.token[:16]}"
    )


def test_settling_a_settled_call_makes_no_request(waiting: Assignment) -> None:
    approve(waiting)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        found = outbox.settle_outstanding_calls(marketplace=marketplace())
    assert (found.done, len(asked)) == (0, 1)


def test_rejection_superseded_by_auto_approval_is_shown_and_paid(
    waiting: Assignment, client: Client, admin: Any
) -> None:
    decision = review.decide_assignment(
        assignment=waiting, verdict=ReviewVerdict.REJECT, by=None, feedback="No box fits."
    )
    marketplace().approve(waiting.assignment_id, "")  # as the clock does it when the time is over
    with pytest.raises(Refused, match="approved and paid the submission before"):
        review.settle_decision(decision=decision, marketplace=marketplace())
    waiting.refresh_from_db()
    assert waiting.status == AssignmentStatus.APPROVED
    assert ledger.sum_entries(batch=waiting.hit.unit.batch).reward == 110
    check_money(waiting.hit.unit.batch)
    client.force_login(admin)
    page = client.get(reverse("assignment-detail", args=[waiting.pk])).content.decode()
    assert "before this rejection arrived" in page
    assert reverse("pay-again", args=[waiting.pk]) not in page
    batch_page = client.get(reverse("batch-detail", args=[waiting.hit.unit.batch_id])).content.decode()
    assert "Refused payments" not in batch_page


@pytest.mark.clock
def test_a_rejection_is_overridden_on_day_29(waiting: Assignment, later: Later) -> None:
    batch = waiting.hit.unit.batch
    rejection = _rejected(waiting).decisions.get()
    assert ledger.sum_entries(batch=batch).held == 0
    later.by(timedelta(days=29))
    decision = review.override_rejection(assignment=waiting, by=None, feedback="I was too strict.")
    assert decision.overrides == rejection
    assert ledger.sum_entries(batch=batch).spent == 0  # nothing leaves before it is settled
    assert review.settle_decision(decision=decision, marketplace=marketplace())
    waiting.refresh_from_db()
    assert waiting.status == AssignmentStatus.APPROVED
    sums = ledger.sum_entries(batch=batch)
    assert (sums.reward, sums.bonus, sums.held) == (110, 30, 0)
    check_money(batch)
    with pytest.raises(Conflict, match="approved"):
        review.override_rejection(assignment=waiting, by=None)


@pytest.mark.clock
def test_rejection_cannot_be_overridden_on_day_31_and_the_page_gives_the_reason(
    waiting: Assignment, later: Later, client: Client, admin: Any
) -> None:
    _rejected(waiting)
    client.force_login(admin)
    url = reverse("override", args=[waiting.pk])
    detail = reverse("assignment-detail", args=[waiting.pk])
    assert url in client.get(detail).content.decode()
    later.by(timedelta(days=31))
    with pytest.raises(Refused, match="within 30 days of the submission"):
        review.override_rejection(assignment=waiting, by=None)
    client.force_login(admin)  # the session is a month old
    page = client.get(detail).content.decode()
    assert url not in page
    assert "within 30 days of the submission" in page
    client.post(url)
    assert Decision.objects.count() == 1


def test_two_overrides_at_once_pay_once(waiting: Assignment) -> None:
    _rejected(waiting)
    early = Assignment.objects.get(pk=waiting.pk)
    first = review.override_rejection(assignment=waiting, by=None)
    with pytest.raises(Conflict):
        review.override_rejection(assignment=early, by=None)
    assert review.settle_decision(decision=first, marketplace=marketplace())
    check_money(waiting.hit.unit.batch)


def test_an_override_after_disposal_is_refused_with_the_reason(waiting: Assignment) -> None:
    _rejected(waiting)
    Hit.objects.update(state=HitState.EXPIRED)
    waiting.hit.refresh_from_db()
    with pytest.raises(Refused, match="disposed of"):
        review.override_rejection(assignment=waiting, by=None)


def test_override_made_outside_is_posted_like_ours(waiting: Assignment) -> None:
    batch = waiting.hit.unit.batch
    _rejected(waiting)
    marketplace().approve(waiting.assignment_id, "", override=True)
    assignment_sync.sync_hit(hit=waiting.hit, marketplace=marketplace())
    waiting.refresh_from_db()
    assert waiting.status == AssignmentStatus.APPROVED
    assert ledger.sum_entries(batch=batch).held == 0
    check_money(batch)


def test_review_page_shows_the_time_of_auto_approval(waiting: Assignment, client: Client, admin: Any) -> None:
    client.force_login(admin)
    page = client.get(reverse("batch-review", args=[waiting.hit.unit.batch_id])).content.decode()
    assert "Will be approved automatically in " in " ".join(page.split())
