"""Notifications: events, settings, allowed destinations, and retries after failures."""

import json
import threading
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
from botocore.exceptions import ClientError
from django.db import transaction

from hits.domain.crashpoints import EXIT_STATUS
from hits.marketplace import delivery, tasks
from hits.marketplace.models import (
    Clock,
    HITType,
    Notification,
    NotificationSetting,
    NotificationState,
    Worker,
)
from hits.marketplace.services import accounts, attempts, events, lifecycle, notifications
from hits.marketplace.services.events import EventType
from hits.marketplace.shapes import service_model
from tests.hits.marketplace.mailbox import Mailbox, deliver, hit_type, specification, subscribe
from tests.hits.marketplace.support import Market, accept, advance_time, hit_params, submit_task, work
from tests.hits.marketplace.test_conformance import code_of
from tests.support import children

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.rule(
    "notification-document",
    source="D",
    text="A notification is a document with EventDocVersion 2014-08-15, EventDocId, CustomerId and "
    "Events. An event has EventType, EventTimestamp (UTC), HITTypeId, HITId and, if there is one, "
    "AssignmentId, but never a WorkerId.",
)
@pytest.mark.rule(
    "notification-settings-by-type",
    source="M",
    text="UpdateNotificationSettings sets the destination for the events of one HIT type.",
)
def test_sns_envelope_holds_document(mturk: Any, worker: Worker, mailbox: Mailbox) -> None:
    type_id = subscribe(mturk, mailbox, "AssignmentSubmitted")
    slot = work(worker, mturk.create_hit(**hit_params())["HIT"])
    assert deliver() == 1
    ((path, headers, body),) = mailbox.posts
    assert (path, headers["x-amz-sns-message-type"]) == ("/inbox?lab=1", "Notification")
    envelope = json.loads(body)
    assert {"Type", "MessageId", "TopicArn", "Message", "Timestamp"} <= set(envelope)
    document = json.loads(envelope["Message"])
    assert set(document) == {"EventDocVersion", "EventDocId", "CustomerId", "Events"}
    assert (document["EventDocVersion"], document["EventDocId"]) == ("2014-08-15", envelope["MessageId"])
    (event,) = document["Events"]
    assert event.pop("EventTimestamp").endswith("Z")
    assert event == {
        "EventType": "AssignmentSubmitted",
        "HITTypeId": type_id,
        "HITId": slot.hit.hit_id,
        "AssignmentId": slot.assignment_id,
    }
    assert worker.worker_id not in body.decode()


@pytest.mark.rule(
    "notification-sqs",
    source="D",
    text="With Transport SQS the same document is the MessageBody of a SendMessage form (version 2012-11-05).",
)
def test_sqs_form_holds_document(local_client: Any, worker: Worker, mailbox: Mailbox) -> None:
    subscribe(local_client, mailbox, "AssignmentSubmitted", transport="SQS")
    work(worker, local_client.create_hit(**hit_params())["HIT"])
    assert deliver() == 1
    ((_, headers, body),) = mailbox.posts
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    assert (form["Action"], form["Version"]) == ("SendMessage", "2012-11-05")
    assert json.loads(form["MessageBody"])["Events"][0]["EventType"] == "AssignmentSubmitted"


@pytest.mark.clock
@pytest.mark.rule(
    "notification-event-types",
    source="M",
    text="There are eleven event types: AssignmentAccepted, AssignmentAbandoned, AssignmentReturned, "
    "AssignmentSubmitted, AssignmentRejected, AssignmentApproved, HITCreated, HITExpired, "
    "HITReviewable, HITExtended, HITDisposed; Ping is for tests only.",
)
def test_each_event_type_is_sent_once(local_client: Any, workers: list[Worker], mailbox: Mailbox) -> None:
    subscribe(local_client, mailbox)
    hit = local_client.create_hit(**hit_params(MaxAssignments=2))["HIT"]
    returned = accept(workers[0], hit)
    attempts.return_task(worker=workers[0], assignment_id=returned.assignment_id, now=Clock.now())
    accept(workers[0], hit)
    advance_time(seconds=1801)
    first = work(workers[1], hit)
    local_client.create_additional_assignments_for_hit(HITId=hit["HITId"], NumberOfAdditionalAssignments=1)
    second = work(workers[2], hit)
    local_client.approve_assignment(AssignmentId=first.assignment_id)
    local_client.reject_assignment(AssignmentId=second.assignment_id, RequesterFeedback="Empty.")
    advance_time(seconds=1900)
    tasks.sweep_due()
    tasks.sweep_due()
    local_client.delete_hit(HITId=hit["HITId"])
    deliver()
    event_types = [row.document["Events"][0]["EventType"] for row in Notification.objects.order_by("pk")]
    assert event_types == [
        "HITCreated",
        "AssignmentAccepted",
        "AssignmentReturned",
        "AssignmentAccepted",
        "AssignmentAbandoned",
        "AssignmentAccepted",
        "AssignmentSubmitted",
        "HITExtended",
        "AssignmentAccepted",
        "AssignmentSubmitted",
        "AssignmentApproved",
        "AssignmentRejected",
        "HITExpired",
        "HITReviewable",
        "HITDisposed",
    ]
    assert sorted(mailbox.events()) == sorted(event_types)
    assert set(event_types) == {kind.value for kind in EventType} - {"Ping"}
    assert {kind.value for kind in EventType} == set(service_model().shape_for("EventType").enum)


