"""Failures: every connection fault, and kills at every crash point; nothing is doubled or lost.

A kill is ``os._exit`` in a fork that works on the test's file database; see ``tests/support/children.py``.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from hits import tasks
from hits.domain.crashpoints import EXIT_STATUS
from hits.domain.states import CallState, HitState, JobState, ReviewVerdict
from hits.marketplace.models import HIT, BonusPayment
from hits.marketplace.models import Assignment as Slot
from hits.models import Assignment, AuditEvent, Batch, Hit, Image, Job, OutgoingCall, Project
from hits.mturk import boto
from hits.mturk.boto import marketplace
from hits.mturk.port import Environment
from hits.services.batches import extensions
from hits.services.errors import Conflict
from hits.services.outbox import outbox
from hits.services.publishing import publish
from hits.services.publishing.rate_limit import RateLimiter, build_rate_limiter
from hits.services.reviewing import review
from tests.support import children, faults, market
from tests.support.answers import observations
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
    spread,
)
from tests.support.faults import DROP_AFTER, FAIL_AFTER, HANG_AFTER, KINDS, THROTTLE, Plan
from tests.support.loop import collected
from tests.support.marketplace_clock import reset_clock

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
KILLS = 10  # at each place


@pytest.fixture
def plan(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plan]:
    """Return a plan of faults that this process and its forks follow; boto3 repeats without a pause."""
    settings.MTURK_INPROCESS_TRANSPORT = "tests.support.faults.attach"
    monkeypatch.setenv(faults.ENVIRONMENT, "")
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))
    boto._local.__dict__.clear()
    yield Plan(tmp_path / "faults.json").write()
    boto._local.__dict__.clear()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[Later]:
    """Return both clocks."""
    yield Later(monkeypatch)
    reset_clock()


@pytest.fixture(autouse=True)
def funds(db: None) -> None:
    """Deposit more than enough."""
    market.fund(50_000_000)


PUBLISHING = ["publish.before_intent", "publish.after_intent", "publish.after_call", "publish.after_result"]


@pytest.mark.nightly
def test_a_thousand_hits_through_every_fault_and_forty_kills(
    project: Project, make_image: MakeImage, plan: Plan
) -> None:
    batch = planned(project, make_image(1), 1_000)
    assert children.forked(publish_all, crash_at="publish.after_type_call") == EXIT_STATUS
    for number in range(KILLS):
        plan.hide_hit_id = bool(number % 2)  # both ways in which “already processed” was seen
        for point in PUBLISHING:
            leases_run_out()
            plan.write(**{CREATE: spread(), "ListHITs": spread()})
            assert children.forked(publish_all, crash_at=f"{point}:{20 + number % 7}") == EXIT_STATUS
    leases_run_out()
    plan.write(**{CREATE: spread()})
    assert children.forked(publish_all) == 0
    assert plan.left() == 0
    check_each_once(batch, 1_000)
    plan.write()
    assert children.forked(publish_all) == 0
    assert (plan.calls(CREATE), plan.calls("CreateHITType")) == (0, 0)


SETTLING = ["settle.before_intent", "settle.after_intent", "settle.after_call", "settle.after_result"]
PAYING = ("ApproveAssignment", "SendBonus")


@pytest.mark.long
def test_three_hundred_approvals_and_bonuses_through_faults_and_kills(
    project: Project, make_image: MakeImage, plan: Plan
) -> None:
    batch = planned(project, make_image(1), 300)
    publish_all()
    worker = market.market_worker()
    for hit in Hit.objects.select_related("unit"):
        market.work(hit, worker, observations(5, salt=str(hit.pk)))
    for row in collected(batch):
        review.decide_assignment(assignment=row, verdict=ReviewVerdict.APPROVE, by=None)
    assert OutgoingCall.objects.count() == 600
    for number in range(KILLS):
        for point in SETTLING:
            leases_run_out()
            plan.write(**{name: spread() for name in PAYING})
            assert children.forked(settle_all, crash_at=f"{point}:{12 + number % 3}") == EXIT_STATUS
    leases_run_out()
    plan.write()
    assert children.forked(settle_all) == 0
    assert set(OutgoingCall.objects.values_list("state", flat=True)) == {CallState.DONE}
    assert Slot.objects.filter(state="approved").count() == BonusPayment.objects.count() == 300
    check_money(batch)
    plan.write()
    assert children.forked(settle_all) == 0
    assert [plan.calls(name) for name in PAYING] == [0, 0]


@pytest.mark.clock
def test_publishing_again_after_a_day_makes_no_duplicate(
    project: Project, make_image: MakeImage, plan: Plan, later: Later
) -> None:
    batch = planned(project, make_image(1), 20)
    for point in ("publish.after_intent", "publish.after_call"):
        assert children.forked(publish_all, crash_at=f"{point}:5") == EXIT_STATUS
        leases_run_out()
    lost = Hit.objects.filter(state=HitState.INTENT)
    assert lost.count() == 1  # made, and its reply lost
    # Another one was tried, and never came to be.
    Hit.objects.filter(pk=Hit.objects.filter(state=HitState.PLANNED).latest("pk").pk).update(
        state=HitState.INTENT, attempt_at=lost.get().attempt_at
    )
    later.by(timedelta(hours=25))
    for point in ("publish.after_look", "publish.after_generation"):
        assert children.forked(publish_all, crash_at=point) == EXIT_STATUS
        leases_run_out()
    assert children.forked(publish_all) == 0
    check_each_once(batch, 20)
    assert sorted(Hit.objects.values_list("generation", flat=True)) == [1] * 19 + [2]


@pytest.mark.clock
@pytest.mark.parametrize(
    ("hours", "made", "creates", "generation"),
    [
        pytest.param(22.5, True, 1, 1, id="22.5 hours later the token is sent again"),
        pytest.param(23.5, True, 0, 1, id="23.5 hours later the list is read first"),
        pytest.param(23.5, False, 1, 2, id="and a HIT that is not on it begins anew"),
    ],
)
def test_token_is_trusted_for_an_hour_less_than_its_life(
    project: Project,
    make_image: MakeImage,
    plan: Plan,
    later: Later,
    hours: float,
    made: bool,
    creates: int,
    generation: int,
) -> None:
    """Mechanical Turk forgets it after 24 hours by its own clock, which may be ahead of ours."""
    batch = planned(project, make_image(1), 1)
    point = "publish.after_call" if made else "publish.after_intent"
    assert children.forked(publish_all, crash_at=point) == EXIT_STATUS
    assert HIT.objects.count() == made
    later.by(timedelta(hours=hours))
    plan.write()
    publish_all()
    assert plan.calls(CREATE) == creates
    assert (plan.calls("ListHITs") > 0) == (hours > 23)
    assert Hit.objects.get().generation == generation
    check_each_once(batch, 1)


@pytest.mark.clock
def test_duplicate_hit_is_expired_once_and_shown(
    project: Project, make_image: MakeImage, plan: Plan, later: Later
) -> None:
    """Somebody repeated the call by hand after the token's death, as a naive publisher would."""
    batch = planned(project, make_image(1), 2)
    assert children.forked(publish_all, crash_at="publish.after_call") == EXIT_STATUS
    hit, first = Hit.objects.get(state=HitState.INTENT), HIT.objects.get()
    later.by(timedelta(hours=25))
    batch.refresh_from_db()
    marketplace().create_hit(
        hit_type_id=batch.hit_type_id,
        question=first.question,
        annotation=hit.annotation,
        max_assignments=1,
        lifetime_seconds=3_600,
        token=hit.token,
    )
    leases_run_out()
    assert children.forked(publish_all, crash_at="publish.after_surplus") == EXIT_STATUS
    leases_run_out()
    publish_all()
    hit.refresh_from_db()
    assert hit.hit_id == first.hit_id
    twins = HIT.objects.filter(annotation=hit.annotation).order_by("pk")
    assert [twin.expires_at > first.created_at + timedelta(hours=26) for twin in twins] == [True, False]
    event = AuditEvent.objects.get(action="batch.surplus")
    assert (event.subject, event.data["kept"]) == (str(batch.pk), first.hit_id)


