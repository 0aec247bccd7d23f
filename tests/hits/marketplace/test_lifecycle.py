"""Status by slots and clock, reused slots, auto-approval, request tokens, long lists."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Assignment, Attempt, Clock, LedgerEntry, Outcome, SlotState, Worker
from hits.marketplace.services import accounts, attempts
from hits.marketplace.services.lifecycle import apply_all_due_changes
from tests.hits.marketplace.support import accept, advance_time, hit_params, submit_task, work


def counters(client: Any, hit: dict[str, Any]) -> tuple[str, int, int, int]:
    """Return status and the API's three counters."""
    seen = client.get_hit(HITId=hit["HITId"])["HIT"]
    return (
        seen["HITStatus"],
        seen["NumberOfAssignmentsAvailable"],
        seen["NumberOfAssignmentsPending"],
        seen["NumberOfAssignmentsCompleted"],
    )


@pytest.mark.rule(
    "status-derived",
    source="M",
    text="GetHIT's status follows from slots and clock; submitted assignments are in none of its three "
    "counters.",
)
def test_status_follows_slots_and_clock(local_client: Any, worker: Worker, other: Worker) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=2))["HIT"]
    assert counters(local_client, hit) == ("Assignable", 2, 0, 0)
    first = accept(worker, hit)
    assert counters(local_client, hit) == ("Assignable", 1, 1, 0)
    second = accept(other, hit)
    assert counters(local_client, hit) == ("Unassignable", 0, 2, 0)
    submit_task(worker, first)
    assert counters(local_client, hit) == ("Unassignable", 0, 1, 0)
    submit_task(other, second)
    assert counters(local_client, hit) == ("Reviewable", 0, 0, 0)
    local_client.approve_assignment(AssignmentId=first.assignment_id)
    local_client.reject_assignment(AssignmentId=second.assignment_id, RequesterFeedback="r")
    assert counters(local_client, hit) == ("Reviewable", 0, 0, 2)


@pytest.mark.clock
@pytest.mark.rule(
    "status-expired",
    source="I",
    text="An expired HIT with tasks in progress is Unassignable, then Reviewable; free slots stay "
    "counted as available.",
)
def test_expired_with_work_pending(local_client: Any, worker: Worker) -> None:
    hit = local_client.create_hit(**hit_params(LifetimeInSeconds=60, AssignmentDurationInSeconds=600))["HIT"]
    slot = accept(worker, hit)
    advance_time(seconds=61)
    assert counters(local_client, hit)[0] == "Unassignable"
    submit_task(worker, slot)
    assert counters(local_client, hit) == ("Reviewable", 1, 0, 0)
    with pytest.raises(ActionRefused):
        accept(accounts.create_worker_account(username="late", password="p"), hit)


@pytest.mark.clock
@pytest.mark.rule(
    "slot-reused",
    source="I",
    text="A slot that timed out or was returned goes to the next worker under the same AssignmentId.",
)
def test_abandoned_slot_is_offered_again_under_same_id(
    local_client: Any, worker: Worker, other: Worker
) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1, AssignmentDurationInSeconds=60))["HIT"]
    first = accept(worker, hit)
    with pytest.raises(ActionRefused):
        accept(other, hit)
    advance_time(seconds=61)
    assert counters(local_client, hit) == ("Assignable", 1, 0, 0)
    second = accept(other, hit)
    assert second.assignment_id == first.assignment_id
    submit_task(other, second)
    got = local_client.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert [row["WorkerId"] for row in got] == [other.worker_id]
    outcomes = list(Attempt.objects.order_by("pk").values_list("outcome", flat=True))
    assert outcomes == [Outcome.ABANDONED, Outcome.SUBMITTED]
    assert Attempt.objects.first().ended_at == first.deadline  # type: ignore[union-attr]


@pytest.mark.rule(
    "pending-invisible",
    source="M",
    text="GetAssignment and ListAssignmentsForHIT show an assignment after its submission.",
)
def test_pending_work_is_invisible_to_requesters(local_client: Any, worker: Worker) -> None:
    hit = local_client.create_hit(**hit_params())["HIT"]
    slot = accept(worker, hit)
    assert local_client.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"] == []
    for call in (local_client.get_assignment, local_client.approve_assignment):
        with pytest.raises(ClientError) as failure:
            call(AssignmentId=slot.assignment_id)
        assert failure.value.response["TurkErrorCode"].endswith("InvalidAssignmentState")


@pytest.mark.clock
@pytest.mark.rule(
    "auto-approval",
    source="D",
    text="An undecided submission is approved after AutoApprovalDelayInSeconds and paid once.",
)
def test_repeated_auto_approval_pays_once(local_client: Any, worker: Worker) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1, AutoApprovalDelayInSeconds=3600))["HIT"]
    slot = work(worker, hit)
    advance_time(seconds=3601)
    assert apply_all_due_changes(now=Clock.now()) == 1
    assert apply_all_due_changes(now=Clock.now()) == 0
    row = local_client.get_assignment(AssignmentId=slot.assignment_id)["Assignment"]
    assert row["AssignmentStatus"] == "Approved"
    assert row["ApprovalTime"] == row["AutoApprovalTime"]
    with pytest.raises(ClientError) as failure:  # the review comes too late and fails
        local_client.approve_assignment(AssignmentId=slot.assignment_id)
    assert "status of: Submitted" in failure.value.response["Error"]["Message"]
    assert LedgerEntry.objects.filter(kind="reward").count() == 1


