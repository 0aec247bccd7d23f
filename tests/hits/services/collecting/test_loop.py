"""The loop through services and the in-process marketplace: publish, work, collect, review, pay."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from curation.models import Pair
from hits.domain.states import AssignmentStatus, BatchState, HitState, ReviewVerdict, SubmissionMatch
from hits.models import Assignment, Hit, Image, OutgoingCall, Project
from hits.models.base import AppendOnlyError
from hits.mturk.boto import marketplace
from hits.mturk.port import Failure, MarketplaceError
from hits.payments import ledger
from hits.payments.models import LedgerEntry
from hits.services.collecting import assignment_sync
from hits.services.errors import Conflict, Refused
from hits.services.launching.terms import LaunchTerms
from hits.services.outbox import outbox
from hits.services.publishing import publish
from hits.services.reviewing import review
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import approve, collected, launched, page_key, published, store

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]


def test_a_whole_loop_balances_to_the_cent(project: Project, make_image: MakeImage) -> None:
    market.fund(10_000)
    batch = published(project, [make_image(1), make_image(2)])
    assert batch.state == BatchState.LIVE
    assert marketplace().get_balance().on_hold_cents == ledger.sum_entries(batch=batch).held == 220
    worker = market.market_worker()
    for hit, count in zip(Hit.objects.all(), (3, 5), strict=True):
        market.work(hit, worker, observations(count, salt=str(hit.pk)))
    first, second = collected(batch)
    assert {first.match, second.match} == {SubmissionMatch.MATCHED}
    for assignment in (first, second):
        approve(assignment)
    sums = ledger.sum_entries(batch=batch)
    balance = marketplace().get_balance()
    assert (sums.reward, sums.bonus, sums.fee, sums.held) == (220, 30, 0, 0)
    assert balance.available_cents == 10_000 - sums.spent
    assert balance.on_hold_cents == 0
    assert Pair.objects.count() == 8


def test_amazons_fees_are_held_and_paid_alike_on_both_sides(
    project: Project, make_image: MakeImage, settings: Any
) -> None:
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    market.fund(10_000)
    batch = published(project, [make_image(1)])
    assert marketplace().get_balance().on_hold_cents == ledger.sum_entries(batch=batch).held == 132
    market.work(Hit.objects.get(), market.market_worker(), observations(4))
    (assignment,) = collected(batch)
    approve(assignment)
    sums = ledger.sum_entries(batch=batch)
    assert (sums.reward, sums.bonus, sums.fee, sums.held) == (110, 15, 25, 0)
    assert marketplace().get_balance().available_cents == 10_000 - sums.spent


def test_a_rejection_releases_what_was_held(project: Project, make_image: MakeImage) -> None:
    market.fund(1_000)
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker())
    (assignment,) = collected(batch)
    decision = review.decide_assignment(
        assignment=assignment, verdict=ReviewVerdict.REJECT, by=None, feedback="No box fits."
    )
    review.settle_decision(decision=decision, marketplace=marketplace())
    assignment.refresh_from_db()
    assert assignment.status == AssignmentStatus.REJECTED
    assert ledger.sum_entries(batch=batch).held == marketplace().get_balance().on_hold_cents == 0
    assert marketplace().get_balance().available_cents == 1_000


def test_a_rejection_needs_a_reason(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker())
    (assignment,) = collected(batch)
    with pytest.raises(Refused, match="write the reason"):
        review.decide_assignment(assignment=assignment, verdict=ReviewVerdict.REJECT, by=None, feedback="  ")


def test_two_reviewers_make_one_decision(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker())
    (assignment,) = collected(batch)
    review.decide_assignment(assignment=assignment, verdict=ReviewVerdict.APPROVE, by=None)
    with pytest.raises(Conflict):
        review.decide_assignment(
            assignment=assignment, verdict=ReviewVerdict.REJECT, by=None, feedback="Too late."
        )


def test_publishing_again_creates_nothing(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(project, [make_image(n) for n in range(4)])
    assert publish.publish_batch(batch=batch, marketplace=marketplace()) == 0
    assert len(list(marketplace().list_hits())) == 4


def test_a_batch_that_the_account_cannot_hold_is_refused_before_its_first_hit(
    project: Project, make_image: MakeImage
) -> None:
    market.fund(110 + 109)
    batch = launched(project, [make_image(1), make_image(2)])
    with pytest.raises(Refused, match="insufficient funds"):
        publish.publish_batch(batch=batch, marketplace=marketplace())
    assert not Hit.objects.exclude(state=HitState.PLANNED).exists()
    market.fund(1)
    assert publish.publish_batch(batch=batch, marketplace=marketplace()) == 2


def test_the_port_refuses_to_be_called_inside_a_transaction() -> None:
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        marketplace().get_balance()


def test_submission_counts_when_the_marketplace_lists_it(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    hit = Hit.objects.get()
    task = market.accept(hit, market.market_worker())
    store(page_key(hit, task.slot.assignment_id, task.worker.worker_id), observations())
    assert collected(batch) == []
    assert not Pair.objects.exists()


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"sha256": "0" * 64}, SubmissionMatch.MISMATCH),
        ({"submission_id": str(uuid.UUID(int=7))}, SubmissionMatch.MARKETPLACE_ONLY),
        ({"submission_id": "nonsense"}, SubmissionMatch.MARKETPLACE_ONLY),
    ],
)
def test_unmatched_assignment_is_classified_and_cannot_be_approved(
    project: Project, make_image: MakeImage, changes: dict[str, str], match: SubmissionMatch
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    hit = Hit.objects.get()
    task = market.accept(hit, market.market_worker())
    submission = store(page_key(hit, task.slot.assignment_id, task.worker.worker_id), observations())
    market.submit_form(task, submission, **changes)
    (assignment,) = collected(batch)
    assert assignment.match == match
    assert not Pair.objects.exists()
    with pytest.raises(Refused, match="You cannot approve it here"):
        review.decide_assignment(assignment=assignment, verdict=ReviewVerdict.APPROVE, by=None)


def test_somebody_elses_submission_does_not_match(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(project, [make_image(1)], terms=LaunchTerms(redundancy=2))
    hit = Hit.objects.get()
    mine = market.work(hit, market.market_worker("one"))
    thief = market.accept(hit, market.market_worker("two"))
    market.submit_form(thief, mine)
    by_worker = {a.worker.worker_id: a.match for a in collected(batch)}
    assert by_worker[thief.worker.worker_id] == SubmissionMatch.MISMATCH
    assert sorted(by_worker.values()) == [SubmissionMatch.MATCHED, SubmissionMatch.MISMATCH]


def test_auto_approval_by_the_clock_reaches_our_ledger_once(project: Project, make_image: MakeImage) -> None:
    from datetime import timedelta

    from tests.support.marketplace_clock import advance_clock, reset_clock

    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker())
    collected(batch)
    advance_clock(by=timedelta(days=8))
    try:
        for _ in range(2):
            (assignment,) = collected(batch)
    finally:
        reset_clock()
    assert assignment.status == AssignmentStatus.APPROVED
    assert ledger.sum_entries(batch=batch).reward == 110
    with pytest.raises(Conflict, match="approved already"):
        review.decide_assignment(assignment=assignment, verdict=ReviewVerdict.APPROVE, by=None)


def test_an_approval_whose_reply_was_lost_is_recognised(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker(), observations(4))
    (assignment,) = collected(batch)
    decision = review.decide_assignment(assignment=assignment, verdict=ReviewVerdict.APPROVE, by=None)
    marketplace().approve(assignment.assignment_id, "")  # the call went through; its record did not
    assert review.settle_decision(decision=decision, marketplace=marketplace())
    assert ledger.sum_entries(batch=batch).spent == 110 + 15


def test_a_bonus_is_not_repeated_after_its_token_died(project: Project, make_image: MakeImage) -> None:
    from datetime import timedelta

    from django.utils import timezone

    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker(), observations(5))
    (assignment,) = collected(batch)
    approve(assignment)
    call = OutgoingCall.objects.get(operation="bonus")
    # As after a kill between the call and its record, found again 25 hours later.
    OutgoingCall.objects.filter(pk=call.pk).update(
        state="intent", attempt_at=timezone.now() - timedelta(hours=25)
    )
    outbox.settle_outstanding_calls(marketplace=marketplace())
    assert len(list(marketplace().list_bonuses(assignment.assignment_id))) == 1
    assert ledger.sum_entries(batch=batch).bonus == 30


def test_the_ledger_cannot_be_changed(project: Project, make_image: MakeImage) -> None:
    market.fund()
    published(project, [make_image(1)])
    entry = LedgerEntry.objects.get()
    entry.amount_cents = 1
    with pytest.raises(AppendOnlyError):
        entry.save()
    with pytest.raises(AppendOnlyError):
        entry.delete()
    with pytest.raises(AppendOnlyError):
        LedgerEntry.objects.update(amount_cents=1)


@pytest.mark.parametrize("statement", ["UPDATE {} SET amount_cents = 1", "DELETE FROM {}"])
def test_the_ledger_holds_against_raw_sql_too(
    project: Project, make_image: MakeImage, statement: str
) -> None:
    from django.db import DatabaseError, connection

    market.fund()
    published(project, [make_image(1)])
    with pytest.raises(DatabaseError, match="append-only"), connection.cursor() as cursor:
        cursor.execute(statement.format("payments_ledgerentry"))


def test_137_assignments_are_all_collected(project: Project, make_image: MakeImage) -> None:
    from hits.mturk.port import RemoteAssignment

    market.fund()
    batch = published(project, [make_image(1)])
    hit = Hit.objects.get()
    now = hit.expires_at
    assert now is not None
    rows = [RemoteAssignment(f"A{n}", f"AW{n}", "Submitted", now, now, now, "<nothing/>") for n in range(137)]

    class Many:
        environment = marketplace().environment

        def list_assignments(self, hit_id: str, statuses: Any = ()) -> list[RemoteAssignment]:
            return rows

    found = assignment_sync.sync_batch(batch=batch, marketplace=Many())  # type: ignore[arg-type]
    assert (found.new, found.unmatched, Assignment.objects.count()) == (137, 137, 137)


def test_wrong_keys_are_one_clear_refusal(settings: Any) -> None:
    from hits.mturk.boto import BotoMarketplace
    from hits.mturk.environments import current_environment

    settings.MTURK_PLATFORM_ACCESS_KEY_ID = "AKNOBODY"
    with pytest.raises(MarketplaceError) as caught:
        BotoMarketplace(current_environment()).get_balance()
    assert caught.value.failure is Failure.REFUSED


def test_closing_releases_unused_assignments(project: Project, make_image: MakeImage) -> None:
    from hits.services.batches.lifecycle import dispose_hits_and_close_if_done, expire_hits, request_close

    market.fund(1_000)
    batch = published(project, [make_image(1), make_image(2)], terms=LaunchTerms(redundancy=2))
    market.work(Hit.objects.order_by("pk")[0], market.market_worker())
    (assignment,) = collected(batch)
    request_close(batch=batch, by=None)
    expire_hits(batch=batch, marketplace=marketplace())
    # The first HIT's submission still waits, so only the second is disposed of.
    assert ledger.sum_entries(batch=batch).held == marketplace().get_balance().on_hold_cents == 220
    approve(assignment)
    assert dispose_hits_and_close_if_done(batch=batch, marketplace=marketplace())
    assert not dispose_hits_and_close_if_done(batch=batch, marketplace=marketplace())
    batch.refresh_from_db()
    assert batch.state == BatchState.CLOSED
    sums = ledger.sum_entries(batch=batch)
    assert (sums.held, marketplace().get_balance().on_hold_cents, sums.spent) == (0, 0, 110)
    assert marketplace().get_balance().available_cents == 1_000 - 110


def test_a_live_marketplace_takes_no_batch_without_the_typed_cost(
    project: Project, make_image: MakeImage, settings: Any
) -> None:
    settings.MTURK_ENDPOINT, settings.MTURK_LIVE = "aws-production", True
    images = [make_image(1)]
    with pytest.raises(Refused, match=r"type the maximum cost, 1\.68"):
        launched(project, images)
    with pytest.raises(Refused, match="cost"):
        launched(project, images, terms=LaunchTerms(confirmed_cents=167))
    assert not Hit.objects.exists()
    # 110 and 22 fee, two bonuses of 15 and 6 fee: what was typed is what is shown.
    assert launched(project, images, terms=LaunchTerms(confirmed_cents=168)).estimate_cents == 168
