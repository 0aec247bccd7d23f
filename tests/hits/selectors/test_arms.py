"""Which order a worker sees: balanced over a unit's workers, whatever is returned, lapses, or is told late."""

import json
import uuid
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hits import registry
from hits.domain.mturk_formats.notification_events import EventDocument, MarketEvent
from hits.domain.states import ReviewVerdict
from hits.domain.units.arms import first_arm, least_used_arm
from hits.marketplace.models import Clock
from hits.marketplace.services import attempts
from hits.marketplace.services.attempts import ActionRefused as MarketRefused
from hits.models import Assignment, Attempt, Batch, Hit, Project, Submission, Unit
from hits.mturk.boto import marketplace
from hits.selectors.eligibility.arms import count_answers_by_arm
from hits.services.collecting import notifications, submit
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.launch_estimate import estimate_cost
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from hits.services.reviewing import review
from tests.support import market, paths
from tests.support.box_editor import agreed, task_address
from tests.support.loop import collected, page_key
from tests.support.marketplace_day import MarketplaceDay
from tests.support.threads import together

CASES = paths.CASES / "nleye.json"
BEGIN = datetime(2026, 9, 1, 8, tzinfo=UTC)
ANSWER = {"pick": "rain"}


def words(number: int) -> PlannedUnit:
    return PlannedUnit(f"words-{number}", {"words": ["rain", "wind", f"snow {number}"]})


def launched(project: Project, units: int, redundancy: int, *, kind: str = "three_orders") -> Batch:
    market.fund(10_000_000)
    terms = LaunchTerms(redundancy=redundancy)
    cost = estimate_cost(kind=registry.get_kind(kind), terms=terms, units=units)
    batch, _ = launch_batch(
        project=project,
        kind_name=kind,
        name="Orders",
        units=[words(number) for number in range(units)],
        by=None,
        terms=replace(terms, confirmed_cents=cost.max_cents),
    )
    publish.publish_batch(batch=batch, marketplace=marketplace())
    return batch


def _case() -> dict[str, Any]:
    cases = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    return next(case for case in cases if case["name"] == "arms")


@pytest.mark.parametrize("number", range(3))
def test_next_arm_matches_worked_example(number: int) -> None:
    case = _case()
    unit, expected = case["given"]["units"][number], case["expected"]["arms"][number]
    live: dict[str, int] = {}
    given = []
    for event, worker in unit["events"]:
        if event == "return":
            del live[worker]
            continue
        live.setdefault(worker, least_used_arm(live.values(), unit["key"], 2))
        given.append([worker, live[worker]])
    assert given == expected


def test_least_used_arm_breaks_ties_from_the_first_arm() -> None:
    start = first_arm("words-1", 3)
    assert least_used_arm([], "words-1", 3) == start
    assert least_used_arm([start], "words-1", 3) == (start + 1) % 3
    assert least_used_arm([start, (start + 1) % 3], "words-1", 3) == (start + 2) % 3


# A day on the marketplace


def simulate(project: Project, units: int, seed: int) -> tuple[MarketplaceDay, Counter[tuple[int, ...]]]:
    """Play a day of a kind with two arms; return how often units ended in which counts of arms."""
    batch = launched(project, units, 4)
    day = MarketplaceDay(batch, seed, lambda hit: ANSWER)
    with time_machine.travel(BEGIN, tick=False) as clock:
        day.play(clock)
    assert len(collected(batch)) == units * 4
    ends: Counter[tuple[int, ...]] = Counter()
    for unit in Unit.objects.filter(batch=batch):
        rows = Assignment.objects.filter(hit__unit=unit).values_list("submission__shown", flat=True)
        arms = [shown["arm"] for shown in rows]
        ends[tuple(sorted(Counter(arms).values()))] += 1
    return day, ends


@pytest.fixture
def two_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kind have two orders, and let people look twice."""
    monkeypatch.setattr(type(registry.get_kind("three_orders")), "arms", 2)
    monkeypatch.setattr(type(registry.get_kind("three_orders")), "is_single_attempt", False)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("two_orders")
def test_orders_are_balanced_despite_late_or_lost_notifications(project: Project) -> None:
    day, ends = simulate(project, 20, 7)
    assert ends == {(2, 2): 20}
    assert count_answers_by_arm([day.batch]) == [(1, 40), (2, 40)]
    assert Attempt.objects.count() > 85, "some were returned or lapsed"


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("two_orders")
def test_orders_of_two_hundred_units_are_balanced(project: Project) -> None:
    day, ends = simulate(project, 200, 11)
    print(json.dumps({"units": 200, "events": day.events, "ends": {str(k): v for k, v in ends.items()}}))  # noqa: T201
    assert ends == {(2, 2): 200}


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("two_orders")
def test_orders_are_unbalanced_if_older_attempts_stay_open(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule that the balance rests on: without it the simulation above shows what goes wrong."""
    monkeypatch.setattr(submit, "_release_older_attempts", lambda attempt: None)
    monkeypatch.setattr("hits.selectors.eligibility.arms.newest_attempt_per_slot", lambda rows: list(rows))
    _, ends = simulate(project, 20, 7)
    assert ends != {(2, 2): 20}


