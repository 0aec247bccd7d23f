"""Comparison with the marketplace: each class of difference, its money, and stored remedies."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.utils import timezone

from annotation_site.celery import app
from curation.models import Pair
from hits.domain.states import (
    AssignmentStatus,
    BatchState,
    HitState,
    JobState,
    MismatchRemedy,
    ReviewVerdict,
    SubmissionMatch,
)
from hits.marketplace.models import HIT, Clock
from hits.marketplace.services import attempts as market_attempts
from hits.models import (
    Assignment,
    Attempt,
    Batch,
    Decision,
    Hit,
    Image,
    Job,
    Project,
    Reconciliation,
    Resolution,
    Submission,
)
from hits.mturk.boto import marketplace
from hits.payments import ledger
from hits.selectors import reconciliation
from hits.services.errors import Conflict, Refused
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from hits.services.reconciling import remedies
from hits.services.reconciling.reconcile import (
    MISSING,
    SURPLUS,
    WAITING,
    reconcile_batch,
    reconcile_open_batches,
)
from hits.services.reviewing import review
from hits.tasks import reconcile_batches
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import approve, page_key, published, store

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]


def _compare(batch: Batch) -> Reconciliation:
    return reconcile_batch(batch=Batch.objects.get(pk=batch.pk), marketplace=marketplace())


def _junk(hit: Hit, name: str) -> market.Accepted:
    """Hand in an answer that never was on our page."""
    task = market.accept(hit, market.market_worker(name))
    market_attempts.submit_with_secret(
        secret=task.secret,
        assignment_id=task.slot.assignment_id,
        fields=[("clue", "the lamp & <the> door — grün"), ("ok", "yes")],
        now=Clock.now(),
    )
    return task


def _stored(hit: Hit, name: str) -> tuple[market.Accepted, Submission]:
    """Store an answer on our page without handing it over."""
    task = market.accept(hit, market.market_worker(name))
    key = page_key(hit, task.slot.assignment_id, task.worker.worker_id)
    return task, store(key, observations(salt=name))


def _time_is_over(submission: Submission) -> None:
    batch = submission.attempt.hit.unit.batch
    ago = timedelta(seconds=batch.duration_seconds, hours=1, minutes=1)
    Attempt.objects.filter(pk=submission.attempt_id).update(opened_at=timezone.now() - ago)


@pytest.fixture
def batch(project: Project, make_image: MakeImage) -> Batch:
    """Return a batch of two units with a redundancy of four."""
    market.fund()
    live = published(project, [make_image(1), make_image(2)], terms=LaunchTerms(redundancy=4))
    _nothing_is_under_way()
    return live


def test_each_difference_is_classified_and_the_money_agrees(batch: Batch) -> None:
    one, two = Hit.objects.order_by("pk")
    mine = market.work(one, market.market_worker("matched"), observations(4))
    _junk(one, "junk")
    thief = market.accept(two, market.market_worker("thief"))
    market.submit_form(thief, mine)
    _, lost = _stored(two, "late")
    changed, stored = _stored(two, "changed")
    market.submit_form(changed, stored, sha256="0" * 64)
    found = _compare(batch)
    assert (found.matched, found.marketplace_only, found.mismatch, found.ours_only) == (1, 1, 2, 0)
    _time_is_over(lost)
    approve(Assignment.objects.get(match=SubmissionMatch.MATCHED))
    found = _compare(batch)
    assert (found.matched, found.marketplace_only, found.mismatch, found.ours_only) == (1, 1, 2, 1)
    assert (found.hits, found.failed, found.findings) == (2, 0, [])
    assert found.cents_ours == found.cents_marketplace == 8 * 110 + 15
    (row,) = reconciliation.unmatched_rows(batch, SubmissionMatch.MARKETPLACE_ONLY)
    assert row.fields == [("clue", "the lamp & <the> door — grün"), ("ok", "yes")]
    differing = {
        item.assignment.worker.worker_id: [difference.field for difference in item.differences]
        for item in reconciliation.unmatched_rows(batch, SubmissionMatch.MISMATCH)
    }
    assert differing[thief.worker.worker_id] == ["Worker", "Task", "HIT", "Assignment"]
    assert differing[changed.worker.worker_id] == ["SHA-256 of the answer"]
    batch.refresh_from_db()
    (gone,) = reconciliation.lost_rows(batch)
    assert (gone.submission, gone.cents, gone.resubmitted) == (lost, 110, False)


def test_the_schedule_names_tasks_that_exist_and_compares_every_five_minutes(batch: Batch) -> None:
    app.loader.import_default_modules()
    schedule = app.conf.beat_schedule
    assert {name for name, entry in schedule.items() if entry["task"] not in app.tasks} == set()
    comparing = [entry for entry in schedule.values() if entry["task"] == reconcile_batches.name]
    assert [entry["schedule"] for entry in comparing] == [300]
    _junk(Hit.objects.order_by("pk")[0], "junk")
    app.tasks[comparing[0]["task"]].apply(throw=True)
    found = Reconciliation.objects.get(batch=batch)
    assert (found.matched, found.marketplace_only) == (0, 1)


def test_submission_is_lost_after_its_time_and_grace(batch: Batch) -> None:
    task, stored = _stored(Hit.objects.order_by("pk")[0], "slow")
    Attempt.objects.update(opened_at=timezone.now() - timedelta(seconds=batch.duration_seconds, minutes=59))
    assert _compare(batch).ours_only == 0
    _time_is_over(stored)
    Batch.objects.update(synced_at=timezone.now() - timedelta(minutes=5))
    batch.refresh_from_db()
    # The marketplace was not asked since its time and grace were over: it may well have it by now.
    assert not reconciliation.lost_submissions(batch).exists()
    market.submit_form(task, stored)
    found = _compare(batch)
    assert (found.matched, found.ours_only) == (1, 0)


@pytest.mark.rule(
    "late-submission-kept", source="ours", text="A submission after the deadline is kept, shown and not paid."
)
def test_a_submission_after_the_deadline_is_kept_and_shown_and_not_paid(batch: Batch) -> None:
    from hits.marketplace.errors import ActionRefused as MarketRefused
    from tests.support.marketplace_clock import advance_clock, reset_clock

    hit = Hit.objects.order_by("pk")[0]
    task, stored = _stored(hit, "late")
    advance_clock(by=timedelta(seconds=batch.duration_seconds + 1))
    try:
        with pytest.raises(MarketRefused):
            market.submit_form(task, stored)
    finally:
        reset_clock()
    _time_is_over(stored)
    assert _compare(batch).ours_only == 1
    assert Submission.objects.get().answer == stored.answer
    assert ledger.sum_entries(batch=batch).spent == 0


@pytest.mark.rule(
    "list-assignments-all-pages",
    source="D",
    text="A HIT's assignments come in pages, and the last one may be empty: all are read.",
)
def test_137_assignments_of_one_hit_are_all_classified(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    hit = Hit.objects.get()
    # Our launches make HITs of nine at most, so this one is made as a script would make it.
    client = marketplace()._client
    there = HIT.objects.get(hit_id=hit.hit_id)
    large = client.create_hit_with_hit_type(
        HITTypeId=there.hit_type.hit_type_id,
        MaxAssignments=137,
        LifetimeInSeconds=3600,
        Question=there.question,
        RequesterAnnotation=hit.annotation,
    )["HIT"]
    marketplace().expire(str(hit.hit_id))
    marketplace().delete_hit(str(hit.hit_id))
    Hit.objects.filter(pk=hit.pk).update(hit_id=large["HITId"], max_assignments=137)
    hit.refresh_from_db()
    for number in range(137):
        _junk(hit, f"w{number}")
    found = _compare(batch)
    assert (found.hits, found.failed, found.matched) == (1, 0, 0)
    assert found.marketplace_only == Assignment.objects.count() == 137
    assert found.cents_marketplace == 137 * 110


def test_unmatched_work_is_paid_and_enters_no_dataset(batch: Batch, researcher: User) -> None:
    hit = Hit.objects.order_by("pk")[0]
    _junk(hit, "paid")
    _compare(batch)
    assignment = Assignment.objects.get()
    with pytest.raises(Refused, match="cannot approve it here"):
        review.decide_assignment(assignment=assignment, verdict=ReviewVerdict.APPROVE, by=researcher)
    resolution, decision = remedies.resolve_assignment(
        assignment=assignment, remedy=MismatchRemedy.APPROVE, note="The photo is described.", by=researcher
    )
    assert decision is not None
    review.settle_decision(decision=decision, marketplace=marketplace())
    found = _compare(batch)
    assignment.refresh_from_db()
    assert (assignment.status, assignment.match) == (
        AssignmentStatus.APPROVED,
        SubmissionMatch.MARKETPLACE_ONLY,
    )
    assert found.cents_ours == found.cents_marketplace == 8 * 110
    assert ledger.sum_entries(batch=batch).spent == 110
    assert not Pair.objects.exists()
    assert not Assignment.objects.filter(hit__unit__batch=batch, match=SubmissionMatch.MATCHED).exists()
    assert not reconciliation.undecided_unmatched_assignments(batch).exists()
    (past,) = reconciliation.batch_resolutions(batch)
    assert (past, past.decided_by, past.note) == (resolution, researcher, "The photo is described.")
    with pytest.raises(Conflict):
        remedies.resolve_assignment(
            assignment=assignment, remedy=MismatchRemedy.REJECT, note="No.", by=researcher
        )


def test_a_resolution_of_another_assignment_approves_nothing(batch: Batch) -> None:
    hit = Hit.objects.order_by("pk")[0]
    _junk(hit, "one")
    _junk(hit, "two")
    _compare(batch)
    first, second = Assignment.objects.order_by("pk")
    resolution, _ = remedies.resolve_assignment(
        assignment=first, remedy=MismatchRemedy.APPROVE, note="Good.", by=None
    )
    with pytest.raises(Refused, match="cannot approve it here"):
        review.decide_assignment(
            assignment=second, verdict=ReviewVerdict.APPROVE, by=None, resolution=resolution
        )


def test_a_mismatch_is_rejected_with_a_reason_that_the_worker_reads(batch: Batch, researcher: User) -> None:
    one, two = Hit.objects.order_by("pk")
    mine = market.work(one, market.market_worker("author"))
    market.submit_form(market.accept(two, market.market_worker("thief")), mine)
    _compare(batch)
    row = Assignment.objects.get(match=SubmissionMatch.MISMATCH)
    with pytest.raises(Refused, match="write the reason"):
        remedies.resolve_assignment(assignment=row, remedy=MismatchRemedy.REJECT, note="  ", by=researcher)
    assert not Resolution.objects.exists()
    _, decision = remedies.resolve_assignment(
        assignment=row, remedy=MismatchRemedy.REJECT, note="This answer is somebody else’s.", by=researcher
    )
    assert decision is not None
    review.settle_decision(decision=decision, marketplace=marketplace())
    (there,) = marketplace().list_assignments(str(two.hit_id))
    assert there.status == AssignmentStatus.REJECTED
    assert Decision.objects.get().feedback == "This answer is somebody else’s."
    assert _compare(batch).cents_marketplace == ledger.sum_entries(batch=batch).held == 7 * 110


def test_two_people_resolve_once(batch: Batch, researcher: User, admin: User) -> None:
    _junk(Hit.objects.order_by("pk")[0], "junk")
    _compare(batch)
    row, stale = Assignment.objects.get(), Assignment.objects.get()
    remedies.resolve_assignment(
        assignment=row, remedy=MismatchRemedy.KEEP, note="A test of ours.", by=researcher
    )
    with pytest.raises(Conflict, match="Somebody else"):
        remedies.resolve_assignment(assignment=stale, remedy=MismatchRemedy.APPROVE, note="Pay.", by=admin)
    assert not Decision.objects.exists()


def test_resolutions_and_comparisons_cannot_be_changed(batch: Batch) -> None:
    _junk(Hit.objects.order_by("pk")[0], "junk")
    _compare(batch)
    remedies.resolve_assignment(
        assignment=Assignment.objects.get(), remedy=MismatchRemedy.KEEP, note="A test of ours.", by=None
    )
    for table in ("hits_resolution", "hits_reconciliation"):
        with pytest.raises(DatabaseError, match="append-only"), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table}")


def test_lost_hit_is_republished_and_nothing_is_held_twice(batch: Batch, researcher: User) -> None:
    lost, other = Hit.objects.order_by("pk")
    _vanish(lost)
    found = _compare(batch)
    assert [(row["what"], row["hit"]) for row in found.findings] == [(MISSING, lost.pk)]
    assert found.cents_ours - found.cents_marketplace == 4 * 110
    with pytest.raises(Refused, match="found this HIT"):
        remedies.republish_hit(hit=other, by=researcher)
    remedies.republish_hit(hit=lost, by=researcher)
    batch.refresh_from_db()
    assert publish.publish_batch(batch=batch, marketplace=marketplace()) == 1
    lost.refresh_from_db()
    assert (lost.state, lost.generation) == (HitState.LIVE, 2)
    found = _compare(batch)
    assert (found.findings, found.failed) == ([], 0)
    assert found.cents_ours == found.cents_marketplace == 8 * 110


def test_lost_hit_is_written_off(batch: Batch, researcher: User) -> None:
    lost, _ = Hit.objects.order_by("pk")
    _vanish(lost)
    _compare(batch)
    remedies.write_off_hit(hit=lost, by=researcher)
    with pytest.raises(Conflict):
        remedies.write_off_hit(hit=lost, by=researcher)
    found = _compare(batch)
    assert found.findings == []
    assert found.cents_ours == found.cents_marketplace == 4 * 110


def test_new_hit_is_not_missing(batch: Batch) -> None:
    lost, _ = Hit.objects.order_by("pk")
    HIT.objects.filter(hit_id=lost.hit_id).update(hit_id="3ELSEWHERE", annotation="")
    found = _compare(batch)
    assert (found.failed, found.findings) == (1, [])


def test_unknown_hits_are_recovered_or_expired(batch: Batch, researcher: User) -> None:
    waiting, known = Hit.objects.order_by("pk")
    # The reply was lost: there it is, and here it was never finished.
    Hit.objects.filter(pk=waiting.pk).update(hit_id=None, state=HitState.INTENT)
    there = HIT.objects.get(hit_id=known.hit_id)
    client = marketplace()._client
    fields = {
        "HITTypeId": there.hit_type.hit_type_id, "MaxAssignments": 4, "LifetimeInSeconds": 3600,
        "Question": there.question,
    }  # fmt: skip
    twin = client.create_hit_with_hit_type(**fields, RequesterAnnotation=known.annotation)["HIT"]["HITId"]
    foreign = f"v1/local/{batch.pk}/00000000-0000-4000-8000-000000000000/1"
    client.create_hit_with_hit_type(**fields, RequesterAnnotation=foreign)
    found = _compare(batch)
    assert {(row["what"], row["hit_id"], row["hit"]) for row in found.findings} == {
        (WAITING, waiting.hit_id, waiting.pk),
        (SURPLUS, twin, None),
    }
    batch.refresh_from_db()
    publish.publish_batch(batch=batch, marketplace=marketplace())
    with pytest.raises(Refused, match="does not name"):
        remedies.expire_surplus_hit(batch=batch, hit_id=str(known.hit_id), marketplace=marketplace(), by=None)
    for _ in range(2):
        remedies.expire_surplus_hit(batch=batch, hit_id=twin, marketplace=marketplace(), by=researcher)
    found = _compare(batch)
    assert found.findings == []
    assert found.cents_ours == found.cents_marketplace == 8 * 110


def test_a_closed_batch_keeps_its_sums(batch: Batch) -> None:
    from hits.services.batches.lifecycle import expire_hits, request_close

    market.work(Hit.objects.order_by("pk")[0], market.market_worker(), observations(5))
    _compare(batch)
    approve(Assignment.objects.get())
    request_close(batch=batch, by=None)
    batch.refresh_from_db()
    expire_hits(batch=batch, marketplace=marketplace())
    found = _compare(batch)
    assert Batch.objects.get().state == BatchState.CLOSED
    assert (found.hits, found.cents_ours, found.cents_marketplace) == (0, 140, 140)


def test_all_open_batches_are_compared_on_schedule_with_one_listing(
    batch: Batch, project: Project, make_image: MakeImage, monkeypatch: Any
) -> None:
    published(project, [make_image(7)])
    Batch.objects.filter(pk=published(project, [make_image(8)]).pk).update(state=BatchState.CLOSED)
    _nothing_is_under_way()
    port = marketplace()
    listings: list[int] = []
    real = type(port).list_hits

    def counted(self: Any) -> Any:
        listings.append(1)
        return real(self)

    monkeypatch.setattr(type(port), "list_hits", counted)
    assert reconcile_open_batches(marketplace=port) == 2
    assert len(listings) == 1
    reconcile_batches()
    assert Reconciliation.objects.count() == 4


def test_the_command_prints_one_object_and_refuses_bad_input(batch: Batch, capsys: Any) -> None:
    _junk(Hit.objects.order_by("pk")[0], "junk")
    call_command("reconcile", str(batch.pk), "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["batch"], report["marketplace_only"], report["cents_ours"]) == (batch.pk, 1, 880)
    call_command("reconcile", str(batch.pk))
    assert "1 only on the marketplace" in capsys.readouterr().out
    from django.core.management.base import CommandError

    with pytest.raises(CommandError, match="there is no such batch") as caught:
        call_command("reconcile", "999999")
    assert caught.value.returncode == 2


def _nothing_is_under_way() -> None:
    """Finish the jobs that launches queued; what they are for was done by the helpers."""
    Job.objects.update(state=JobState.DONE)


def _vanish(hit: Hit) -> None:
    """Let the marketplace forget a HIT and what it held for it, some time after it was made."""
    marketplace().expire(str(hit.hit_id))
    marketplace().delete_hit(str(hit.hit_id))
    HIT.objects.filter(hit_id=hit.hit_id).update(hit_id=f"GONE{hit.pk}", annotation="")
    Hit.objects.filter(pk=hit.pk).update(attempt_at=timezone.now() - timedelta(hours=1))
    hit.refresh_from_db()
