"""Top-ups reach the target, both ledgers agree to the cent, and no press, kill or stop pays twice."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hits.domain.crashpoints import EXIT_STATUS
from hits.domain.money.pay import is_under_target
from hits.domain.states import CallState, JobState
from hits.marketplace.models import BonusPayment, EntryKind
from hits.marketplace.models import LedgerEntry as MarketEntry
from hits.models import Assignment, AuditEvent, Batch, Hit, Image, Job, OutgoingCall, Project, TopUp
from hits.mturk.boto import BotoMarketplace, marketplace
from hits.mturk.port import Balance, Failure, MarketplaceError
from hits.payments import ledger
from hits.payments.summary import sum_batch_money
from hits.selectors import review
from hits.selectors.money import pay, top_ups
from hits.selectors.money.budget import committed_cents
from hits.services.batches import top_up
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.launching.terms import LaunchTerms
from hits.services.outbox import outbox
from hits.tasks import settle_top_up
from tests.support import children, market
from tests.support.answers import observations
from tests.support.loop import approve, collected, published

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
# For a reward of $1.00: 83.33… and 125.0416… cents would be $15 an hour, and 250 with a bonus of 20 earned.
WORKS = [(200.0, 3), (300.1, 3), (600.0, 5), (301.0, 3)]


@pytest.fixture
def batch(project: Project, make_image: MakeImage) -> Batch:
    """Return a batch with four submissions, three of them approved and two of those under $15 an hour."""
    market.fund()
    batch = published(
        project, [make_image(n) for n in range(4)], terms=LaunchTerms(reward_cents=100, bonus_cents=10)
    )
    for hit, (seconds, pairs) in zip(Hit.objects.order_by("pk"), WORKS, strict=True):
        market.work(hit, market.market_worker(f"w{hit.pk}"), observations(pairs), active_seconds=seconds)
    for row in collected(batch)[:3]:
        approve(row)
    return batch


def decide(batch: Batch, **more: Any) -> tuple[TopUp, Job]:
    return top_up.top_up_batch(batch=batch, by=None, marketplace=marketplace(), **more)


def pay_all(row: TopUp) -> None:
    with jobs.leased_job(Job.objects.get(args__top_up=row.pk).pk) as progress:
        top_up.settle_top_up(top_up=row, marketplace=marketplace(), progress=progress)


def check_ledgers(batch: Batch) -> None:
    """Both sides have the same bonuses, to the cent and one by one."""
    theirs = MarketEntry.objects.filter(kind=EntryKind.BONUS).values_list(
        "assignment__assignment_id", "worker_cents"
    )
    ours = ledger.LedgerEntry.objects.filter(batch=batch, entry="bonus").values_list(
        "assignment__assignment_id", "amount_cents"
    )
    assert Counter(ours) == Counter(theirs)
    ours_now, theirs_now = ledger.sum_entries(batch=batch), marketplace().get_balance()
    assert ours_now.held == theirs_now.on_hold_cents
    assert sum(
        MarketEntry.objects.filter(kind=EntryKind.DEPOSIT).values_list("available_cents", flat=True)
    ) == (theirs_now.available_cents + ours_now.held + ours_now.spent)


def test_only_approved_work_under_the_target_is_proposed(batch: Batch) -> None:
    found = top_ups.propose_top_up(batch)
    assert [(gap.active_seconds, gap.earned_cents, gap.shortfall_cents) for gap in found.underpaid] == [
        (300.1, 100, 26),  # 125.0416… is 126 in whole cents, so that nobody stays under
        (600.0, 120, 130),
    ]
    assert (found.cents, found.submission_count, found.target_reached_count) == (156, 2, 1)
    assert [share.cents for share in found.worker_top_ups] == [130, 26], "the most first"


def test_top_up_reaches_the_target_and_the_ledgers_agree(batch: Batch) -> None:
    row, _ = decide(batch, seen_cents=156, idempotency_key="key")
    assert BonusPayment.objects.filter(reason__startswith="Top-up").count() == 0, (
        "nothing leaves before the job"
    )
    assert (row.cents, row.fee_cents, row.submissions, row.target_cents_per_hour) == (156, 0, 2, 1500)
    pay_all(row)
    approved = pay.measured_work(batch)[:3]
    assert not any(is_under_target(work.cents, work.active_seconds, 1500) for work in approved)
    check_ledgers(batch)
    reasons = sorted(BonusPayment.objects.values_list("reason", flat=True))
    assert [reason[:44] for reason in reasons if reason.startswith("Top-up")] == [
        "Top-up to $15.00 for an hour of active time."
    ] * 2
    event = AuditEvent.objects.get(action="batch.top_up")
    assert event.data == {"cents": 156, "fee_cents": 0, "submissions": 2, "target_cents_per_hour": 1500}
    with pytest.raises(Refused, match="Nothing to top up"):
        decide(batch)


def test_the_worker_sees_it_as_a_line_of_its_own(batch: Batch, client: Client) -> None:
    row, _ = decide(batch)
    pay_all(row)
    worker = market.Worker.objects.get(user__username=f"w{Hit.objects.order_by('pk')[2].pk}")
    client.force_login(worker.user)
    words = client.get(reverse("marketplace:earnings")).content.decode()
    assert len(re.findall(r"Top-up to \$15\.00 for an hour of active time\.", words)) == 1
    assert "Your further observations" in words, "the earlier bonus has its own"
    paid = BonusPayment.objects.filter(reason__contains=" Reference ")
    assert paid.exists()
    today = timezone.now()
    page = client.get(reverse("marketplace:statement", args=[today.year, today.month])).content.decode()
    table = client.get(reverse("marketplace:statement-csv", args=[today.year, today.month]))
    for text in (words, page, b"".join(table.streaming_content).decode()):
        assert "Top-up to $15.00 for an hour of active time." in text
        assert "Reference" not in text, "the key by which our side finds the payment"


def test_the_batch_page_counts_paid_top_ups_as_the_chart_does(batch: Batch) -> None:
    before = {row.assignment.pk: row.rate_cents for row in review.load_newest_assignments(batch)}
    row, _ = decide(batch)
    assert {row.assignment.pk: row.rate_cents for row in review.load_newest_assignments(batch)} == before, (
        "not paid yet"
    )
    pay_all(row)
    after = [row.rate_cents for row in review.load_newest_assignments(batch)]
    assert sorted(after) == sorted(work.rate_cents for work in pay.measured_work(batch))
    assert sorted(after) != sorted(before.values())


def test_second_press_tops_up_once(batch: Batch) -> None:
    first, job = decide(batch, idempotency_key="key")
    again, same = decide(batch, idempotency_key="key")
    assert (again.pk, same.pk) == (first.pk, job.pk)
    with pytest.raises(Refused, match="Nothing to top up"):
        decide(batch, idempotency_key="another key")  # what is on its way counts as given
    assert OutgoingCall.objects.filter(top_up__isnull=False).count() == 2


def test_simultaneous_presses_make_one_top_up(batch: Batch) -> None:
    gate = threading.Barrier(4)
    made: list[int] = []

    def press() -> None:
        gate.wait(60)
        made.append(decide(batch, idempotency_key="key")[0].pk)
        connection.close()

    threads = [threading.Thread(target=press) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    assert len(made) == 4
    assert len(set(made)) == TopUp.objects.count() == 1


def test_second_proposal_counts_earlier_top_ups(batch: Batch) -> None:
    pay_all(decide(batch)[0])
    approve(collected(batch)[3])
    found = top_ups.propose_top_up(batch)
    assert [(gap.active_seconds, gap.shortfall_cents) for gap in found.underpaid] == [(301.0, 26)]
    pay_all(decide(batch)[0])
    pay_all(decide(batch, target_cents_per_hour=1800)[0])
    assert not any(
        is_under_target(work.cents, work.active_seconds, 1800) for work in pay.measured_work(batch)
    )
    check_ledgers(batch)


def test_top_up_with_another_sum_than_shown_is_a_conflict(batch: Batch) -> None:
    with pytest.raises(Conflict, match=r"costs \$1.56 with fees now, not \$1.55"):
        decide(batch, seen_cents=155)
    Project.objects.update(confirm_above_cents=155)
    with pytest.raises(Refused, match=r"type the maximum cost, 1\.56"):
        decide(batch, seen_cents=156)
    assert not TopUp.objects.exists()
    assert decide(batch, seen_cents=156, confirmed_cents=156)


def test_top_up_over_cap_funds_or_target_is_refused(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    spent_at_most = batch.estimate_cents
    Batch.objects.update(budget_cap_cents=spent_at_most + 155)
    with pytest.raises(Refused, match="budget: the batch"):
        decide(batch)
    Batch.objects.update(budget_cap_cents=spent_at_most + 156)
    with pytest.raises(Refused, match="target"):
        decide(batch, target_cents_per_hour=100_001)
    monkeypatch.setattr(BotoMarketplace, "get_balance", lambda port: Balance(155, 0))
    with pytest.raises(Refused, match="insufficient funds"):
        decide(batch)
    assert not TopUp.objects.exists()
    assert not OutgoingCall.objects.filter(top_up__isnull=False).exists()


@pytest.mark.parametrize("point", ["settle.after_intent", "settle.after_call", "settle.after_result"])
def test_a_kill_between_the_calls_pays_each_once(batch: Batch, point: str) -> None:
    row, job = decide(batch)
    code = f"from hits.tasks import settle_top_up\nsettle_top_up({job.pk})"
    died = children.run(code, DEERSTALKER_CRASH_AT=point)
    assert died.returncode == EXIT_STATUS, died.stderr
    paid = BonusPayment.objects.filter(reason__startswith="Top-up").count()
    assert paid == (0 if point == "settle.after_intent" else 1)
    # The dead process's leases run out; the sweeper wakes the job again.
    past = timezone.now()
    OutgoingCall.objects.filter(state=CallState.INTENT).update(lease_until=past)
    Job.objects.filter(pk=job.pk).update(lease_until=past)
    settle_top_up(job.pk)
    assert Job.objects.get(pk=job.pk).state == JobState.DONE
    assert BonusPayment.objects.filter(reason__startswith="Top-up").count() == 2
    assert set(row.calls.values_list("state", flat=True)) == {CallState.DONE}
    check_ledgers(batch)


def test_stopped_top_up_refuses_untried_calls(
    batch: Batch, client: Client, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped before the job began, by the button that every job has: the sweep must not pay it after all."""
    row, job = decide(batch)
    client.force_login(admin)
    client.post(reverse("job-cancel", args=[job.pk]))
    outbox.settle_outstanding_calls(marketplace=marketplace())
    assert set(row.calls.values_list("state", flat=True)) == {CallState.REFUSED}
    assert not BonusPayment.objects.filter(reason__startswith="Top-up").exists()
    second, _ = decide(batch)
    assert second.cents == 156, "it is offered again"
    # Stopped while it runs: the first is paid, the second is not.
    real = outbox.settle_call

    def stop_after_one(**args: Any) -> bool:
        done = real(**args)
        jobs.cancel_job(job=Job.objects.get(args__top_up=second.pk))
        return done

    monkeypatch.setattr(outbox, "settle_call", stop_after_one)
    settle_top_up(Job.objects.get(args__top_up=second.pk).pk)
    assert Counter(second.calls.values_list("state", flat=True)) == {CallState.DONE: 1, CallState.REFUSED: 1}
    check_ledgers(batch)
    page = client.get(reverse("batch-top-up", args=[batch.pk])).content.decode()
    assert "Stopped before it was paid." in page