# What one worker meets


def taken(batch: Batch, name: str, hit: Hit | None = None) -> tuple[market.Accepted, Any]:
    """Accept a task as a worker of that name, agree, and return it with its page's key."""
    task = agreed(market.accept(hit or Hit.objects.get(unit__batch=batch), market.market_worker(name)))
    return task, page_key(task.hit, task.slot.assignment_id, task.worker.worker_id)


def submit_task(task: market.Accepted, key: Any) -> Submission:
    stored, _ = submit.store_submission(key=key, client_uuid=uuid.uuid4(), answer=ANSWER, active_seconds=9.0)
    market.submit_form(task, stored)
    return stored


@pytest.mark.django_db(transaction=True)
def test_three_workers_see_three_orders_that_survive_a_reload(project: Project) -> None:
    batch = launched(project, 1, 3)
    seen = []
    for name in ("wilma", "walter", "wanda"):
        task, key = taken(batch, name)
        first = submit.open_attempt(key).arm
        assert submit.open_attempt(key).arm == first
        stored = submit_task(task, key)
        assert stored.shown is not None
        assert stored.shown["arm"] == first
        seen.append(tuple(stored.shown["words"]))
    assert len(set(seen)) == 3
    assert {words[0] for words in seen} == {"rain", "wind", "snow 0"}
    collected(batch)
    assert count_answers_by_arm([batch]) == [(1, 1), (2, 1), (3, 1)]


@pytest.mark.django_db(transaction=True)
def test_submission_without_open_is_refused(project: Project) -> None:
    batch = launched(project, 1, 3)
    _, key = taken(batch, "wilma")
    with pytest.raises(Refused, match="did not load completely"):
        submit.save_draft(key=key, content=ANSWER, revision=0)
    with pytest.raises(Refused, match="did not load completely"):
        submit.store_submission(key=key, client_uuid=uuid.uuid4(), answer=ANSWER, active_seconds=9.0)
    assert not Submission.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_attempt_from_before_arms_keeps_its_seed(project: Project) -> None:
    batch = launched(project, 1, 3)
    task, key = taken(batch, "wilma")
    attempt = submit.open_attempt(key)
    submit.save_draft(key=key, content=ANSWER, revision=0)
    Attempt.objects.filter(pk=attempt.pk).update(arm=None)
    assert submit.open_attempt(key).arm is None
    assert submit_task(task, key).shown == {"words": ["rain", "wind", "snow 0"]}


@pytest.mark.django_db(transaction=True)
def test_rejected_work_frees_its_order(project: Project) -> None:
    batch = launched(project, 1, 3)
    task, key = taken(batch, "wilma")
    first = submit.open_attempt(key).arm
    submit_task(task, key)
    (row,) = collected(batch)
    decision = review.decide_assignment(
        assignment=row, verdict=ReviewVerdict.REJECT, by=None, feedback="Not one of the words."
    )
    review.settle_decision(decision=decision, marketplace=marketplace())
    collected(batch)
    _, other = taken(batch, "walter")
    assert submit.open_attempt(other).arm == first
    assert count_answers_by_arm([batch]) == []


@pytest.mark.django_db(transaction=True)
def test_notification_of_the_same_second_does_not_end_the_next_attempt(project: Project) -> None:
    batch = launched(project, 1, 1)
    with time_machine.travel(BEGIN + timedelta(milliseconds=100), tick=False) as clock:
        task, key = taken(batch, "wilma")
        submit.open_attempt(key)
        attempts.return_task(worker=task.worker, assignment_id=task.slot.assignment_id, now=Clock.now())
        event = MarketEvent("AssignmentReturned", BEGIN, key.hit_id, key.assignment_id)
        clock.shift(timedelta(milliseconds=500))
        _, other = taken(batch, "walter")
        opened = submit.open_attempt(other)
        notifications.store_notification(environment="local", document=EventDocument("d", (event,)))
    opened.refresh_from_db()
    assert opened.released_at is None
    assert Attempt.objects.get(worker__worker_id=key.worker_id).released_at is not None