@pytest.mark.clock
@pytest.mark.rule(
    "clock-sweep", source="ours", text="Changes that are due by the clock happen automatically and once."
)
def test_sweep_does_everything_that_is_due(local_client: Any, workers: list[Worker]) -> None:
    hit = local_client.create_hit(
        **hit_params(MaxAssignments=3, AssignmentDurationInSeconds=60, AutoApprovalDelayInSeconds=30)
    )["HIT"]
    work(workers[0], hit)
    accept(workers[1], hit)
    assert apply_all_due_changes(now=Clock.now()) == 0
    advance_time(seconds=120)
    assert apply_all_due_changes(now=Clock.now()) == 2
    assert sorted(Assignment.objects.values_list("state", flat=True)) == ["approved", "open", "open"]


@pytest.mark.clock
@pytest.mark.rule("token-24-hours", source="D", text="A UniqueRequestToken expires after 24 hours.")
def test_request_token_expires_after_a_day(local_client: Any) -> None:
    local_client.create_hit(**hit_params(UniqueRequestToken="t"))
    advance_time(hours=23, minutes=59)
    with pytest.raises(ClientError):
        local_client.create_hit(**hit_params(UniqueRequestToken="t"))
    advance_time(minutes=2)
    local_client.create_hit(**hit_params(UniqueRequestToken="t"))
    assert len(local_client.list_hits()["HITs"]) == 2


@pytest.mark.rule(
    "token-of-a-failed-call", source="ours", text="A call that failed does not use up its token."
)
def test_failed_call_keeps_its_token_usable(local_client: Any) -> None:
    with pytest.raises(ClientError):
        local_client.create_hit(**hit_params(UniqueRequestToken="t", Title=""))
    local_client.create_hit(**hit_params(UniqueRequestToken="t"))


@pytest.mark.rule("token-scope", source="ours", text="A token is valid for one requester and one operation.")
def test_tokens_belong_to_a_requester_and_an_operation(local_market: Any, requester: Any) -> None:
    mine = local_market.client(requester)
    theirs = local_market.client(accounts.create_key_pair(name="Other lab", funds_cents=10_000))
    hit = mine.create_hit(**hit_params(UniqueRequestToken="t"))["HIT"]
    theirs.create_hit(**hit_params(UniqueRequestToken="t"))
    mine.create_additional_assignments_for_hit(
        HITId=hit["HITId"], NumberOfAdditionalAssignments=1, UniqueRequestToken="t"
    )


@pytest.mark.rule(
    "below-ten-stays-below",
    source="D",
    text="CreateAdditionalAssignmentsForHIT never extends from below 10 to 10: "
    "InvalidMaximumAssignmentsIncrease.",
)
def test_extension_from_below_ten_stays_below_ten(local_client: Any) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=8))["HIT"]
    local_client.create_additional_assignments_for_hit(HITId=hit["HITId"], NumberOfAdditionalAssignments=1)
    with pytest.raises(ClientError) as failure:
        local_client.create_additional_assignments_for_hit(
            HITId=hit["HITId"], NumberOfAdditionalAssignments=1
        )
    assert failure.value.response["TurkErrorCode"].endswith("InvalidMaximumAssignmentsIncrease")
    assert counters(local_client, hit)[1] == 9
    assert local_client.get_account_balance()["OnHoldBalance"] == "9.90"


@pytest.mark.rule(
    "assignments-paged",
    source="M",
    text="ListAssignmentsForHIT pages in the order of submission; decisions in between shift nothing.",
)
def test_137_assignments_over_pages(local_client: Any) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=137, Reward="0.01"))["HIT"]
    for number in range(137):
        work(accounts.create_worker_account(username=f"crowd{number}", password="p"), hit, n=str(number))
    pages = list(
        local_client.get_paginator("list_assignments_for_hit").paginate(
            HITId=hit["HITId"], PaginationConfig={"PageSize": 100}
        )
    )
    assert [page["NumResults"] for page in pages] == [100, 37, 0]
    rows = [row for page in pages for row in page["Assignments"]]
    assert len({row["AssignmentId"] for row in rows}) == 137
    assert [row["SubmitTime"] for row in rows] == sorted(row["SubmitTime"] for row in rows)
    approved = rows[0]["AssignmentId"]
    local_client.approve_assignment(AssignmentId=approved)
    only = local_client.list_assignments_for_hit(HITId=hit["HITId"], AssignmentStatuses=["Approved"])
    assert [row["AssignmentId"] for row in only["Assignments"]] == [approved]
    # Decisions taken while somebody turns pages shift nothing.
    first = local_client.list_assignments_for_hit(HITId=hit["HITId"], MaxResults=60)
    for row in first["Assignments"][1:]:
        local_client.reject_assignment(AssignmentId=row["AssignmentId"], RequesterFeedback="r")
    second = local_client.list_assignments_for_hit(
        HITId=hit["HITId"], MaxResults=100, NextToken=first["NextToken"]
    )
    assert [row["AssignmentId"] for row in second["Assignments"]] == [
        row["AssignmentId"] for row in rows[60:]
    ]


@pytest.mark.rule(
    "worker-once-per-hit", source="D", text="A worker does a HIT once and may do other HITs of its type."
)
def test_no_worker_gets_the_same_hit_twice(local_client: Any, worker: Worker) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=2))["HIT"]
    work(worker, hit)
    with pytest.raises(ActionRefused):
        accept(worker, hit)
    another = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    assert accept(worker, another).hit.hit_id == another["HITId"]


@pytest.mark.rule("accept-one-hit", source="ours", text="A worker can accept a slot of one given HIT.")
def test_accept_hit_takes_slot_of_that_hit(local_client: Any, worker: Worker) -> None:
    local_client.create_hit(**hit_params(MaxAssignments=1))
    second = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    row = Assignment.objects.get(hit__hit_id=second["HITId"])
    slot = attempts.accept_hit(worker=worker, hit=row.hit, now=Clock.now())
    assert (slot.pk, slot.state) == (row.pk, SlotState.PENDING)