def test_top_up_page_lists_workers_and_takes_the_typed_sum(
    batch: Batch, client: Client, researcher: User
) -> None:
    Project.objects.update(confirm_above_cents=100)
    client.force_login(researcher)
    batch_page = client.get(reverse("batch-detail", args=[batch.pk])).content.decode()
    assert "would lift 2 approved submissions" in " ".join(batch_page.split())
    url = reverse("batch-top-up", args=[batch.pk])
    reply = client.get(url)
    page = " ".join(reply.content.decode().split())
    assert "Top up 2 submissions for $1.56" in page
    for row in Assignment.objects.filter(hit__unit__batch=batch):
        assert row.worker.worker_id not in page
    form = {"idempotency_key": reply.context["idempotency_key"], "seen": "156"}
    missed = client.post(url, form | {"typed_cost": "1.55"})
    assert missed.status_code == 400
    assert "$1.55 is another sum; type the maximum cost, 1.56." in missed.content.decode()
    assert 'value="1.55"' in missed.content.decode()
    assert not TopUp.objects.exists()
    assert client.post(url, form | {"typed_cost": "1.56"}).headers["Location"] == url
    client.post(url, form | {"typed_cost": "1.56"})
    assert TopUp.objects.get().decided_by == researcher
    settle_top_up(Job.objects.get(task=top_up.TASK).pk)
    page = " ".join(client.get(url).content.decode().split())
    assert "Every approved submission reaches the target" in page
    assert '2 <span class="muted">of 2</span>' in page


