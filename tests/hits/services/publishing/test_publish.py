"""Publishing, extending and closing: rate limits, budget checks, progress, and no lost work."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hits import tasks
from hits.domain.crashpoints import EXIT_STATUS
from hits.domain.jobs.speed import describe_speed
from hits.domain.states import BatchState, CallState, HitState, JobState
from hits.marketplace.models import HIT
from hits.models import Assignment, Batch, Extension, Hit, Image, Job, OutgoingCall, Project, Unit
from hits.mturk import boto
from hits.mturk.boto import marketplace
from hits.mturk.port import Environment, Failure, MarketplaceError
from hits.payments import ledger
from hits.services.batches import extensions, lifecycle
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs, wakeups
from hits.services.money import budget
from hits.services.publishing import publish, publisher_lease
from hits.services.publishing.rate_limit import RateLimiter, build_rate_limiter
from tests.support import children, faults, market, wake_ups
from tests.support.failing import (
    CREATE,
    Clock,
    Later,
    check_each_once,
    check_money,
    leases_run_out,
    planned,
    publish_all,
    settle_all,
)
from tests.support.faults import Plan
from tests.support.loop import approve, collected, page_key, published, store
from tests.support.marketplace_clock import reset_clock

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
EXPIRE = "UpdateExpirationForHIT"


@pytest.fixture
def plan(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plan]:
    """Return a plan without faults, which counts calls."""
    settings.MTURK_INPROCESS_TRANSPORT = "tests.support.faults.attach"
    monkeypatch.setenv(faults.ENVIRONMENT, "")
    boto._local.__dict__.clear()
    yield Plan(tmp_path / "faults.json").write()
    boto._local.__dict__.clear()


@pytest.fixture
def once(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Return the plan, with a boto3 that tries each call once, so that our own pace hears of every fault."""
    real = boto.Config
    monkeypatch.setattr(boto, "Config", lambda **more: real(**more | {"retries": {"total_max_attempts": 1}}))
    return plan


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[Later]:
    """Return both clocks."""
    yield Later(monkeypatch)
    reset_clock()


def test_a_token_bucket_lets_five_through_and_then_three_a_second() -> None:
    clock = Clock()
    pace = RateLimiter(3.0, clock=clock, sleep=clock.sleep)
    at = []
    for _ in range(11):
        pace.call(lambda: at.append(clock.now))
    assert at[:5] == [0.0] * 5
    assert at[5:] == pytest.approx([n / 3 for n in range(1, 7)])


def test_throttling_halves_the_pace_and_success_brings_it_back() -> None:
    clock = Clock()
    pace = RateLimiter(8.0, clock=clock, sleep=clock.sleep)
    answers = [MarketplaceError(Failure.THROTTLED, "Rate exceeded")] * 2

    def call() -> str:
        if answers:
            raise answers.pop()
        return "made"

    assert pace.call(call) == "made"
    assert 2.0 < pace.per_second < 2.2
    for _ in range(40):
        pace.call(call)
    assert pace.per_second == 8.0


def test_throttling_of_ten_minutes_and_any_other_error_are_raised() -> None:
    clock = Clock()

    def refused(failure: Failure) -> float:
        pace = RateLimiter(3.0, clock=clock, sleep=clock.sleep)
        start = clock.now

        def call() -> None:
            raise MarketplaceError(failure, "no")

        with pytest.raises(MarketplaceError):
            pace.call(call)
        return clock.now - start

    assert refused(Failure.NO_FUNDS) == 0
    assert 600 <= refused(Failure.THROTTLED) < 620


def test_default_rate_limit_is_amazons_on_amazon_and_none_here(settings: Any) -> None:
    here = marketplace().environment
    sandbox = Environment("aws-sandbox", "https://x.example", False, False, here.fees, "Amazon")
    assert (build_rate_limiter(here).limit, build_rate_limiter(sandbox).limit) == (None, 3.0)
    settings.PUBLISH_PER_SECOND = 7
    assert (build_rate_limiter(here).limit, build_rate_limiter(sandbox).limit) == (7.0, 7.0)


