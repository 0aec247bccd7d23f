"""NotifyWorkers through boto3, and the worker's page Messages."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError
from django.test import Client

from hits.marketplace.models import Message, Worker
from hits.marketplace.services import accounts
from hits.mturk.boto import BotoMarketplace, marketplace
from tests.hits.marketplace.support import Market, advance_time, hit_params, work
from tests.hits.marketplace.test_admission import counted
from tests.hits.marketplace.test_conformance import code_of
from tests.hits.marketplace.test_qualifications import make_type

Browser = Callable[[Worker], Client]
NOBODY = "A" + "Z" * 13


def grant(client: Any, *people: Worker) -> None:
    """Make the workers known to the requester."""
    type_id = make_type(client)
    for person in people:
        client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=person.worker_id)


def notify(client: Any, *names: str, subject: str = "No new tasks", text: str = "Why.") -> dict[str, str]:
    """Return the failure codes by worker id."""
    reply = client.notify_workers(Subject=subject, MessageText=text, WorkerIds=list(names))
    assert all(row["NotifyWorkersFailureMessage"] for row in reply["NotifyWorkersFailureStatuses"])
    return {row["WorkerId"]: row["NotifyWorkersFailureCode"] for row in reply["NotifyWorkersFailureStatuses"]}


def shown(client: Client, path: str = "/work/messages") -> str:
    """Return a page's text, without its spaces' width."""
    reply = client.get(path)
    assert reply.status_code == 200
    return re.sub(r"\s+", " ", reply.content.decode())


@pytest.mark.rule(
    "notify-failures",
    source="M",
    text="NotifyWorkers names unreached workers: HardFailure for a worker who does not exist, "
    "SoftFailure for one whom the caller does not know.",
)
def test_notify_workers_names_unreached_workers_with_reason(
    mturk: Any, worker: Worker, other: Worker
) -> None:
    grant(mturk, worker)
    named = (worker.worker_id, other.worker_id, NOBODY, worker.worker_id)
    assert notify(mturk, *named) == {other.worker_id: "SoftFailure", NOBODY: "HardFailure"}
    (message,) = Message.objects.all()
    assert (message.requester.name, message.worker) == ("Abduction lab", worker)
    assert (message.subject, message.text, message.read_at) == ("No new tasks", "Why.", None)


@pytest.mark.clock
@pytest.mark.rule(
    "notify-known-workers",
    source="D",
    text="NotifyWorkers reaches workers whose work the caller decided before, or to whom the caller "
    "ever granted a qualification.",
)
@pytest.mark.parametrize("decide", ["approve", "reject", "wait", "lose"])
def test_known_worker_has_decision_or_qualification(local_client: Any, worker: Worker, decide: str) -> None:
    slot = work(worker, local_client.create_hit(**hit_params())["HIT"])
    assert notify(local_client, worker.worker_id) == {
        worker.worker_id: "SoftFailure"
    }  # submitted, not decided
    if decide == "approve":
        local_client.approve_assignment(AssignmentId=slot.assignment_id)
    elif decide == "reject":
        local_client.reject_assignment(AssignmentId=slot.assignment_id, RequesterFeedback="r")
    elif decide == "wait":
        advance_time(days=2)  # approved automatically, although no call has read it since
    else:
        here = {"QualificationTypeId": make_type(local_client), "WorkerId": worker.worker_id}
        local_client.associate_qualification_with_worker(**here)
        local_client.disassociate_qualification_from_worker(**here)
    assert notify(local_client, worker.worker_id) == {}


@pytest.mark.rule(
    "notify-known-workers",
    source="D",
    text="NotifyWorkers reaches workers whose work the caller decided before, or to whom the caller "
    "ever granted a qualification.",
)
def test_work_for_another_requester_does_not_count(
    local_market: Market, local_client: Any, worker: Worker
) -> None:
    slot = work(worker, local_client.create_hit(**hit_params())["HIT"])
    local_client.approve_assignment(AssignmentId=slot.assignment_id)
    grant(local_client, worker)
    stranger = local_market.client(accounts.create_key_pair(name="Other lab"))
    assert notify(stranger, worker.worker_id) == {worker.worker_id: "SoftFailure"}
    assert not Message.objects.exists()


@pytest.mark.rule(
    "notify-limits",
    source="D",
    text="NotifyWorkers accepts up to 100 workers, a subject of up to 200 and a text of up to 4,096 "
    "characters.",
)
@pytest.mark.parametrize(
    "changes",
    [
        {"Subject": ""},
        {"Subject": "s" * 201},
        {"MessageText": ""},
        {"MessageText": "t" * 4097},
        {"WorkerIds": []},
        {"WorkerIds": [f"A{n}B" for n in range(101)]},
        {"WorkerIds": ["lower"]},
    ],
)
def test_too_long_or_empty_message_is_refused_and_not_sent(
    local_client: Any, worker: Worker, changes: dict[str, Any]
) -> None:
    grant(local_client, worker)
    good = {"Subject": "s" * 200, "MessageText": "t" * 4096, "WorkerIds": [worker.worker_id]}
    with pytest.raises((ClientError, ParamValidationError)) as failure:
        local_client.notify_workers(**good | changes)
    assert code_of(failure)[0] == "ParameterValidationError"
    assert not Message.objects.exists()
    assert local_client.notify_workers(**good)["NotifyWorkersFailureStatuses"] == []


def test_client_reports_unreached_workers_beyond_100(transactional_db: None, worker: Worker) -> None:
    port: BotoMarketplace = marketplace()
    port.grant(port.get_or_create_qualification_type("Trained", "d"), worker.worker_id, 1)
    names = [f"A{n}B" for n in range(120)] + [worker.worker_id]
    missed = port.notify(names, "Subject", "Text")
    assert missed == dict.fromkeys(names[:-1], "This worker does not exist.")
    assert port.notify([worker.worker_id], "Subject", "Text") == {}
    assert port.notify([], "Subject", "Text") == {}
    assert Message.objects.filter(worker=worker).count() == 2


@pytest.mark.clock
def test_messages_page_shows_newest_first_and_marks_read(
    local_client: Any, worker: Worker, browser: Browser
) -> None:
    client = browser(worker)
    assert "No messages yet" in shown(client)
    grant(local_client, worker)
    notify(local_client, worker.worker_id, subject="First <b>", text="One.\nTwo.\n\n<i>Three</i>")
    advance_time(hours=1)
    notify(local_client, worker.worker_id, subject="Second")
    assert '2 <span class="sr">unread</span>' in shown(client, "/work/history")
    page = shown(client)
    assert page.index("Second") < page.index("First &lt;b&gt;")
    assert "<p>One.<br>Two.</p>" in page
    assert "<p>&lt;i&gt;Three&lt;/i&gt;</p>" in page
    assert page.count("Abduction lab, <time") == page.count(">New</span>") == 2
    assert "unread" not in page
    read = set(Message.objects.values_list("read_at", flat=True))
    assert None not in read
    advance_time(hours=1)
    assert ">New</span>" not in shown(client)
    assert set(Message.objects.values_list("read_at", flat=True)) == read
    assert "unread" not in shown(client, "/work/")


def test_worker_sees_only_own_messages(
    local_client: Any, worker: Worker, other: Worker, browser: Browser
) -> None:
    grant(local_client, worker, other)
    notify(local_client, worker.worker_id, subject="For the first worker alone")
    page = shown(browser(other))
    assert "No messages yet" in page
    assert "For the first worker" not in page
    assert "unread" not in page
    assert Message.objects.get().read_at is None
    assert browser(worker).post("/work/messages").status_code == 405


def test_query_count_does_not_grow_with_messages(local_client: Any, worker: Worker, browser: Browser) -> None:
    client = browser(worker)
    grant(local_client, worker)
    figures = []
    for number in range(25):
        notify(local_client, worker.worker_id, subject=f"Number {number}.")
        if number in {1, 24}:
            figures.append([counted(client, path) for path in ("/work/history", "/work/messages")])
    assert figures[0] == figures[1]


def test_messages_not_shown_stay_unread(local_client: Any, worker: Worker, browser: Browser) -> None:
    grant(local_client, worker)
    for number in range(25):
        notify(local_client, worker.worker_id, subject=f"Number {number}.")
    page = shown(browser(worker))
    assert "Number 5." in page
    assert "Number 4." not in page
    assert '5 <span class="sr">unread</span>' in page
    assert "Number 4." in shown(browser(worker), "/work/messages?page=2")
    assert not Message.objects.filter(read_at=None).exists()
