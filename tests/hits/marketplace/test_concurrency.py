"""Concurrent calls on a file database: the last slot, the last cent, one decision."""

import threading
from typing import Any

import pytest

from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Assignment, Attempt, LedgerEntry, Worker
from hits.marketplace.selectors.accounts import find_unbalanced_requesters
from hits.marketplace.services import accounts, attempts
from tests.hits.marketplace.support import Market, accept, hit_params, work
from tests.support.threads import is_another_blocked, together
from tests.support.waiting import wait_until


@pytest.mark.rule(
    "slot-one-worker",
    source="ours",
    text="If several workers accept the last slot concurrently, exactly one gets it.",
)
def test_last_slot_goes_to_one_worker(local_client: Any, workers: list[Worker]) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    results = together([lambda person=person: accept(person, hit) for person in workers])
    assert sum(isinstance(result, Assignment) for result in results) == 1
    assert sum(isinstance(result, ActionRefused) for result in results) == 2
    assert Attempt.objects.count() == 1


@pytest.mark.rule(
    "accept-while-slots-last",
    source="ours",
    text="Concurrent accepts are not refused while a slot is free, although all try the same HIT first.",
)
def test_no_worker_is_refused_while_slot_is_free(local_client: Any, workers: list[Worker]) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=2))["HIT"]
    local_client.create_hit(**hit_params(MaxAssignments=1))
    results = together([lambda person=person: accept(person, hit) for person in workers])
    assert all(isinstance(result, Assignment) for result in results), results
    assert len({slot.pk for slot in results}) == 3


def test_waiting_worker_gets_last_slot_when_other_accept_fails(
    local_client: Any, workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    holding = threading.Event()
    opened = attempts._create_attempt

    def break_down(slot: Assignment, person: Worker, *rest: Any) -> None:
        if person == workers[0]:
            holding.set()
            wait_until(is_another_blocked)  # the other one comes meanwhile
            raise RuntimeError("the database went away")
        opened(slot, person, *rest)

    def come_second() -> Assignment:
        assert holding.wait(60)
        return accept(workers[1], hit)

    monkeypatch.setattr(attempts, "_create_attempt", break_down)
    broken, taken = together([lambda: accept(workers[0], hit), come_second])
    assert isinstance(broken, RuntimeError)
    assert isinstance(taken, Assignment), taken
    assert taken.worker == workers[1]


@pytest.mark.rule(
    "accept-once", source="ours", text="Several concurrent accepts of one worker take one task."
)
def test_double_click_takes_one_task(local_client: Any, worker: Worker) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=3))["HIT"]
    local_client.create_hit(**hit_params(MaxAssignments=3))
    results = together([lambda: accept(worker, hit)] * 4)
    assert len({slot.pk for slot in results}) == 1
    assert Attempt.objects.count() == 1


@pytest.mark.rule(
    "token-concurrent",
    source="D",
    text="The same UniqueRequestToken in concurrent CreateHIT calls creates one HIT; the other calls "
    "get HITAlreadyExists with its id.",
)
def test_one_token_makes_one_hit(local_market: Market, requester: accounts.KeyPair) -> None:
    clients = [local_market.client(requester) for _ in range(4)]
    params = hit_params(UniqueRequestToken="once")
    results = together([lambda client=client: client.create_hit(**params) for client in clients])
    made = [result for result in results if isinstance(result, dict)]
    assert len(made) == 1
    assert all(made[0]["HIT"]["HITId"] in str(other) for other in results if other is not made[0])


@pytest.mark.rule(
    "funds-concurrent",
    source="ours",
    text="Concurrent CreateHIT calls never hold the same cent twice: a call beyond the balance gets "
    "InsufficientFunds.",
)
def test_concurrent_hits_do_not_hold_same_money_twice(local_market: Market) -> None:
    pair = accounts.create_key_pair(name="Poor lab", funds_cents=220)
    clients = [local_market.client(pair) for _ in range(4)]
    params = hit_params(MaxAssignments=1)
    results = together([lambda client=client: client.create_hit(**params) for client in clients])
    assert sum(isinstance(result, dict) for result in results) == 2
    assert sum("InsufficientFunds" in str(getattr(result, "response", "")) for result in results) == 2
    assert find_unbalanced_requesters() == []


@pytest.mark.rule(
    "decision-once",
    source="D",
    text="Of concurrent ApproveAssignment and RejectAssignment calls about one assignment exactly one "
    "succeeds.",
)
def test_concurrent_decisions_pay_at_most_once(
    local_market: Market, requester: accounts.KeyPair, worker: Worker
) -> None:
    clients = [local_market.client(requester) for _ in range(3)]
    slot = work(worker, clients[0].create_hit(**hit_params(MaxAssignments=1))["HIT"])
    decide = [
        lambda: clients[0].approve_assignment(AssignmentId=slot.assignment_id),
        lambda: clients[1].reject_assignment(AssignmentId=slot.assignment_id, RequesterFeedback="r"),
        lambda: clients[2].approve_assignment(AssignmentId=slot.assignment_id),
    ]
    results = together(decide)
    assert sum(isinstance(result, dict) for result in results) == 1
    assert LedgerEntry.objects.filter(kind__in=["reward", "release"]).count() == 1
    assert find_unbalanced_requesters() == []
