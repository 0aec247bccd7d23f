"""Access of workers to a group of HITs: qualifications, counted work, country and blocks."""

import threading
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import HIT, Assignment, Attempt, Clock, Worker
from hits.marketplace.services import accounts, attempts
from tests.hits.marketplace.support import (
    Market,
    accept,
    advance_time,
    hit_params,
    secret_of,
    submit_task,
    work,
)
from tests.hits.marketplace.test_qualifications import APPROVED, LOCALE, make_type
from tests.support.threads import together

Browser = Callable[[Worker], Client]
PERCENT = "000000000000000000L0"
TITLE = "Write observations about one photo"


def need(type_id: str, comparator: str = "Exists", *values: int, guards: str = "Accept") -> dict[str, Any]:
    """Return one requirement."""
    row: dict[str, Any] = {
        "QualificationTypeId": type_id,
        "Comparator": comparator,
        "ActionsGuarded": guards,
    }
    return row | ({"IntegerValues": list(values)} if values else {})


def within(comparator: str, *codes: str, guards: str = "Accept") -> dict[str, Any]:
    """Return one requirement about the country."""
    return need(LOCALE, comparator, guards=guards) | {"LocaleValues": [{"Country": code} for code in codes]}


def publish(client: Any, *asked: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a HIT with requirements."""
    return dict(client.create_hit(**hit_params(QualificationRequirements=list(asked), **more))["HIT"])


def grant(client: Any, type_id: str, person: Worker, value: int = 1) -> None:
    """Give a worker a qualification."""
    client.associate_qualification_with_worker(
        QualificationTypeId=type_id, WorkerId=person.worker_id, IntegerValue=value
    )


def revoke(client: Any, type_id: str, person: Worker, reason: str = "A reason.") -> None:
    """Take it away."""
    client.disassociate_qualification_from_worker(
        QualificationTypeId=type_id, WorkerId=person.worker_id, Reason=reason
    )


def page(client: Client, path: str = "/work/") -> str:
    """Return a page as a person reads it."""
    answer = client.get(path)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


class TestGuards:
    """What an unmet requirement keeps a worker from."""

    @pytest.mark.rule(
        "guards-discover", source="M", text="DiscoverPreviewAndAccept hides a HIT from unqualified workers."
    )
    def test_discover_guard_hides_preview_and_accept(
        self, mturk: Any, worker: Worker, browser: Browser
    ) -> None:
        trained = make_type(mturk)
        hit = publish(mturk, need(trained, guards="DiscoverPreviewAndAccept"))
        client = browser(worker)
        assert TITLE not in page(client)
        assert "Closed to you" not in page(client)
        looked = page(client, f"/work/groups/{hit['HITTypeId']}/preview")
        assert "<iframe" not in looked
        assert "Only for workers who hold the qualification “Trained”. You do not hold it yet." in looked
        refused = client.post(f"/work/groups/{hit['HITTypeId']}/accept", follow=True)
        assert "is closed to you" in unescape(refused.content.decode())
        assert not Attempt.objects.exists()
        grant(mturk, trained, worker)
        assert TITLE in page(client)
        assert "<iframe" in page(client, f"/work/groups/{hit['HITTypeId']}/preview")
        assert accept(worker, hit).worker == worker

    @pytest.mark.rule(
        "guards-preview", source="M", text="PreviewAndAccept hides the task from unqualified workers."
    )
    def test_preview_guard_lists_group_as_closed_without_task(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        trained = make_type(local_client)
        hit = publish(local_client, need(trained, guards="PreviewAndAccept"))
        client = browser(worker)
        listed = page(client)
        assert "Closed to you" in listed
        assert "Finish the training round." in listed
        assert f"/work/groups/{hit['HITTypeId']}/accept" not in listed
        assert "<iframe" not in page(client, f"/work/groups/{hit['HITTypeId']}/preview")

    @pytest.mark.rule("guards-accept", source="M", text="Accept lets every worker preview the task.")
    def test_accept_guard_shows_preview_without_start_button(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        hit = publish(local_client, need(make_type(local_client)))
        looked = page(browser(worker), f"/work/groups/{hit['HITTypeId']}/preview")
        assert "<iframe" in looked
        assert "Closed to you." in looked
        assert f"/work/groups/{hit['HITTypeId']}/accept" not in looked

    @pytest.mark.rule(
        "guards-strictest", source="ours", text="The strictest guard of several unmet requirements applies."
    )
    def test_strictest_unmet_requirement_decides(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        held, missing = make_type(local_client, "Held"), make_type(local_client, "Missing")
        grant(local_client, held, worker)
        publish(local_client, need(held, guards="DiscoverPreviewAndAccept"), need(missing))
        listed = page(browser(worker))
        assert "Only for workers who hold the qualification “Missing”" in listed
        assert "“Held”" not in listed

    @pytest.mark.rule("accept-checked", source="D", text="Requirements are checked when a task is accepted.")
    def test_both_ways_of_accepting_refuse_closed_group(self, local_client: Any, worker: Worker) -> None:
        hit = publish(local_client, need(make_type(local_client)))
        with pytest.raises(ActionRefused, match="is closed to you"):
            accept(worker, hit)
        row = HIT.objects.get(hit_id=hit["HITId"])
        with pytest.raises(ActionRefused, match="is closed to you"):
            attempts.accept_hit(worker=worker, hit=row, now=Clock.now())
        assert not Attempt.objects.exists()


@pytest.mark.rule(
    "comparators-granted-value",
    source="M",
    text="IntegerValues are compared by LessThan, LessThanOrEqualTo, GreaterThan, GreaterThanOrEqualTo, "
    "EqualTo, NotEqualTo, In and NotIn.",
)
@pytest.mark.parametrize(
    ("comparator", "taken"),
    [
        ("LessThan", [1, 0, 0]),
        ("LessThanOrEqualTo", [1, 1, 0]),
        ("EqualTo", [0, 1, 0]),
        ("NotEqualTo", [1, 0, 1]),
        ("GreaterThanOrEqualTo", [0, 1, 1]),
        ("GreaterThan", [0, 0, 1]),
        ("In", [0, 1, 0]),
        ("NotIn", [1, 0, 1]),
    ],
)
def test_granted_value_at_bounds_opens_or_closes_work(
    local_client: Any, workers: list[Worker], comparator: str, taken: list[int]
) -> None:
    rounds = make_type(local_client)
    hit = publish(local_client, need(rounds, comparator, 5), MaxAssignments=3)
    for person, value, allowed in zip(workers, (4, 5, 6), taken, strict=True):
        grant(local_client, rounds, person, value)
        if allowed:
            accept(person, hit)
        else:
            with pytest.raises(ActionRefused, match=f"You hold it at {value}"):
                accept(person, hit)


@pytest.mark.rule(
    "does-not-exist", source="D", text="DoesNotExist closes work to workers who hold a qualification."
)
def test_exclusion_closes_work_for_holders(local_client: Any, worker: Worker, other: Worker) -> None:
    excluded = make_type(local_client, "Has seen the answers")
    hit = publish(local_client, need(excluded, "DoesNotExist"))
    grant(local_client, excluded, worker)
    with pytest.raises(
        ActionRefused, match="Not for workers who hold the qualification “Has seen the answers”"
    ):
        accept(worker, hit)
    assert accept(other, hit)
    revoke(local_client, excluded, worker)
    assert accept(worker, hit)


@pytest.mark.rule("counted-over-all", source="D", text="Approved work counts over all requesters.")
def test_decided_work_counts_over_all_requesters(
    local_market: Market, local_client: Any, worker: Worker, browser: Browser
) -> None:
    other_client = local_market.client(accounts.create_key_pair(name="Other lab", funds_cents=10_000))
    closed = publish(
        local_client, need(APPROVED, "GreaterThanOrEqualTo", 2), need(PERCENT, "GreaterThan", 66)
    )
    first, second, third = (
        work(worker, other_client.create_hit(**hit_params(MaxAssignments=1, Title=f"Warm-up {n}"))["HIT"])
        for n in range(3)
    )
    other_client.approve_assignment(AssignmentId=first.assignment_id)
    assert "Open after 2 approved submissions. You have 1." in page(browser(worker))
    other_client.approve_assignment(AssignmentId=second.assignment_id)
    assert "Closed to you" not in page(browser(worker))
    other_client.reject_assignment(AssignmentId=third.assignment_id, RequesterFeedback="r")
    # 2 of 3 are 66.67 per cent: rounded down, never up over a border
    with pytest.raises(ActionRefused, match="You have 66%, 2 of 3"):
        accept(worker, closed)


@pytest.mark.clock
@pytest.mark.rule("counted-when-due", source="ours", text="Work that is due for approval counts as approved.")
def test_work_due_for_approval_counts_as_approved(local_client: Any, worker: Worker) -> None:
    hit = publish(local_client, need(APPROVED, "GreaterThanOrEqualTo", 1), LifetimeInSeconds=3 * 86_400)
    work(worker, local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"])
    with pytest.raises(ActionRefused, match=r"Open after 1 approved submission\. You have 0"):
        accept(worker, hit)
    advance_time(seconds=86_401)
    assert accept(worker, hit)


class TestRevoking:
    """A revocation takes effect immediately, and the worker reads its reason."""

    @pytest.mark.rule(
        "revoked-at-once",
        source="ours",
        text="DisassociateQualificationFromWorker closes HITs immediately, also on an open page; the "
        "worker reads the reason.",
    )
    def test_revocation_while_page_is_open_refuses_accept(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        trained = make_type(local_client)
        grant(local_client, trained, worker)
        hit = publish(local_client, need(trained))
        client = browser(worker)
        address = f"/work/groups/{hit['HITTypeId']}/accept"
        assert address in page(client)
        revoke(local_client, trained, worker, "Boxes were drawn without looking.")
        refused = unescape(client.post(address, follow=True).content.decode())
        assert "was taken away from you on" in refused
        assert "“Boxes were drawn without looking.”" in refused
        assert not Attempt.objects.exists()
        shown = page(client, "/work/qualifications")
        assert "Taken away" in shown
        assert "“Boxes were drawn without looking.”" in shown

    @pytest.mark.rule(
        "revoked-in-hand",
        source="ours",
        text="A worker who loses a qualification may still submit accepted tasks.",
    )
    def test_work_in_hand_may_be_submitted_after_revocation(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        trained = make_type(local_client)
        grant(local_client, trained, worker)
        hit = publish(local_client, need(trained))
        slot = accept(worker, hit)
        revoke(local_client, trained, worker)
        assert accept(worker, hit).pk == slot.pk  # opens the accepted task, takes no other
        assert submit_task(worker, slot).submitted_at is not None

    def test_concurrent_revoke_and_accept_run_one_after_the_other(
        self, local_market: Market, requester: accounts.KeyPair, worker: Worker
    ) -> None:
        clients = [local_market.client(requester) for _ in range(2)]
        trained = make_type(clients[0])
        grant(clients[0], trained, worker)
        hit = publish(clients[0], need(trained), MaxAssignments=1)
        results = together([lambda: revoke(clients[1], trained, worker), lambda: accept(worker, hit)])
        assert results[0] is None
        assert isinstance(results[1], Assignment | ActionRefused)
        assert Attempt.objects.count() == isinstance(results[1], Assignment)
        with pytest.raises(ActionRefused):
            accept(worker, publish(clients[0], need(trained), Title="Another"))


def test_concurrent_accepts_are_checked_each(local_client: Any, worker: Worker, other: Worker) -> None:
    trained = make_type(local_client)
    grant(local_client, trained, worker)
    hit = publish(local_client, need(trained), MaxAssignments=2)
    results = together([lambda: accept(worker, hit), lambda: accept(other, hit), lambda: accept(worker, hit)])
    taken = [row for row in results if isinstance(row, Assignment)]
    assert [row.worker for row in taken] == [worker, worker]
    assert len({row.pk for row in taken}) == 1
    assert isinstance(results[1], ActionRefused)


class TestBlocks:
    """A requester's own decision to give somebody no new work."""

    @pytest.mark.rule(
        "block-effect",
        source="D",
        text="CreateWorkerBlock gives a worker no new work of this requester until DeleteWorkerBlock; "
        "accepted tasks may be submitted.",
    )
    def test_blocked_worker_gets_no_new_work_and_reads_reason(
        self, local_market: Market, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        hit = local_client.create_hit(**hit_params())["HIT"]
        other_client = local_market.client(accounts.create_key_pair(name="Other lab", funds_cents=10_000))
        free = other_client.create_hit(**hit_params(Title="Free to all"))["HIT"]
        slot = accept(worker, hit)
        local_client.create_hit(**hit_params())
        local_client.create_worker_block(WorkerId=worker.worker_id, Reason="Copied answers")
        client = browser(worker)
        listed = page(client)
        assert "Abduction lab has given you no new work since" in listed
        assert "“Copied answers”." in listed
        assert "<iframe" not in page(client, f"/work/groups/{hit['HITTypeId']}/preview")
        assert "Requesters who give you no new work" in page(client, "/work/qualifications")
        assert accept(worker, free)
        form = {"assignmentId": slot.assignment_id, "answer": "x"}
        receipt = Client().post(f"/a/{secret_of(worker, slot)}/mturk/externalSubmit", form)
        assert receipt.status_code == 200
        local_client.approve_assignment(AssignmentId=slot.assignment_id)
        with pytest.raises(ActionRefused, match="no new work"):
            accept(worker, local_client.create_hit(**hit_params())["HIT"])
        local_client.delete_worker_block(WorkerId=worker.worker_id)
        assert accept(worker, local_client.create_hit(**hit_params())["HIT"])


def test_qualifications_page_shows_held_and_revoked(
    local_client: Any, worker: Worker, browser: Browser
) -> None:
    assert "No qualifications yet" in page(browser(worker), "/work/qualifications")
    grant(local_client, make_type(local_client, "Round <2>"), worker, 87)
    shown = browser(worker).get("/work/qualifications")
    assert b"Round &lt;2&gt;" in shown.content
    text = unescape(shown.content.decode())
    assert "Finish the training round." in text
    assert ">87<" in text
    assert "Abduction lab" in text
    assert b"style=" not in shown.content
    assert b"<script>" not in shown.content


def counted(client: Client, path: str) -> int:
    """Return how many queries a page makes."""
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200
    return len(queries)


def test_query_count_does_not_grow_with_groups_types_and_requirements(
    local_client: Any, worker: Worker, browser: Browser
) -> None:
    client, asked = browser(worker), []
    figures = []
    for number in range(30):
        type_id = make_type(local_client, f"Round {number}")
        grant(local_client, type_id, worker, number)
        if number % 2:
            revoke(local_client, type_id, worker)
        asked.append(need(type_id, "GreaterThan", 1))
        publish(local_client, *asked[-10:], Title=f"Closed {number}")
        open_hit = local_client.create_hit(**hit_params(Title=f"Open {number}"))["HIT"]
        if number in {2, 29}:
            preview = f"/work/groups/{open_hit['HITTypeId']}/preview"
            figures.append([counted(client, path) for path in ("/work/", "/work/qualifications", preview)])
    assert page(client).count('<li class="job">') == 30
    assert page(client).count("Closed ") >= 29
    assert figures[0] == figures[1]


def test_block_waits_for_earlier_accept(
    local_market: Market, requester: accounts.KeyPair, worker: Worker
) -> None:
    client, taken = local_market.client(requester), threading.Event()
    hit = client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    results = together(
        [
            lambda: client.create_worker_block(WorkerId=worker.worker_id, Reason="r") and taken.set(),
            lambda: accept(worker, hit),
        ]
    )
    assert taken.is_set()
    assert isinstance(results[1], Assignment | ActionRefused)
    with pytest.raises(ActionRefused):
        accept(worker, client.create_hit(**hit_params(Title="Another"))["HIT"])
