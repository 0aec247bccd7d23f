"""Behaviour that old scripts and pages expect from Amazon's service."""

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from django.conf import settings
from django.test import Client
from django.utils import timezone

from hits.marketplace.models import Assignment, Notification, SlotState, Worker
from tests.hits.marketplace.support import accept, hit_params, secret_of
from tests.hits.marketplace.test_conformance import code_of

pytestmark = pytest.mark.django_db(transaction=True)
HIT_HOST = settings.HIT_ORIGIN.removeprefix("http://")


@pytest.fixture
def slot(local_client: Any, worker: Worker) -> Assignment:
    return accept(worker, local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"])


def address(worker: Worker, slot: Assignment, end: str = "/mturk/externalSubmit") -> str:
    return f"/a/{secret_of(worker, slot)}{end}"


@pytest.mark.rule(
    "external-submit-get",
    source="ours",
    text="externalSubmit accepts a form sent by GET at the attempt's secret URL, but not at the URL "
    "without a secret.",
)
def test_form_without_method_submits_by_get(worker: Worker, slot: Assignment) -> None:
    sent = {"assignmentId": slot.assignment_id, "answer": "a cat", "more": ["1", "2"]}
    reply = Client().get(address(worker, slot), sent)
    assert reply.status_code == 200
    assert reply["Content-Security-Policy"].count("frame-ancestors 'self'") == 1
    slot.refresh_from_db()
    assert slot.state == SlotState.SUBMITTED
    for words in ("a cat", "<QuestionIdentifier>answer</QuestionIdentifier>"):
        assert words in slot.answer
    again = Client().get(address(worker, slot), sent | {"answer": "a dog"})
    assert again.status_code == 200
    slot.refresh_from_db()
    assert "a dog" not in slot.answer


@pytest.mark.parametrize(
    "path", ["/mturk/externalSubmit", "/a/wrong/mturk/externalSubmit", "/mturk/externalSubmit/"]
)
def test_get_without_secret_submits_nothing_and_shows_message(
    worker: Worker, slot: Assignment, browser: Any, path: str
) -> None:
    reply = browser(worker).get(path, {"assignmentId": slot.assignment_id, "answer": "x"})
    assert reply.status_code in {405, 409}
    assert "frame-ancestors 'self'" in reply["Content-Security-Policy"]
    assert reply["X-Frame-Options"] == "SAMEORIGIN"
    slot.refresh_from_db()
    assert slot.state == SlotState.PENDING


@pytest.mark.parametrize("end", ["/mturk/externalSubmit/", "//mturk/externalSubmit", "/mturk/externalSubmit"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_submit_urls_with_extra_slashes_work(worker: Worker, slot: Assignment, end: str, method: str) -> None:
    send = getattr(Client(), method)
    assert send(address(worker, slot, end), {"assignmentId": slot.assignment_id, "a": "b"}).status_code == 200


def test_bare_submit_url_may_begin_with_two_slashes(worker: Worker, slot: Assignment, browser: Any) -> None:
    sent = {"assignmentId": slot.assignment_id, "a": "b"}
    assert browser(worker).post("/", sent, PATH_INFO="//mturk/externalSubmit").status_code == 200


def test_post_with_assignment_id_in_query_is_accepted(worker: Worker, slot: Assignment) -> None:
    path = f"{address(worker, slot)}?assignmentId={slot.assignment_id}"
    assert Client().post(path, {"answer": "x"}).status_code == 200


@pytest.mark.rule(
    "revoked-has-no-score",
    source="I",
    text="GetQualificationScore of a revoked qualification is an error that names the status Granted.",
)
def test_a_revoked_qualification_has_no_score(local_client: Any, worker: Worker) -> None:
    kind = local_client.create_qualification_type(
        Name="Bench", Description="d", QualificationTypeStatus="Active"
    )
    here = {
        "QualificationTypeId": kind["QualificationType"]["QualificationTypeId"],
        "WorkerId": worker.worker_id,
    }
    local_client.associate_qualification_with_worker(**here, IntegerValue=2)
    local_client.disassociate_qualification_from_worker(**here)
    with pytest.raises(
        ClientError, match="This operation can be called with a status of: Granted"
    ) as failure:
        local_client.get_qualification_score(**here)
    assert code_of(failure)[1] == "InvalidQualificationState"


def test_type_without_test_accepts_test_duration(local_client: Any) -> None:
    made = local_client.create_qualification_type(
        Name="No test", Description="d", QualificationTypeStatus="Active", TestDurationInSeconds=60
    )
    assert made["QualificationType"]["Name"] == "No test"


@pytest.mark.rule(
    "events-before-disposal",
    source="ours",
    text="For a HIT expired and deleted in sequence, the expired and reviewable events come before the "
    "disposed event.",
)
def test_events_of_an_expired_and_deleted_hit_come_in_order(local_client: Any) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    local_client.update_notification_settings(
        HITTypeId=hit["HITTypeId"],
        Notification={
            "Destination": f"{settings.PUBLIC_URL}/notifications/x",
            "Transport": "SNS",
            "Version": "2014-08-15",
            "EventTypes": ["HITExpired", "HITReviewable", "HITDisposed"],
        },
    )
    local_client.update_expiration_for_hit(
        HITId=hit["HITId"], ExpireAt=timezone.now() - timezone.timedelta(days=1)
    )
    local_client.delete_hit(HITId=hit["HITId"])
    event_types = [row.document["Events"][0]["EventType"] for row in Notification.objects.order_by("pk")]
    assert event_types == ["HITExpired", "HITReviewable", "HITDisposed"]


@pytest.mark.parametrize(
    ("path", "host"), [("/mturk/", HIT_HOST), ("/", "localhost:8000"), ("/mturk/x", "localhost:8000")]
)
def test_call_at_wrong_url_names_right_url(path: str, host: str) -> None:
    reply = Client(enforce_csrf_checks=True).post(
        path,
        data="{}",
        content_type="application/x-amz-json-1.1",
        HTTP_HOST=host,
        headers={"X-Amz-Target": "MTurkRequesterServiceV20170117.GetAccountBalance"},
    )
    assert reply.status_code == 400
    assert reply["Content-Type"] == "application/x-amz-json-1.1"
    assert json.loads(reply.content)["Message"] == (
        f"The requester API is not at this address. Use endpoint_url={settings.PUBLIC_URL}/mturk/"
    )


def test_boto_error_shows_right_url(live_server: Any, settings: Any) -> None:
    settings.PUBLIC_URL = live_server.url.replace("localhost", "console.example")
    client = boto3.client(
        "mturk",
        region_name="us-east-1",
        endpoint_url=live_server.url,
        aws_access_key_id="A",
        aws_secret_access_key="B",
    )
    with pytest.raises(ClientError, match=r"Use endpoint_url=.*/mturk/"):
        client.get_account_balance()


def test_rejection_without_reason_is_shown_as_such(
    local_client: Any, worker: Worker, slot: Assignment, browser: Any
) -> None:
    Client().post(address(worker, slot), {"assignmentId": slot.assignment_id, "a": "b"})
    local_client.reject_assignment(AssignmentId=slot.assignment_id, RequesterFeedback="")
    pages = ("/work/history", "/work/", f"/work/tasks/{slot.assignment_id}")
    assert all("No reason given." in browser(worker).get(page).content.decode() for page in pages)