@pytest.mark.clock
def test_bonuses_and_extensions_are_not_repeated_after_a_day(
    project: Project, make_image: MakeImage, plan: Plan, later: Later
) -> None:
    batch = planned(project, make_image(1), 3)
    publish_all()
    worker = market.market_worker()
    for hit in Hit.objects.select_related("unit"):
        market.work(hit, worker, observations(5, salt=str(hit.pk)))
    for row in collected(batch):
        review.decide_assignment(assignment=row, verdict=ReviewVerdict.APPROVE, by=None)
    batch.refresh_from_db()
    extensions.extend_batch(batch=batch, more_redundancy=2, by=None)
    for number in range(
        9
    ):  # each call dies once after it went through; its successor makes it good and dies itself
        point = "settle.after_call:2" if number else "settle.after_call"
        assert children.forked(settle_all, crash_at=point) == EXIT_STATUS
        later.by(timedelta(hours=25))
    plan.write()
    settle_all()
    assert BonusPayment.objects.count() == 3
    assert set(HIT.objects.values_list("max_assignments", flat=True)) == {3}
    assert set(Hit.objects.values_list("max_assignments", flat=True)) == {3}
    assert set(OutgoingCall.objects.values_list("state", flat=True)) == {CallState.DONE}
    check_money(batch)