@pytest.mark.clock
@pytest.mark.rule(
    "notification-reviewable",
    source="D",
    text="HITReviewable is sent when the last slot is submitted, or when the HIT has expired and has "
    "no task in progress; after an extension a HIT can expire and become reviewable again.",
)
def test_reviewable_and_expired_are_sent_again_after_extension(
    local_client: Any, workers: list[Worker], mailbox: Mailbox
) -> None:
    subscribe(local_client, mailbox, "HITReviewable", "HITExpired")
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    work(workers[0], hit)
    local_client.create_additional_assignments_for_hit(HITId=hit["HITId"], NumberOfAdditionalAssignments=1)
    task = accept(workers[1], hit)
    local_client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=Clock.now() - timedelta(days=1))
    tasks.sweep_due()
    submit_task(workers[1], task)  # accepted before the expiry, so it may be submitted after it
    local_client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=Clock.now() + timedelta(seconds=300))
    advance_time(seconds=301)
    tasks.sweep_due()
    tasks.sweep_due()
    event_types = [row.document["Events"][0]["EventType"] for row in Notification.objects.order_by("pk")]
    assert event_types == ["HITReviewable", "HITExpired", "HITReviewable", "HITExpired", "HITReviewable"]


@pytest.mark.rule(
    "notification-active",
    source="M",
    text="UpdateNotificationSettings with Active alone switches an existing specification off and on; a new "
    "specification replaces the old one.",
)
def test_setting_can_be_switched_and_replaced(local_client: Any, worker: Worker, mailbox: Mailbox) -> None:
    type_id = subscribe(local_client, mailbox, "HITCreated")
    local_client.update_notification_settings(HITTypeId=type_id, Active=False)
    local_client.create_hit(**hit_params())
    assert not Notification.objects.exists()
    local_client.update_notification_settings(HITTypeId=type_id, Active=True)
    hit = local_client.create_hit(**hit_params())["HIT"]
    local_client.update_notification_settings(
        HITTypeId=type_id, Notification=specification(mailbox.url, "AssignmentAccepted")
    )
    local_client.create_hit(**hit_params())
    accept(worker, hit)
    deliver()
    assert mailbox.events() == ["HITCreated", "AssignmentAccepted"]


@pytest.mark.clock
def test_new_setting_sends_nothing_about_earlier_expiry(local_client: Any, mailbox: Mailbox) -> None:
    local_client.create_hit(**hit_params())
    advance_time(hours=2)
    subscribe(local_client, mailbox, "HITExpired")
    local_client.create_hit(**hit_params(LifetimeInSeconds=60))
    advance_time(minutes=2)
    tasks.sweep_due()
    assert Notification.objects.count() == 1


@pytest.mark.rule(
    "notification-setting-needed",
    source="M",
    text="UpdateNotificationSettings needs Notification or Active, and Active alone only where a specification "
    "exists.",
)
def test_switching_without_setting_is_refused(local_client: Any) -> None:
    type_id = hit_type(local_client)
    for arguments in ({}, {"Active": True}):
        with pytest.raises(ClientError) as failure:
            local_client.update_notification_settings(HITTypeId=type_id, **arguments)
        assert code_of(failure)[0] == "ParameterValidationError"


@pytest.mark.rule(
    "notification-own-types",
    source="D",
    text="UpdateNotificationSettings works for the caller's own HIT types only.",
)
def test_setting_on_foreign_hit_type_is_refused(
    local_market: Market, local_client: Any, mailbox: Mailbox
) -> None:
    stranger = local_market.client(accounts.create_key_pair(name="Other lab", funds_cents=100))
    with pytest.raises(ClientError) as failure:
        stranger.update_notification_settings(
            HITTypeId=hit_type(local_client), Notification=specification(mailbox.url)
        )
    assert code_of(failure) == ("RequestError", "HITTypeDoesNotExist")


