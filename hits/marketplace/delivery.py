"""How a notification leaves this machine: where it may go, what it looks like, one POST.

A requester chooses the address, so that only hosts which the operator allows are ever asked, no redirect is
followed, and nothing of a reply but its status is read.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from django.conf import settings

from .models import Transport

TIMEOUT_SECONDS = 5  # for a connection, and for the whole of request and answer
MAX_DESTINATION = 500
SQS_VERSION = "2012-11-05"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PORTS = {"http": 80, "https": 443}
_AMAZON = (".amazonaws.com", ".amazonaws.com.cn")
_INSTEAD = "give an https address of your own as Destination: it gets the same message by POST"


class DestinationError(ValueError):
    """A Destination that nothing can be sent to; the message says what to use."""


class DeliveryError(Exception):
    """A POST that did not arrive, as far as can be told."""


@dataclass(frozen=True)
class Parcel:
    """One HTTP request to come: headers and body for an address."""

    destination: str
    headers: dict[str, str]
    body: bytes


def check_destination(destination: str) -> None:
    """Check an address before anything is stored or sent. Raises DestinationError."""
    if len(destination) > MAX_DESTINATION or not destination.isascii() or not destination.isprintable():
        raise DestinationError(
            f"Destination: up to {MAX_DESTINATION} printable ASCII characters, {_INSTEAD}."
        )
    if destination.startswith("arn:"):
        raise DestinationError(f"Amazon's topics cannot be reached from this marketplace; {_INSTEAD}.")
    parts = _split(destination)
    host = parts.hostname or ""
    if host.endswith(_AMAZON):
        raise DestinationError(f"Amazon's queues cannot be reached from this marketplace; {_INSTEAD}.")
    if parts.scheme == "http" and host not in _LOOPBACK and not _is_ours(parts):
        raise DestinationError(f"{destination}: http is for this machine only; {_INSTEAD}.")
    if not _is_allowed(parts):
        raise DestinationError(
            f"{parts.netloc} is no host that this marketplace may send to: whoever runs it can add it to "
            "MARKETPLACE_NOTIFICATION_HOSTS."
        )


def pack(
    *, destination: str, transport: Transport, document: dict[str, Any], doc_id: str, at: datetime
) -> Parcel:
    """Return the request: SQS's SendMessage as a form, or SNS's notification as JSON."""
    message = json.dumps(document)
    if transport == Transport.SQS:
        form = {"Action": "SendMessage", "MessageBody": message, "Version": SQS_VERSION}
        return Parcel(
            destination, {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(form).encode()
        )
    envelope = {
        "Type": "Notification",
        "MessageId": doc_id,
        "TopicArn": destination,  # a topic is named by its address here
        "Message": message,
        "Timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z",
    }
    headers = {
        "Content-Type": "text/plain; charset=UTF-8",
        "x-amz-sns-message-type": "Notification",
        "x-amz-sns-message-id": doc_id,
        "x-amz-sns-topic-arn": destination,
    }
    return Parcel(destination, headers, json.dumps(envelope).encode())


def post(parcel: Parcel) -> None:
    """Send it. Raises DeliveryError unless the answer is a 2xx; DestinationError for an address not allowed."""
    check_destination(parcel.destination)  # the list of hosts may have changed since
    parts = _split(parcel.destination)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", _port(parts), timeout=TIMEOUT_SECONDS)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.connect()
        with _cut_off(connection):
            connection.request("POST", target, body=parcel.body, headers=parcel.headers)
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise DeliveryError(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()
    if not http.client.OK <= status < http.client.MULTIPLE_CHOICES:
        raise DeliveryError(f"answered with HTTP status {status}")


@contextmanager
def _cut_off(connection: http.client.HTTPConnection) -> Iterator[None]:
    """End the exchange when its time is over: the socket's own limit starts anew with each byte of a slow answer."""
    held: socket.socket = connection.sock

    def cut() -> None:
        with suppress(OSError):  # closed a moment ago
            held.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(TIMEOUT_SECONDS, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _split(destination: str) -> SplitResult:
    try:
        parts = urlsplit(destination)
        port = parts.port
    except ValueError:
        raise DestinationError(f"{destination} is no address; {_INSTEAD}.") from None
    whole = parts.scheme in _PORTS and parts.hostname and port != 0 and " " not in destination
    if not whole or parts.username is not None or parts.password is not None or parts.fragment:
        raise DestinationError(f"{destination} is no address without name and fragment; {_INSTEAD}.")
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or _PORTS[parts.scheme]


def _is_ours(parts: SplitResult) -> bool:
    ours = urlsplit(settings.PUBLIC_URL)
    return (parts.scheme, parts.hostname, _port(parts)) == (ours.scheme, ours.hostname, _port(ours))


def _is_allowed(parts: SplitResult) -> bool:
    """Tell whether host and port are listed; an entry without a port means the scheme's own."""
    for entry in settings.MARKETPLACE_NOTIFICATION_HOSTS:
        listed = urlsplit(f"//{entry}")
        if parts.hostname == listed.hostname and _port(parts) == (listed.port or _PORTS[parts.scheme]):
            return True
    return False