def _publish_or_meet() -> None:
    with suppress(Conflict):
        publish_all()
        return
    children.leave(3)


def test_two_publishers_at_once_make_each_hit_once(
    project: Project, make_image: MakeImage, plan: Plan
) -> None:
    batch = planned(project, make_image(1), 150)
    both = [children.start(_publish_or_meet) for _ in range(2)]
    assert sorted(children.wait(child) for child in both) == [0, 3]
    assert plan.calls(CREATE) == 150
    check_each_once(batch, 150)


def test_a_dead_publisher_s_lease_is_named_and_runs_out(
    project: Project, make_image: MakeImage, plan: Plan
) -> None:
    batch = planned(project, make_image(1), 3)
    assert children.forked(publish_all, crash_at="publish.after_call") == EXIT_STATUS
    with pytest.raises(Conflict, match=r"is being published by .*process \d+, last heard of at"):
        publish_all()
    leases_run_out()
    publish_all()
    check_each_once(batch, 3)


def _lose(project: Project, image: Image, plan: Plan, call: str, kind: str) -> Batch:
    """Lose the reply of one call, and let the next process recover."""
    operation = {
        "create": CREATE,
        "extend": "CreateAdditionalAssignmentsForHIT",
        "approve": "ApproveAssignment",
        "bonus": "SendBonus",
    }[call]
    batch = planned(project, image, 1)
    if call == "create":
        plan.write(**{operation: [kind]})
        publish_all()
        return batch
    publish_all()
    market.work(Hit.objects.get(), market.market_worker(), observations(5))
    if call == "extend":
        batch.refresh_from_db()
        extensions.extend_batch(batch=batch, more_redundancy=4, by=None)
    else:
        (row,) = collected(batch)
        review.decide_assignment(assignment=row, verdict=ReviewVerdict.APPROVE, by=None)
    plan.write(**{operation: [kind]})
    settle_all()
    return batch


def _check_lost(batch: Batch, plan: Plan, call: str) -> None:
    assert plan.left() == 0
    assert HIT.objects.count() == 1
    assert Hit.objects.get().hit_id == HIT.objects.get().hit_id
    assert set(OutgoingCall.objects.values_list("state", flat=True)) <= {CallState.DONE}
    assert BonusPayment.objects.count() == (call in {"approve", "bonus"})
    assert (
        HIT.objects.get().max_assignments
        == Hit.objects.get().max_assignments
        == (5 if call == "extend" else 1)
    )
    if call in {"approve", "bonus"}:
        assert Assignment.objects.get().status == "Approved"
    check_money(batch)


LOST = [FAIL_AFTER, DROP_AFTER, HANG_AFTER]
CALLS = ["create", "extend", "approve", "bonus"]