def test_a_publisher_that_lost_its_lease_stops(project: Project, make_image: MakeImage) -> None:
    batch = planned(project, make_image(1), 1)
    with publisher_lease.hold_publisher_lease(batch) as mine:
        mine._renewed -= timedelta(minutes=1)
        mine.ensure_lease()
        Batch.objects.update(lease_owner="somebody else", lease_until=timezone.now() + publisher_lease.LEASE)
        mine.ensure_lease()  # not yet time to look
        mine._renewed -= timedelta(minutes=1)
        with pytest.raises(Conflict, match="published by somebody"):
            mine.ensure_lease()
    assert publisher_lease.is_being_published(batch)  # the other one's lease stands


def test_throttled_publisher_keeps_its_lease(
    project: Project, make_image: MakeImage, once: Plan, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three minutes of waiting for one HIT: twice the lease."""
    market.fund()
    batch = planned(project, make_image(1), 1)
    monkeypatch.setattr(publisher_lease, "RENEW_AFTER", timedelta(milliseconds=20))
    renewed = threading.Semaphore(0)
    real = publisher_lease.Publisher.renew

    def renew(mine: publisher_lease.Publisher) -> bool:
        done = real(mine)
        if threading.current_thread() is not threading.main_thread():
            renewed.release()
        return done

    monkeypatch.setattr(publisher_lease.Publisher, "renew", renew)

    def sleep(_seconds: float) -> None:
        later.by(timedelta(minutes=1))
        while renewed.acquire(blocking=False):
            pass
        for _ in range(2):  # the second one surely began after the clock was moved on
            assert renewed.acquire(timeout=20), "nobody renewed the lease"
        with (
            pytest.raises(Conflict, match="is being published by"),
            publisher_lease.hold_publisher_lease(batch),
        ):
            pytest.fail("a rival took the batch")

    once.write(**{CREATE: [faults.THROTTLE] * 3})
    publish.publish_batch(batch=batch, marketplace=marketplace(), rate_limiter=RateLimiter(None, sleep=sleep))
    assert once.left() == 0
    assert not publisher_lease.is_being_published(batch)
    check_each_once(batch, 1)


def test_a_throttled_publisher_that_lost_its_lease_makes_nothing_more(
    project: Project, make_image: MakeImage, once: Plan, later: Later
) -> None:
    """The machine slept for longer than the lease, and another process has the batch."""
    market.fund()
    batch = planned(project, make_image(1), 2)

    def sleep(_seconds: float) -> None:
        later.by(2 * publisher_lease.LEASE)
        Batch.objects.update(lease_owner="a rival", lease_until=timezone.now() + publisher_lease.LEASE)

    once.write(**{CREATE: [faults.THROTTLE]})
    with pytest.raises(Conflict, match="is being published by a"):
        publish.publish_batch(
            batch=batch, marketplace=marketplace(), rate_limiter=RateLimiter(None, sleep=sleep)
        )
    assert (once.left(), once.calls(CREATE)) == (0, 0)
    assert not HIT.objects.exists()
    assert publisher_lease.is_being_published(batch)
    leases_run_out()
    publish_all()
    check_each_once(batch, 2)


def test_caps_and_funds_are_asked_before_the_first_hit_and_every_hundred(
    project: Project, make_image: MakeImage, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 250 HITs: before the 1st, the 100th and the 200th. A cap lowered meanwhile stops it at the next look."""
    market.fund(50_000_000)
    batch = planned(project, make_image(1), 250)
    asked: list[int] = []
    real = budget.check_batch_budget

    def check(**given: Any) -> None:
        asked.append(Hit.objects.filter(state=HitState.LIVE).count())
        if asked == [0, 99]:
            budget.set_batch_cap(batch=batch, budget_cap_cents=batch.estimate_cents - 1, by=None)
        real(**given)

    monkeypatch.setattr(budget, "check_batch_budget", check)
    with pytest.raises(Refused, match=r"budget: the batch .* \$0\.01 over the cap"):
        publish_all()
    assert (asked, HIT.objects.count(), plan.calls("GetAccountBalance")) == ([0, 99], 99, 1)
    batch.refresh_from_db()
    assert (batch.state, batch.lease_until) == (BatchState.LAUNCHING, None)
    budget.set_batch_cap(batch=batch, budget_cap_cents=batch.estimate_cents, by=None)
    publish_all()
    # The 151 that were left: before the first of them, and before the hundredth.
    assert (asked, plan.calls("GetAccountBalance")) == ([0, 99, 99, 198], 3)
    check_each_once(batch, 250)


def test_progress_shows_speed_and_remaining_time() -> None:
    assert describe_speed(done=310, done_before=10, total=1_000, seconds=100) == "3.0 a second, 4 min left"
    assert describe_speed(done=12, done_before=10, total=400, seconds=60) == "2.0 a minute, 3.2 h left"
    assert (
        describe_speed(done=99, done_before=0, total=100, seconds=20)
        == "5.0 a second, less than a minute left"
    )
    for silent in ({"done": 0}, {"done": 100}, {"seconds": 1}):
        assert describe_speed(**({"done": 50, "done_before": 0, "total": 100, "seconds": 50} | silent)) == ""


def test_a_resumed_job_s_speed_is_that_of_this_run(client: Client, admin: Any, project: Project) -> None:
    job = jobs.enqueue(task="hits.nothing", title="Nothing", project=project)
    client.force_login(admin)
    with jobs.leased_job(job.pk) as progress:
        assert progress is not None
        progress.advance(901, 1_000)
        Job.objects.update(started_at=timezone.now() - timedelta(seconds=45))
        progress.advance(950, 1_000)
        shown = client.get(reverse("api-job", args=[job.pk])).json()
        assert shown["speed"] == "1.1 a second, less than a minute left"


# --- extending


def test_extension_grows_a_hit_to_nine_and_adds_further_slices(
    project: Project, make_image: MakeImage, settings: Any
) -> None:
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    boto._local.__dict__.clear()
    market.fund()
    batch = planned(project, make_image(1), 3, redundancy=7)
    publish_all()
    batch.refresh_from_db()
    cost = extensions.estimate_extension(batch, 5)
    before = ledger.sum_entries(batch=batch).held
    _, job = extensions.extend_batch(batch=batch, more_redundancy=5, by=None)
    tasks.extend_batch(job.pk)
    for unit in Unit.objects.all():
        parts = unit.hits.order_by("slice")
        assert [(hit.slice, hit.max_assignments, hit.state) for hit in parts] == [
            (1, 9, "live"),
            (2, 3, "live"),
        ]
    assert sorted(HIT.objects.values_list("max_assignments", flat=True)) == [3, 3, 3, 9, 9, 9]
    assert ledger.sum_entries(batch=batch).held - before == cost.held_cents
    check_each_once(batch, 6)
    batch.refresh_from_db()
    assert (batch.redundancy, batch.max_assignments) == (12, 9)
    _, job = extensions.extend_batch(batch=batch, more_redundancy=8, by=None)
    tasks.extend_batch(job.pk)
    assert sorted(
        Hit.objects.filter(unit=Unit.objects.first()).values_list("max_assignments", flat=True)
    ) == [2, 9, 9]
    check_money(batch)


@pytest.mark.clock
def test_more_time_moves_the_end_of_every_task_once(
    project: Project, make_image: MakeImage, plan: Plan, later: Later
) -> None:
    market.fund()
    batch = planned(project, make_image(1), 2)
    publish_all()
    batch.refresh_from_db()
    ends = dict(HIT.objects.values_list("hit_id", "expires_at"))
    extensions.extend_batch(batch=batch, more_seconds=3 * 86_400, by=None)
    assert children.forked(settle_all, crash_at="settle.after_call") == EXIT_STATUS
    leases_run_out()
    later.by(timedelta(hours=25))
    plan.write()
    settle_all()
    for hit in HIT.objects.all():
        assert abs(hit.expires_at - ends[hit.hit_id] - timedelta(days=3)) < timedelta(seconds=1)
        assert abs(Hit.objects.get(hit_id=hit.hit_id).expires_at - hit.expires_at) < timedelta(seconds=1)
    assert set(OutgoingCall.objects.values_list("state", flat=True)) == {CallState.DONE}


def test_second_press_extends_nothing_and_a_second_request_waits(
    project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = planned(project, make_image(1), 1)
    publish_all()
    batch.refresh_from_db()
    first, job = extensions.extend_batch(batch=batch, more_redundancy=2, by=None, idempotency_key="key")
    again, same = extensions.extend_batch(batch=batch, more_redundancy=2, by=None, idempotency_key="key")
    assert (again, same) == (first, job)
    with pytest.raises(Conflict, match="is unfinished"):
        extensions.extend_batch(batch=batch, more_redundancy=2, by=None, idempotency_key="other")
    tasks.extend_batch(job.pk)
    assert (Extension.objects.count(), HIT.objects.get().max_assignments) == (1, 3)


def _extend_by_two() -> None:
    extensions.extend_batch(batch=Batch.objects.get(), more_redundancy=2, by=None, idempotency_key="key")


def test_extension_killed_after_planning_is_executed_once(
    project: Project, make_image: MakeImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.fund()
    batch = planned(project, make_image(1), 2)
    publish_all()
    Job.objects.update(state=JobState.DONE)
    assert children.forked(_extend_by_two, crash_at="extend.after_plan") == EXIT_STATUS
    assert (Extension.objects.count(), OutgoingCall.objects.count()) == (1, 2)
    assert set(HIT.objects.values_list("max_assignments", flat=True)) == {1}
    _extend_by_two()  # pressed again, because no answer came
    assert (Extension.objects.count(), OutgoingCall.objects.count()) == (1, 2)
    Job.objects.update(created_at=timezone.now() - timedelta(seconds=6), woken_at=None)
    woken: list[int] = []
    monkeypatch.setattr(wakeups, "send_wakeup", lambda job: woken.append(job.pk))
    wake_ups.forget()
    assert jobs.sweep_jobs() == 1  # whoever pressed is gone, and the wake-up with them
    tasks.extend_batch(woken[0])
    assert set(HIT.objects.values_list("max_assignments", flat=True)) == {3}
    assert set(OutgoingCall.objects.values_list("state", flat=True)) == {CallState.DONE}
    check_money(batch)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "add workers per item, days"),
        ({"more_redundancy": 100}, "add 99 at most"),
        ({"more_seconds": 59}, "at least a minute"),
        ({"more_redundancy": 3, "available_cents": 329}, "insufficient funds"),
    ],
)
def test_impossible_extension_is_refused_before_anything_is_written(
    project: Project, make_image: MakeImage, options: dict[str, int], why: str
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    with pytest.raises(Refused, match=why):
        extensions.extend_batch(batch=batch, by=None, **options)
    assert not Extension.objects.exists()
    assert Batch.objects.get().redundancy == 1


def test_an_extension_above_the_threshold_or_the_cap_is_refused(
    project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    Project.objects.update(confirm_above_cents=100)
    most = extensions.estimate_extension(batch, 2).max_cents
    with pytest.raises(Refused, match="type the maximum cost"):
        extensions.extend_batch(batch=batch, more_redundancy=2, by=None, confirmed_cents=most - 1)
    Project.objects.update(budget_cap_cents=batch.estimate_cents + most - 1)
    with pytest.raises(Refused, match="cap"):
        extensions.extend_batch(batch=batch, more_redundancy=2, by=None, confirmed_cents=most)
    Project.objects.update(budget_cap_cents=batch.estimate_cents + most)
    extensions.extend_batch(batch=batch, more_redundancy=2, by=None, confirmed_cents=most)


def test_extension_without_funds_is_shown_and_retried(
    project: Project, make_image: MakeImage, client: Client, admin: Any
) -> None:
    market.fund(110)
    batch = published(project, [make_image(1)])
    _, job = extensions.extend_batch(batch=batch, more_redundancy=1, by=None)
    tasks.extend_batch(job.pk)
    job.refresh_from_db()
    assert (job.state, "insufficient funds" in job.error) == (JobState.FAILED, True)
    client.force_login(admin)
    page = client.get(reverse("batch-detail", args=[batch.pk])).content.decode()
    assert "1 task could not be extended" in page
    market.fund(110)
    client.post(reverse("batch-extend-again", args=[batch.pk]))
    tasks.extend_batch(Job.objects.latest("pk").pk)
    assert HIT.objects.get().max_assignments == 2
    check_money(batch)


def test_extend_page_names_the_action_while_another_extension_is_unfinished(
    project: Project, make_image: MakeImage, client: Client, admin: Any
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    client.force_login(admin)
    url, again = reverse("batch-extend", args=[batch.pk]), reverse("batch-extend-again", args=[batch.pk])

    def shown() -> str:
        return client.get(url, {"redundancy": "2"}).content.decode()

    assert "Extend for" in shown()
    _, job = extensions.extend_batch(batch=batch, more_redundancy=2, by=None)
    page = shown()
    assert "An earlier extension is still running" in page
    assert ("Extend for" in page, job.title in page) == (False, True)
    jobs.cancel_job(job=job)
    extensions.refuse_calls_if_stopped(job=job)
    page = shown()
    assert f'action="{again}"' in page
    assert "before you start another one: press “Try again”" in page
    assert "Extend for" not in page
    Project.objects.update(confirm_above_cents=1)
    assert 'name="typed_cost"' not in shown(), "nothing is to be typed that cannot be sent"
    Project.objects.update(confirm_above_cents=10_000)
    refused = client.post(url, {"redundancy": "2", "idempotency_key": "another"})
    assert (refused.status_code, f'action="{again}"' in refused.content.decode()) == (400, True)
    client.post(again)
    tasks.extend_batch(Job.objects.latest("pk").pk)
    assert "Extend for" in shown()


def test_extend_page_names_the_action_while_a_task_is_unpublished(
    project: Project, make_image: MakeImage, client: Client, admin: Any
) -> None:
    market.fund()
    batch = published(project, [make_image(1), make_image(2)])
    Job.objects.update(state=JobState.DONE)
    Hit.objects.filter(pk=Hit.objects.latest("pk").pk).update(state=HitState.INTENT, hit_id=None)
    client.force_login(admin)
    page = client.get(reverse("batch-extend", args=[batch.pk]), {"redundancy": "2"}).content.decode()
    assert "1 task is not published yet" in page
    assert f'action="{reverse("batch-publish", args=[batch.pk])}"' in page
    assert "Extend for" not in page


def test_the_page_shows_the_cost_and_extends(
    project: Project, make_image: MakeImage, client: Client, admin: Any
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    client.force_login(admin)
    url = reverse("batch-extend", args=[batch.pk])
    page = client.get(url, {"redundancy": "2", "days": "3"}).content.decode()
    assert "2 more workers for each photo, 3 more days" in " ".join(page.split())
    assert "Maximum cost" in page
    client.post(url, {"redundancy": "2", "days": "3", "idempotency_key": "once"})
    client.post(url, {"redundancy": "2", "days": "3", "idempotency_key": "once"})
    extension = Extension.objects.get()
    assert (extension.more_redundancy, extension.more_seconds) == (2, 3 * 86_400)
    assert extension.estimate_cents == 2 * (110 + 2 * 15)


def test_extend_command_extends_and_names_refusals(
    project: Project, make_image: MakeImage, capsys: pytest.CaptureFixture[str]
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    call_command("extend_batch", str(batch.pk), "--redundancy", "2", "--days", "1", "--json")
    assert '"opinions": 3' in capsys.readouterr().out
    assert HIT.objects.get().max_assignments == 3
    with pytest.raises(CommandError, match="--days -1: use 0 or more") as caught:
        call_command("extend_batch", str(batch.pk), "--days", "-1")
    assert caught.value.returncode == 2


# --- closing


def _expire() -> None:
    lifecycle.expire_hits(batch=Batch.objects.get(), marketplace=marketplace())


@pytest.mark.parametrize("tasks_offered", [100, pytest.param(500, marks=pytest.mark.nightly)])
def test_all_tasks_are_taken_off_and_twenty_in_hand_lose_nothing(
    project: Project, make_image: MakeImage, plan: Plan, tasks_offered: int
) -> None:
    market.fund(50_000_000)
    batch = planned(project, make_image(1), tasks_offered)
    publish_all()
    worker = market.market_worker()
    in_hand = [market.accept(hit, worker) for hit in Hit.objects.select_related("unit")[:20]]
    keys = [page_key(task.hit, task.slot.assignment_id, worker.worker_id) for task in in_hand]
    begun = [store(key, _answer(number)) for number, key in enumerate(keys[:10])]
    batch.refresh_from_db()
    Job.objects.update(state=JobState.DONE)
    lifecycle.request_close(batch=batch, by=None)
    for point in (
        "expire.after_plan",
        "settle.after_intent:10",
        "settle.after_call:20",
        "settle.after_result:30",
    ):
        assert children.forked(_expire, crash_at=point) == EXIT_STATUS
        leases_run_out()
    assert children.forked(_expire, crash_at="dispose.after_call:5") == EXIT_STATUS
    assert children.forked(_expire) == 0
    calls = OutgoingCall.objects.filter(operation="expire")
    assert set(calls.values_list("state", flat=True)) == {CallState.DONE}
    plan.write()
    assert children.forked(_expire) == 0
    assert plan.calls(EXPIRE) == 0  # nothing is expired twice
    assert HIT.objects.filter(disposed_at=None).count() == 20
    for task, submission in zip(in_hand[:10], begun, strict=True):
        market.submit_form(task, submission)
    for number, (task, key) in enumerate(zip(in_hand[10:], keys[10:], strict=True), start=10):
        market.submit_form(task, store(key, _answer(number)))
    rows = collected(batch)
    assert len(rows) == 20
    lifecycle.dispose_hits_and_close_if_done(batch=batch, marketplace=marketplace())
    assert HIT.objects.filter(disposed_at=None).count() == 20  # what waits for a decision stays
    for row in rows:
        approve(row)
    assert lifecycle.dispose_hits_and_close_if_done(batch=batch, marketplace=marketplace())
    assert not HIT.objects.filter(disposed_at=None).exists()
    assert Assignment.objects.filter(status="Approved", match="matched").count() == 20
    assert ledger.sum_entries(batch=batch).held == 0
    check_money(batch)


def _answer(number: int) -> dict[str, Any]:
    from tests.support.answers import observations

    return observations(3, salt=str(number))


def test_closing_can_be_stopped_and_resumed(project: Project, make_image: MakeImage, plan: Plan) -> None:
    market.fund()
    batch = planned(project, make_image(1), 6)
    publish_all()
    Job.objects.update(state=JobState.DONE)
    job = lifecycle.request_close(batch=Batch.objects.get(), by=None)
    real = marketplace().expire

    class Stopping:
        """The marketplace, and somebody who presses “Stop” after the second task."""

        environment = marketplace().environment
        made = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(marketplace(), name)

        def expire(self, hit_id: str) -> None:
            real(hit_id)
            self.made += 1
            if self.made == 2:
                jobs.cancel_job(job=job)

    port = Stopping()
    with jobs.leased_job(job.pk) as progress:
        lifecycle.expire_hits(batch=batch, marketplace=port, progress=progress)  # type: ignore[arg-type]
    job.refresh_from_db()
    assert (job.state, port.made) == (JobState.CANCELLED, 2)
    assert OutgoingCall.objects.filter(state=CallState.PLANNED).count() == 4
    tasks.sync_live_batches()  # what was wished stands, and is carried out by the sweep
    batch.refresh_from_db()
    assert (batch.state, ledger.sum_entries(batch=batch).held) == (BatchState.CLOSED, 0)
    assert plan.calls(EXPIRE) == 6
    assert plan.calls(CREATE) == 6


def test_a_command_names_the_other_publisher_and_a_job_leaves_it_alone(
    project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = planned(project, make_image(1), 1)
    job = Job.objects.get(exclusive_key=f"publish:{batch.pk}")
    with publisher_lease.hold_publisher_lease(batch):
        with pytest.raises(CommandError, match=r"^Batch is being published by .*process \d+") as caught:
            call_command("resume_batch", str(batch.pk))
        assert caught.value.returncode == 2
        tasks.publish_batch(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.QUEUED  # not “done”: the other one may be killed
    assert job.not_before is not None
    [line] = job.lines.values_list("text", flat=True)
    assert "Waits: Batch is being published by" in line
    assert not HIT.objects.exists()
    call_command("resume_batch", str(batch.pk))
    check_each_once(batch, 1)