@pytest.mark.rule(
    "notification-test-event",
    source="M",
    text="SendTestEventNotification sends a test event immediately, even if the specification does not "
    "list it.",
)
def test_test_event_is_sent_and_marked_as_test(
    mturk: Any, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[str] = []
    monkeypatch.setattr(
        notifications.current_app, "send_task", lambda name, **_: woken.append(name), raising=False
    )
    mturk.send_test_event_notification(
        Notification=specification(mailbox.url, "HITExpired"), TestEventType="AssignmentSubmitted"
    )
    mturk.send_test_event_notification(Notification=specification(mailbox.url, "Ping"), TestEventType="Ping")
    assert deliver() == 2
    assert mailbox.events() == ["AssignmentSubmitted", "Ping"]
    first = mailbox.documents()[0]["Events"][0]
    assert (first["HITId"], first["AssignmentId"]) == ("TESTHIT", "TESTASSIGNMENT")
    # Over HTTP the sender is woken in the server's thread, where the patch holds as well.
    assert woken == [notifications.DELIVERY_TASK] * 2


@pytest.mark.rule(
    "refused-email-notifications",
    source="ours",
    text="Transport Email is refused: UpdateNotificationSettings and SendTestEventNotification support "
    "SNS and SQS formats only.",
)
@pytest.mark.rule(
    "notification-specification",
    source="D",
    text="A specification lists at least one event, not Ping outside SendTestEventNotification, and "
    "version 2014-08-15 (or 2006-05-05, the model's version).",
)
@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"Transport": "Email"}, "RequestError", "Use Transport SNS or SQS"),
        ({"Version": "2017-01-17"}, "ParameterValidationError", "2014-08-15"),
        ({"EventTypes": []}, "ParameterValidationError", "at least one event"),
        ({"EventTypes": ["Ping"]}, "ParameterValidationError", "Ping"),
    ],
)
def test_bad_specifications_are_refused(
    local_client: Any, mailbox: Mailbox, changes: dict[str, Any], code: str, words: str
) -> None:
    bad = {**specification(mailbox.url), **changes}
    calls = [
        lambda: local_client.update_notification_settings(HITTypeId=hit_type(local_client), Notification=bad)
    ]
    if bad["EventTypes"] != ["Ping"]:  # which a test may ask for
        calls.append(
            lambda: local_client.send_test_event_notification(
                Notification=bad, TestEventType="AssignmentSubmitted"
            )
        )
    for call in calls:
        with pytest.raises(ClientError) as failure:
            call()
        assert failure.value.response["Error"]["Code"] == code
        assert words in failure.value.response["Error"]["Message"]
    if bad["EventTypes"] == ["Ping"]:
        local_client.send_test_event_notification(Notification=bad, TestEventType="Ping")
    assert Notification.objects.count() == (bad["EventTypes"] == ["Ping"])


@pytest.mark.rule(
    "refused-amazon-destinations",
    source="ours",
    text="Topics (arn:…) and queues at Amazon are refused as Destination; the message suggests an https URL.",
)
@pytest.mark.rule(
    "notification-hosts",
    source="ours",
    text="A Destination is https, or http on the marketplace's own machine, on a host and port that the operator "
    "lists (MARKETPLACE_NOTIFICATION_HOSTS).",
)
@pytest.mark.parametrize(
    ("destination", "words"),
    [
        ("arn:aws:sns:us-east-1:123456789012:topic", "use your own https URL"),
        ("https://sqs.us-east-1.amazonaws.com/123456789012/queue", "use your own https URL"),
        ("http://lab.example/in", "http is allowed for this machine only"),
        ("https://lab.example:8443/in", "MARKETPLACE_NOTIFICATION_HOSTS"),
        ("https://other.example/in", "MARKETPLACE_NOTIFICATION_HOSTS"),
        ("http://127.0.0.1:1/in", "MARKETPLACE_NOTIFICATION_HOSTS"),
        ("http://2130706433/in", "http is allowed for this machine only"),
        ("https://lab.example@evil.example/in", "without user name"),
        ("https://me:key@lab.example/in", "without user name"),
        ("https://lab.example/in#part", "without user name"),
        ("ftp://lab.example/in", "use your own https URL"),
        ("file:///etc/passwd", "use your own https URL"),
        ("https://lab.example:x/in", "is not a URL"),
        ("https://lab.example/in out", "must be a URL"),
        ("https://lab.example/\r\nHost: x", "printable"),
        ("https://lab.example/" + "x" * 500, "printable"),
        ("", "must be a URL"),
    ],
)
def test_disallowed_destinations_are_refused(settings: Any, destination: str, words: str) -> None:
    settings.MARKETPLACE_NOTIFICATION_HOSTS = ["lab.example", "localhost:8000"]
    with pytest.raises(delivery.DestinationError, match=words):
        delivery.check_destination(destination)
    for good in ("https://lab.example/in?a=b", "https://LAB.example:443/", "http://localhost:8000/in"):
        delivery.check_destination(good)