@pytest.mark.parametrize("kind", LOST)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("repeats", [True, False], ids=["boto3 repeats", "boto3 gives up"])
def test_lost_reply_is_recovered(
    project: Project,
    make_image: MakeImage,
    plan: Plan,
    call: str,
    kind: str,
    repeats: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not repeats:
        real = boto.Config
        monkeypatch.setattr(
            boto, "Config", lambda **more: real(**more | {"retries": {"total_max_attempts": 1}})
        )
        boto._local.__dict__.clear()
    try:
        batch = _lose(project, make_image(1), plan, call, kind)
    except publish.Refused:
        assert not repeats
        batch = Batch.objects.get()
        publish_all()
    settle_all()
    _check_lost(batch, plan, call)


@pytest.mark.parametrize("ours", [0, 12], ids=["without a limit of ours", "ours is four times as fast"])
def test_throttling_slows_down_and_nobody_is_shown_an_error(
    project: Project,
    make_image: MakeImage,
    plan: Plan,
    settings: Any,
    client: Client,
    admin: Any,
    monkeypatch: pytest.MonkeyPatch,
    ours: int,
) -> None:
    """Publish two hundred HITs at three a second, while the batch's page shows progress."""
    settings.PUBLISH_PER_SECOND = ours
    clock = Clock()
    monkeypatch.setattr(faults, "time", SimpleNamespace(monotonic=clock))
    batch = planned(project, make_image(1), 200)
    job = Job.objects.get(exclusive_key=f"publish:{batch.pk}")
    client.force_login(admin)
    slowed: list[float] = []

    class Watched(RateLimiter):
        def _slow_down(self) -> None:
            super()._slow_down()
            slowed.append(clock.now)
            if len(slowed) <= 3:
                _check_no_error_is_shown(client, batch, job)

    def pace(environment: Environment) -> RateLimiter:
        return Watched(build_rate_limiter(environment).limit, clock=clock, sleep=clock.sleep)

    monkeypatch.setattr(publish, "build_rate_limiter", pace)
    plan.per_second = 3
    plan.write()
    tasks.publish_batch(job.pk)
    assert len(slowed) >= 3, "what boto3 repeats by itself does not reach our pace"
    assert plan.met(THROTTLE) > len(slowed)
    assert plan.calls(CREATE) == 200
    assert 60 < clock.now < 120  # 65 seconds are the least that three a second allow
    plan.per_second = 0
    plan.write()
    check_each_once(batch, 200)
    _check_no_error_is_shown(client, batch, job)
    job.refresh_from_db()
    assert (job.state, job.done, job.total) == (JobState.DONE, 200, 200)


@pytest.mark.long
def test_two_hundred_hits_at_three_a_second(
    project: Project, make_image: MakeImage, plan: Plan, settings: Any
) -> None:
    """The same in real seconds."""
    settings.PUBLISH_PER_SECOND = 12
    batch = planned(project, make_image(1), 200)
    plan.per_second = 3
    plan.write()
    publish_all()
    assert plan.met(THROTTLE) > 0
    plan.per_second = 0
    plan.write()
    check_each_once(batch, 200)
    assert not Hit.objects.exclude(error="").exists()


def _check_no_error_is_shown(client: Client, batch: Batch, job: Job) -> None:
    job.refresh_from_db()
    assert (job.error, job.result) == ("", {})
    assert not Hit.objects.exclude(error="").exists()
    for address in (
        reverse("batch-detail", args=[batch.pk]),
        reverse("project-batches", args=[batch.project.slug]),
        reverse("api-job", args=[job.pk]),
    ):
        page = client.get(address)
        assert page.status_code == 200
        shown = page.content.decode()
        for word in (
            'role="alert"',
            'class="errors"',
            "stopped with",
            "Throttling",
            "Rate exceeded",
            "slow down",
        ):
            assert word not in shown, f"{address} shows {word}"


@pytest.mark.clock
def test_a_hit_that_the_list_does_not_show_yet_is_waited_for(
    project: Project, make_image: MakeImage, plan: Plan, later: Later
) -> None:
    batch = planned(project, make_image(1), 5)
    plan.lag_seconds, plan.hide_hit_id = 30, True
    plan.write(**{CREATE: [DROP_AFTER, "", "", DROP_AFTER]})
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        later.by(timedelta(seconds=seconds))

    publish.publish_batch(batch=batch, marketplace=marketplace(), rate_limiter=RateLimiter(None, sleep=sleep))
    assert 30 <= sum(waited) <= 61
    check_each_once(batch, 5)


@pytest.mark.clock
def test_lagging_list_does_not_make_a_hit_again(project: Project, make_image: MakeImage, plan: Plan) -> None:
    batch = planned(project, make_image(1), 2)
    plan.lag_seconds, plan.hide_hit_id = 3_600, True
    plan.write(**{CREATE: [DROP_AFTER]})
    impatient = RateLimiter(None, sleep=lambda _: None)
    with pytest.raises(publish.Refused, match="does not list them yet"):
        publish.publish_batch(batch=batch, marketplace=marketplace(), rate_limiter=impatient)
    plan.lag_seconds = 0
    plan.write()
    publish_all()
    check_each_once(batch, 2)


@contextmanager
def bad_line(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reach the marketplace through a real server, a real socket, and a line that hangs up in the middle."""
    outside, inside = children.free_port(), children.free_port()
    line = f"http://localhost:{outside}"
    origin = f"http://127.0.0.1:{outside}"
    real = boto.Config
    monkeypatch.setattr(boto, "Config", lambda **more: real(**more | {"read_timeout": 2}))
    with (
        children.server(inside, PUBLIC_URL=line, HIT_ORIGIN=origin) as server,
        faults.proxy(outside, server),
    ):
        settings.MTURK_ENDPOINT, settings.HIT_ORIGIN = f"{line}/mturk/", origin
        yield


@pytest.mark.long
def test_two_hundred_hits_over_http_through_every_fault_and_sixteen_kills(
    project: Project, make_image: MakeImage, plan: Plan, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bad_line(settings, monkeypatch):
        batch = planned(project, make_image(1), 200)
        assert children.forked(publish_all, crash_at="publish.after_type_call") == EXIT_STATUS
        for number in range(4):
            plan.hide_hit_id = bool(number % 2)
            for point in PUBLISHING:
                leases_run_out()
                # What hangs keeps the line for seconds, so that only the first round does.
                plan.write(
                    **{CREATE: spread(KINDS if number == 0 else KINDS[:-1]), "ListHITs": spread(KINDS[:-1])}
                )
                assert children.forked(publish_all, crash_at=f"{point}:{11 + number}") == EXIT_STATUS
        leases_run_out()
        plan.write(**{CREATE: spread()})
        assert children.forked(publish_all) == 0
        assert plan.left() == 0
        check_each_once(batch, 200)
        plan.write()
        assert children.forked(publish_all) == 0
        assert (plan.calls(CREATE), plan.calls("CreateHITType")) == (0, 0)


@pytest.mark.long
def test_every_fault_occurs_over_http(
    project: Project, make_image: MakeImage, plan: Plan, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bad_line(settings, monkeypatch):
        batch = planned(project, make_image(1), 12)
        plan.write(**{CREATE: spread(KINDS)})
        publish_all()
        assert plan.left() == 0
        worker = market.market_worker()
        for hit in Hit.objects.select_related("unit"):
            market.work(hit, worker, observations(5, salt=str(hit.pk)))
        for row in collected(batch):
            review.decide_assignment(assignment=row, verdict=ReviewVerdict.APPROVE, by=None)
        batch.refresh_from_db()
        extensions.extend_batch(batch=batch, more_redundancy=3, by=None)
        plan.write(**{name: spread(KINDS) for name in (*PAYING, "CreateAdditionalAssignmentsForHIT")})
        for _ in range(2):
            outbox.settle_outstanding_calls(marketplace=marketplace())
        assert plan.left() == 0
        assert set(OutgoingCall.objects.values_list("state", flat=True)) == {CallState.DONE}
        assert BonusPayment.objects.count() == 12
        assert set(HIT.objects.values_list("max_assignments", flat=True)) == {4}
        check_each_once(batch, 12)
