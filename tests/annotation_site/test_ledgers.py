"""Bonuses that a script sent with the account's own key: check_ledger names them and writes them into our ledger."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation_site.ledgers import compare_ledgers, post_script_bonuses
from hits.marketplace.models import Assignment as Slot
from hits.marketplace.models import BonusPayment
from hits.models import Assignment, AuditEvent, Batch, Hit, Image, Project
from hits.mturk.boto import marketplace
from hits.payments import ledger
from hits.payments.models import EntryType
from hits.services.launching.terms import LaunchTerms
from hits.services.reconciling import reconcile
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import approve, collected, published

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def batch(project: Project, make_image: Callable[..., Image], settings: Any) -> Batch:
    """Return a batch with one approved piece of work and its bonus, at Amazon's fees."""
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    market.fund()
    made = published(
        project, [make_image(1)], terms=LaunchTerms(reward_cents=100, bonus_cents=15, redundancy=2)
    )
    market.work(Hit.objects.get(), market.market_worker("wilma"), observations(5))
    (assignment,) = collected(made)
    approve(assignment)
    assert BonusPayment.objects.exists()
    assert compare_ledgers().agrees
    return made


def script_sends(cents: int, assignment: Assignment) -> BonusPayment:
    """Send a bonus as somebody's own script does, with the account's key."""
    marketplace().send_bonus(
        worker_id=assignment.worker.worker_id,
        assignment_id=assignment.assignment_id,
        amount_cents=cents,
        reason="Thank you",
        token=f"script-{cents}",
    )
    return BonusPayment.objects.latest("pk")


def test_report_names_script_bonuses(batch: Batch) -> None:
    assignment = Assignment.objects.get()
    sent = script_sends(50, assignment)
    (row,) = compare_ledgers().as_json()["batches_that_differ"]  # type: ignore[misc]
    assert row["scripts_bonuses"] == [
        {
            "bonus": sent.pk,
            "hit_id": assignment.hit.hit_id,
            "assignment_id": assignment.assignment_id,
            "amount_cents": 50,
            "fee_cents": 10,
        }
    ]
    with pytest.raises(CommandError) as refused:
        call_command("check_ledger", stdout=StringIO())
    words = str(refused.value)
    assert f"bonus {sent.pk} of 0.50 with a fee of 0.10 for assignment {assignment.assignment_id}" in words
    assert "check_ledger --book-bonuses" in words
    assert assignment.worker.worker_id not in words
    assert refused.value.returncode == 1


def test_posting_script_bonuses_makes_the_ledgers_agree(batch: Batch) -> None:
    assignment = Assignment.objects.get()
    before = ledger.sum_entries(batch=batch)
    for cents in (50, 3):
        script_sends(cents, assignment)
    out = StringIO()
    call_command("check_ledger", "--book-bonuses", "--json", stdout=out, stderr=StringIO())
    assert json.loads(out.getvalue())["agrees"]
    assert post_script_bonuses() == 0
    after = ledger.sum_entries(batch=batch)
    assert (after.bonus - before.bonus, after.fee - before.fee, after.held) == (53, 11, before.held)
    assert AuditEvent.objects.filter(action="reconcile.book_bonus").count() == 2
    assert BonusPayment.objects.count() == 3, "nothing is sent"


def test_sync_counts_script_bonuses_of_a_batch_without_bonus(batch: Batch) -> None:
    Batch.objects.filter(pk=batch.pk).update(bonus_cents=0)
    script_sends(50, Assignment.objects.get())
    post_script_bonuses()
    found = reconcile.reconcile_batch(batch=Batch.objects.get(pk=batch.pk), marketplace=marketplace())
    assert found.cents_ours == found.cents_marketplace


def test_posting_skips_batch_with_another_difference(batch: Batch) -> None:
    sent = script_sends(50, Assignment.objects.get())
    ledger.post_if_new(entry=EntryType.BONUS, amount_cents=1, key="bonus:by hand", batch=batch)
    assert post_script_bonuses() == 0
    (row,) = compare_ledgers().batches
    assert [bonus.bonus for bonus in row.scripts_bonuses] == [sent.pk]


def test_posting_skips_bonus_for_uncollected_work(batch: Batch) -> None:
    person = market.market_worker("fred")
    market.work(Hit.objects.get(), person, observations(3))
    marketplace().send_bonus(
        worker_id=person.worker_id,
        assignment_id=Slot.objects.get(worker=person).assignment_id,
        amount_cents=20,
        reason="Thank you",
        token="script",
    )
    assert post_script_bonuses() == 0
    assert len(collected(batch)) == 2
    assert post_script_bonuses() == 1
    assert compare_ledgers().agrees