def test_top_up_page_shows_the_cap_that_refuses(batch: Batch, client: Client, researcher: User) -> None:
    client.force_login(researcher)
    url = reverse("batch-top-up", args=[batch.pk])
    Batch.objects.update(budget_cap_cents=committed_cents(project=batch.project, batch=batch) + 155)
    page = client.get(url).content.decode()
    assert "Over the budget: the batch" in page
    assert "Top up 2 submissions" not in page
    refused = client.post(url, {"idempotency_key": "key", "seen": "156"})
    assert refused.status_code == 400
    assert "Nothing was topped up: budget: the batch" in refused.content.decode()
    assert not TopUp.objects.exists()


def test_top_up_uses_the_fees_of_the_batch(project: Project, make_image: MakeImage, settings: Any) -> None:
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    market.fund()
    batch = published(
        project, [make_image(1), make_image(2)], terms=LaunchTerms(reward_cents=100, bonus_cents=0)
    )
    for hit, seconds in zip(Hit.objects.order_by("pk"), (240.2, 290.0), strict=True):
        market.work(hit, market.market_worker(f"w{hit.pk}"), active_seconds=seconds)
    for row in collected(batch):
        approve(row)
    row, _ = decide(batch)
    # 1 and 21 cents; a fifth of each, at least a cent.
    assert (row.cents, row.fee_cents) == (22, 1 + 4)
    pay_all(row)
    check_ledgers(batch)