def test_refused_destination_saves_no_setting(local_client: Any, settings: Any) -> None:
    settings.MARKETPLACE_NOTIFICATION_HOSTS = []
    with pytest.raises(ClientError) as failure:
        local_client.update_notification_settings(
            HITTypeId=hit_type(local_client), Notification=specification("https://lab.example/in")
        )
    assert code_of(failure) == ("RequestError", "InvalidTransportEndpoint")
    assert not NotificationSetting.objects.exists()


@pytest.mark.clock
@pytest.mark.rule(
    "notification-retries",
    source="ours",
    text="An undelivered notification is retried with growing delays for a day and then given up; it "
    "may arrive twice, always with the same EventDocId.",
)
def test_undelivered_notification_is_retried_for_a_day(local_client: Any, mailbox: Mailbox) -> None:
    subscribe(local_client, mailbox, "HITCreated")
    local_client.create_hit(**hit_params())
    mailbox.status = 503
    assert deliver() == 0
    row = Notification.objects.get()
    assert (row.state, row.attempts, row.error) == (
        NotificationState.QUEUED,
        1,
        "answered with HTTP status 503",
    )
    assert deliver() == 0
    assert len(mailbox.posts) == 1  # not before the pause is over
    for _ in range(40):
        advance_time(hours=1)
        deliver()
    row.refresh_from_db()
    assert row.state == NotificationState.FAILED
    assert 20 <= row.attempts <= 26
    assert len({document["EventDocId"] for document in mailbox.documents()}) == 1


@pytest.mark.clock
def test_event_during_outage_is_retried_for_a_day_afterwards(
    local_client: Any, workers: list[Worker], mailbox: Mailbox
) -> None:
    hit = local_client.create_hit(**hit_params(LifetimeInSeconds=60, AutoApprovalDelayInSeconds=60))["HIT"]
    expected = specification(mailbox.url, "HITExpired", "AssignmentAbandoned", "AssignmentApproved")
    local_client.update_notification_settings(HITTypeId=hit["HITTypeId"], Notification=expected)
    work(workers[0], hit)
    accept(workers[1], hit)
    advance_time(days=3)  # nobody swept and nobody sent
    mailbox.status = 503
    tasks.sweep_due()
    deliver()
    rows = Notification.objects.all()
    kinds = {row.document["Events"][0]["EventType"] for row in rows}
    assert kinds == {"HITExpired", "AssignmentAbandoned", "AssignmentApproved"}
    event_times = [row.document["Events"][0]["EventTimestamp"] for row in rows]
    assert (
        max(event_times) < f"{Clock.now() - timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}"
    )  # the time of the event, not of the notification
    assert {row.state for row in rows} == {NotificationState.QUEUED}
    mailbox.status = 200
    advance_time(hours=1)
    assert deliver() == 3


@pytest.mark.clock
def test_recovered_receiver_gets_all_notifications(local_client: Any, mailbox: Mailbox) -> None:
    subscribe(local_client, mailbox, "HITCreated")
    for _ in range(3):
        local_client.create_hit(**hit_params())
    mailbox.status = 500
    deliver()
    assert len(mailbox.posts) == 1  # one failure speaks for all that waits for the same address
    mailbox.status = 200
    advance_time(minutes=3)
    assert deliver() == 3
    assert len({document["EventDocId"] for document in mailbox.documents()}) == 3


def test_redirects_are_not_followed(local_client: Any, mailbox: Mailbox) -> None:
    subscribe(local_client, mailbox, "HITCreated")
    local_client.create_hit(**hit_params())
    mailbox.status, mailbox.location = 307, mailbox.url
    assert deliver() == 0
    assert len(mailbox.posts) == 1