@pytest.mark.django_db(transaction=True)
def test_worker_cannot_reopen_single_attempt_unit(project: Project, settings: Any) -> None:
    batch = launched(project, 1, 3)
    task, key = taken(batch, "wilma")
    submit.open_attempt(key)
    attempts.return_task(worker=task.worker, assignment_id=task.slot.assignment_id, now=Clock.now())
    with pytest.raises(MarketRefused, match="You have seen this item before"):
        market.accept(task.hit, task.worker)
    settings.MARKETPLACE_ACCEPT_CHECK = (
        "tests.support.market.asks_nobody"  # as on a marketplace that does not ask
    )
    again = market.accept(task.hit, task.worker)
    key = page_key(task.hit, again.slot.assignment_id, task.worker.worker_id)
    event = MarketEvent("AssignmentReturned", Clock.now(), key.hit_id, task.slot.assignment_id)
    notifications.store_notification(environment="local", document=EventDocument("d", (event,)))
    with pytest.raises(submit.NotEligible, match="seen this task before"):
        submit.open_attempt(key)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("two_orders")
def test_four_concurrent_opens_are_balanced(project: Project) -> None:
    batch = launched(project, 6, 4)
    for unit in Unit.objects.filter(batch=batch):
        hit = Hit.objects.get(unit=unit)
        keys = [taken(batch, f"{name}-{unit.pk}", hit)[1] for name in ("a", "b", "c", "d")]
        found = together([lambda key=key: submit.open_attempt(key).arm for key in keys])
        assert sorted(found) == [0, 0, 1, 1]


@pytest.mark.django_db(transaction=True)
def test_page_waits_for_its_order_and_preview_shows_the_first(project: Project, client: Client) -> None:
    batch = launched(project, 1, 3)
    task, key = taken(batch, "wilma")
    host = task_address(task).split("/")[2]
    preview = client.get(
        reverse("hit-page", args=[key.unit]) + "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE", HTTP_HOST=host
    )
    start = first_arm("words-0", 3)
    ordered = ["rain", "wind", "snow 0"]
    listed = "".join(f"<li>{word}</li>" for word in ordered[start:] + ordered[:start])
    assert listed in preview.content.decode()
    before = client.get(task_address(task), HTTP_HOST=host).content.decode()
    assert "The task opens" in before
    assert "<li>rain</li>" not in before
    assert Attempt.objects.get().arm is None, "a GET writes nothing"
    submit.open_attempt(key)
    after = client.get(task_address(task), HTTP_HOST=host).content.decode()
    assert listed in after
    assert "The task opens" not in after


def _token(client: Client, task: market.Accepted) -> str:
    page = client.get(task_address(task), HTTP_HOST=task_address(task).split("/")[2])
    return str(page.context["config"]["token"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["submission", "draft"])
def test_old_tab_cannot_submit_under_another_order(
    project: Project, client: Client, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(registry.get_kind("three_orders")), "is_single_attempt", False)
    batch = launched(project, 1, 3)
    other, other_key = taken(batch, "walter")
    submit.open_attempt(other_key)
    task, key = taken(batch, "wilma")
    first = submit.open_attempt(key).arm
    old = _token(client, task)
    for one in (other, task):
        attempts.return_task(worker=one.worker, assignment_id=one.slot.assignment_id, now=Clock.now())
    Attempt.objects.update(released_at=timezone.now())
    taken(batch, "wanda")  # the first slot, so that the second is accepted again
    task = market.accept(task.hit, task.worker)
    assert task.slot.assignment_id == key.assignment_id
    assert submit.open_attempt(key).arm != first
    answer = {"client_uuid": str(uuid.uuid4()), "answer": ANSWER, "active_seconds": 9}
    draft = {"content": ANSWER, "revision": 0}
    for token, status in ((old, 400), (_token(client, task), 200)):
        ask, body = (client.post, answer) if way == "submission" else (client.put, draft)
        reply = ask(
            reverse(f"hit-api-{way}"),
            json.dumps(body),
            content_type="application/json",
            headers={"authorization": f"Bearer {token}"},
            HTTP_HOST=task_address(task).split("/")[2],
        )
        assert reply.status_code in {status, status + 1}, reply.content
        assert (status == 200) or "an earlier attempt" in reply.json()["error"]