def test_calls_refused_without_funds_are_proposed_again(
    batch: Batch, client: Client, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, _ = decide(batch)
    with monkeypatch.context() as patch:
        real = BotoMarketplace.send_bonus

        def too_little(port: BotoMarketplace, *, amount_cents: int, **more: Any) -> None:
            if amount_cents > 100:
                raise MarketplaceError(Failure.NO_FUNDS, "This Requester has insufficient funds.")
            real(port, amount_cents=amount_cents, **more)

        patch.setattr(BotoMarketplace, "send_bonus", too_little)
        pay_all(row)
    client.force_login(admin)
    assert "insufficient funds" in client.get(reverse("batch-top-up", args=[batch.pk])).content.decode()
    again, _ = decide(batch)
    assert (again.cents, again.submissions) == (130, 1)
    pay_all(again)
    check_ledgers(batch)
    money = sum_batch_money(batch)
    assert (money.top_up_count, money.top_up, money.earned_bonus_cents) == (2, 156, 20)


def test_top_up_by_a_stranger_is_refused(batch: Batch, admin: User, outsider: User, annotator: User) -> None:
    url = reverse("batch-top-up", args=[batch.pk])
    form = {"idempotency_key": "key", "seen": "156"}
    for user in (outsider, annotator):
        client = Client()
        client.force_login(user)
        assert client.post(url, form).status_code == 404
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(admin)
    assert strict.post(url, form).status_code == 403
    assert not TopUp.objects.exists()


def test_top_up_command_prints_plan_and_result(batch: Batch) -> None:
    def run(*flags: str) -> dict[str, Any]:
        out = StringIO()
        call_command("top_up", str(batch.pk), "--json", *flags, stdout=out)
        return dict(json.loads(out.getvalue()))

    planned = run("--dry-run")
    assert planned == {
        "batch": batch.pk,
        "target_cents_per_hour": 1500,
        "submissions": 2,
        "cents": 156,
        "fee_cents": 0,
        "dry_run": True,
    }
    with pytest.raises(
        CommandError, match=r"\$41\.30 was confirmed, but the maximum cost is \$1\.56;"
    ) as refused:
        run("--confirm-cents", "4130")  # under the threshold, but not what was meant
    assert refused.value.returncode == 2
    assert not TopUp.objects.exists()
    Project.objects.update(confirm_above_cents=100)
    with pytest.raises(CommandError) as refused:
        run()
    assert refused.value.returncode == 2
    assert "--confirm-cents 156" in str(refused.value)
    done = run("--confirm-cents", "156")
    assert (done["paid"], done["refused"], done["outstanding"]) == (2, 0, 0)
    assert Job.objects.get(task=top_up.TASK).state == JobState.DONE
    check_ledgers(batch)
    with pytest.raises(CommandError, match="--target-cents 0"):
        run("--target-cents", "0", "--dry-run")