def test_dead_destination_does_not_delay_others(local_client: Any, mailbox: Mailbox, settings: Any) -> None:
    settings.MARKETPLACE_NOTIFICATION_HOSTS = [mailbox.host, "127.0.0.1:9"]
    dead = hit_type(local_client, Title="Nobody listens")
    local_client.update_notification_settings(
        HITTypeId=dead, Notification=specification("http://127.0.0.1:9/in", "HITCreated")
    )
    subscribe(local_client, mailbox, "HITCreated")
    for _ in range(3):
        local_client.create_hit(**hit_params(Title="Nobody listens"))
    local_client.create_hit(**hit_params())
    assert deliver() == 1
    failed = Notification.objects.filter(attempts__gt=0, state=NotificationState.QUEUED)
    assert failed.count() == 1
    assert "ConnectionRefusedError" in failed.get().error


def test_host_removed_from_list_is_not_contacted(local_client: Any, mailbox: Mailbox, settings: Any) -> None:
    subscribe(local_client, mailbox, "HITCreated")
    local_client.create_hit(**hit_params())
    settings.MARKETPLACE_NOTIFICATION_HOSTS = []
    assert deliver() == 0
    assert mailbox.posts == []


def test_concurrent_senders_send_once(local_client: Any, mailbox: Mailbox) -> None:
    subscribe(local_client, mailbox, "HITCreated")
    local_client.create_hit(**hit_params())
    sent: list[int] = []
    # The second sender starts while the first one's request is open: the claim is committed by then.
    second = threading.Thread(target=lambda: sent.append(_on_its_own_connection()))

    def start() -> None:
        mailbox.while_open = lambda: None
        second.start()
        second.join()

    mailbox.while_open = start
    assert deliver() == 1
    assert (sent, len(mailbox.posts)) == ([0], 1)


def _on_its_own_connection() -> int:
    from django.db import connection

    try:
        return deliver()
    finally:
        connection.close()


@pytest.mark.clock
def test_old_sent_notifications_are_deleted_and_queued_ones_kept(local_client: Any, mailbox: Mailbox) -> None:
    subscribe(local_client, mailbox, "HITCreated")
    local_client.create_hit(**hit_params())
    deliver()
    local_client.create_hit(**hit_params())
    assert notifications.delete_old_notifications(now=Clock.now() + timedelta(days=29)) == 0
    advance_time(days=31)
    tasks.delete_old_notifications()
    assert Notification.objects.get().state == NotificationState.QUEUED


DELIVER = """
from hits.marketplace.tasks import deliver_notifications
deliver_notifications()
"""


@pytest.mark.clock
@pytest.mark.parametrize(
    ("point", "arrived"), [("marketplace.deliver.after_claim", 1), ("marketplace.deliver.after_send", 2)]
)
def test_killed_sender_loses_no_notification(
    local_client: Any, mailbox: Mailbox, point: str, arrived: int
) -> None:
    subscribe(local_client, mailbox, "HITCreated")
    local_client.create_hit(**hit_params())
    killed = children.run(DELIVER, MARKETPLACE_NOTIFICATION_HOSTS=mailbox.host, DEERSTALKER_CRASH_AT=point)
    assert killed.returncode == EXIT_STATUS, killed.stderr
    assert Notification.objects.get().state == NotificationState.QUEUED
    assert len(mailbox.posts) == arrived - 1
    advance_time(minutes=2)
    assert deliver() == 1
    assert len(mailbox.posts) == arrived
    assert len({document["EventDocId"] for document in mailbox.documents()}) == 1


def test_nothing_is_sent_inside_a_transaction(local_client: Any, mailbox: Mailbox) -> None:
    subscribe(local_client, mailbox, "HITCreated")
    local_client.create_hit(**hit_params())
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        deliver()
    assert mailbox.posts == []


def test_rolled_back_action_sends_nothing(local_client: Any, worker: Worker, mailbox: Mailbox) -> None:
    type_id = subscribe(local_client, mailbox, "AssignmentAccepted")
    local_client.create_hit(**hit_params())
    with transaction.atomic():
        attempts.accept_or_resume_from_group(
            worker=worker, hit_type=HITType.objects.get(hit_type_id=type_id), now=Clock.now()
        )
        assert Notification.objects.count() == 1
        transaction.set_rollback(True)
    assert not Notification.objects.exists()


@pytest.mark.clock
def test_sweep_makes_two_queries_when_nothing_is_due(
    local_client: Any, worker: Worker, django_assert_num_queries: Any
) -> None:
    work(worker, local_client.create_hit(**hit_params())["HIT"])
    now = Clock.now()
    with django_assert_num_queries(2):
        lifecycle.apply_all_due_changes(now=now)
    with django_assert_num_queries(1):
        events.record_expiries(now=now)
