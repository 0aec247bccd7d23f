"""Hostile receivers of notifications, and hostile senders to our own URL."""

import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from hits.domain.mturk_formats.notification_events import EventError, parse_notification
from hits.marketplace import delivery
from hits.marketplace.models import Notification, NotificationSetting, Transport
from hits.models import MarketplaceEvent
from hits.mturk import environments
from hits.services.collecting import notifications
from tests.hits.marketplace.conftest import local_client, local_market, requester  # noqa: F401
from tests.hits.marketplace.mailbox import hit_type, specification
from tests.hits.marketplace.support import Market
from tests.support.threads import together

pytestmark = pytest.mark.django_db(transaction=True)
DEEP = "[" * 900 + "]" * 900


@pytest.fixture
def drip(settings: Any) -> Iterator[str]:
    """A receiver that answers with a byte now and then, and never ends."""
    server = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65_536)
            for byte in b"HTTP/1.1 200 " + b"OK" * 100:
                if over.wait(0.2):
                    return
                try:
                    connection.sendall(bytes([byte]))
                except OSError:
                    return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    host = f"127.0.0.1:{server.getsockname()[1]}"
    settings.MARKETPLACE_NOTIFICATION_HOSTS = [host]
    yield f"http://{host}/inbox"
    over.set()
    server.close()
    thread.join(5)


def test_endless_reply_does_not_block_sender(drip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "TIMEOUT_SECONDS", 1)
    parcel = delivery.build_request(
        destination=drip,
        transport=Transport.SNS,
        document={"Events": []},
        doc_id="d",
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    started = time.perf_counter()
    with pytest.raises(delivery.DeliveryError):
        delivery.send_request(parcel)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "destination",
    [
        "http://127.0.0.1:8000@evil.example/x",
        "http://localhost:8000\t.evil.example/",
        "https://localhost.evil.example/",
        "http://[::ffff:127.0.0.1]:8000/",
        "http://2130706433:8000/",
        "http://127.1:8000/",
        "http://localhost.:8000/",
        "http://LOCALHOST:8000/\r\nX-Evil: 1",
        "http://localhost:8001/",
        "https://localhost:8000\\@evil.example/",
        "gopher://localhost:8000/",
        "//localhost:8000/",
        "http://localhost:８０００/",
        "http://localhost:99999/",
        "http://[::1/",
    ],
)
def test_only_listed_hosts_are_contacted(destination: str, settings: Any) -> None:
    settings.PUBLIC_URL = "http://localhost:8000"
    settings.MARKETPLACE_NOTIFICATION_HOSTS = ["localhost:8000"]
    delivery.check_destination("http://localhost:8000/notifications/key")
    with pytest.raises(delivery.DestinationError):
        delivery.check_destination(destination)


def test_concurrent_first_settings_create_one(
    local_market: Market,  # noqa: F811
    requester: Any,  # noqa: F811
    settings: Any,
) -> None:
    settings.MARKETPLACE_NOTIFICATION_HOSTS = ["localhost:8000"]
    clients = [local_market.client(requester) for _ in range(6)]
    type_id = hit_type(clients[0])
    expected = specification("http://localhost:8000/inbox", "HITCreated")
    results = together(
        [
            lambda c=c: c.update_notification_settings(HITTypeId=type_id, Notification=expected)
            for c in clients
        ]
    )
    assert all(isinstance(result, dict) for result in results), results
    assert NotificationSetting.objects.count() == 1
    assert not Notification.objects.exists()


def _event(**changes: Any) -> dict[str, Any]:
    return {
        "EventType": "AssignmentReturned",
        "EventTimestamp": "2026-11-21T10:00:00Z",
        "HITTypeId": "T",
        "HITId": "H",
        "AssignmentId": "A",
        **changes,
    }


@pytest.mark.parametrize(
    "body",
    [
        '{"Type": "Notification", "Message": "\\ud800"}',
        f'{{"Type": "Notification", "Message": {DEEP}}}',
        '{"Type": "Notification", "Message": "{\\"Type\\": \\"Notification\\"}"}',
        f'{{"EventDocId": {DEEP}, "Events": []}}',
        '{"EventDocId": "\\ud800", "Events": []}',
        '{"EventDocId": "d", "Events": {}}',
        "1" * 60_000,
        "\x00",
        "",
    ],
)
def test_invalid_notification_is_refused_with_message(body: str) -> None:
    with pytest.raises(EventError):
        parse_notification(body.encode(), "text/plain")
    address = f"/notifications/{notifications.notification_key(environments.current_environment().name)}"
    answer = Client(raise_request_exception=False).post(address, body, content_type="text/plain")
    assert answer.status_code == 400
    assert not MarketplaceEvent.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"EventTimestamp": "9999-12-31T23:59:59Z"},
        {"EventTimestamp": "0001-01-01T00:00:00Z"},
        {"EventTimestamp": "2026-02-30T00:00:00Z"},
        {"EventTimestamp": [["2026-11-21T10:00:00Z"]]},
        {"HITId": 7},
        {"HITId": "H\n"},
        {"HITId": "' OR 1=1 --"},
        {"EventType": "\x00"},
    ],
)
def test_impossible_event_is_ignored(changes: dict[str, Any]) -> None:
    address = f"/notifications/{notifications.notification_key(environments.current_environment().name)}"
    body = {"EventDocId": "d", "Events": [_event(**changes)]}
    answer = Client(raise_request_exception=False).post(address, body, content_type="application/json")
    assert answer.status_code == 200
    assert MarketplaceEvent.objects.get().payload == []


def test_multipart_or_huge_body_is_refused() -> None:
    address = f"/notifications/{notifications.notification_key(environments.current_environment().name)}"
    client = Client(raise_request_exception=False)
    assert client.post(address, {"EventDocId": "d"}).status_code == 400
    for size in (70_000, 3_000_000):
        assert client.post(address, "x" * size, content_type="text/plain").status_code == 413
    assert client.post(address + "0", "{}", content_type="text/plain").status_code == 404


def test_deeply_nested_body_causes_no_server_error() -> None:
    for depth in range(600, 1000):
        nested = "[" * depth + "]" * depth
        try:
            document = parse_notification(
                f'{{"EventDocId": "d", "Events": [{{"HITId": {nested}}}]}}'.encode(), "text/plain"
            )
        except EventError:
            continue
        assert document.events == ()
