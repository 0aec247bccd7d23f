"""Deliver notifications: check the destination, build the request, send one POST.

The requester chooses the destination. So only hosts that the operator allows are contacted, redirects are not
followed, and only the status of a reply is read.
"""

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

TIMEOUT_SECONDS = 5  # for the connection, and for request and reply together
MAX_URL_LENGTH = 500
SQS_VERSION = "2012-11-05"
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_AMAZON_DOMAINS = (".amazonaws.com", ".amazonaws.com.cn")
_ADVICE = "use your own https URL as Destination; it gets the same message by POST"


class DestinationError(ValueError):
    """A Destination that is not allowed; the message says what to use instead."""


class DeliveryError(Exception):
    """A POST got no successful reply; the message may still have arrived."""


@dataclass(frozen=True)
class OutgoingRequest:
    """One HTTP request to be sent: headers and body for a URL."""

    destination: str
    headers: dict[str, str]
    body: bytes


def check_destination(destination: str) -> None:
    """Check a URL before anything is stored or sent. Raises DestinationError."""
    if len(destination) > MAX_URL_LENGTH or not destination.isascii() or not destination.isprintable():
        raise DestinationError(f"Destination: up to {MAX_URL_LENGTH} printable ASCII characters, {_ADVICE}.")
    if destination.startswith("arn:"):
        raise DestinationError(f"This marketplace cannot reach Amazon's topics; {_ADVICE}.")
    parts = _parse_destination(destination)
    host = parts.hostname or ""
    if host.endswith(_AMAZON_DOMAINS):
        raise DestinationError(f"This marketplace cannot reach Amazon's queues; {_ADVICE}.")
    if parts.scheme == "http" and host not in _LOOPBACK_HOSTS and not _is_own_site(parts):
        raise DestinationError(f"{destination}: http is allowed for this machine only; {_ADVICE}.")
    if not _is_listed_host(parts):
        raise DestinationError(
            f"This marketplace may not send to {parts.netloc}. Its operator can add the host to "
            "MARKETPLACE_NOTIFICATION_HOSTS."
        )


def build_request(
    *, destination: str, transport: Transport, document: dict[str, Any], doc_id: str, at: datetime
) -> OutgoingRequest:
    """Return the request: SQS's SendMessage as a form, or SNS's notification as JSON."""
    message = json.dumps(document)
    if transport == Transport.SQS:
        form = {"Action": "SendMessage", "MessageBody": message, "Version": SQS_VERSION}
        return OutgoingRequest(
            destination, {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(form).encode()
        )
    envelope = {
        "Type": "Notification",
        "MessageId": doc_id,
        "TopicArn": destination,  # the URL takes the place of a topic's ARN
        "Message": message,
        "Timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z",
    }
    headers = {
        "Content-Type": "text/plain; charset=UTF-8",
        "x-amz-sns-message-type": "Notification",
        "x-amz-sns-message-id": doc_id,
        "x-amz-sns-topic-arn": destination,
    }
    return OutgoingRequest(destination, headers, json.dumps(envelope).encode())


def send_request(request: OutgoingRequest) -> None:
    """Send the request. Raises DeliveryError unless the reply is 2xx, DestinationError if the URL is not allowed."""
    check_destination(request.destination)  # the list of hosts may have changed
    parts = _parse_destination(request.destination)
    connection_class = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = connection_class(parts.hostname or "", _effective_port(parts), timeout=TIMEOUT_SECONDS)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.connect()
        with _limit_time(connection):
            connection.request("POST", target, body=request.body, headers=request.headers)
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise DeliveryError(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()
    if not http.client.OK <= status < http.client.MULTIPLE_CHOICES:
        raise DeliveryError(f"answered with HTTP status {status}")


@contextmanager
def _limit_time(connection: http.client.HTTPConnection) -> Iterator[None]:
    """Close the socket after the time limit: the socket's own timeout restarts with each byte of a slow reply."""
    open_socket: socket.socket = connection.sock

    def close() -> None:
        with suppress(OSError):  # it was closed already
            open_socket.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(TIMEOUT_SECONDS, close)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _parse_destination(destination: str) -> SplitResult:
    try:
        parts = urlsplit(destination)
        port = parts.port
    except ValueError:
        raise DestinationError(f"{destination} is not a URL; {_ADVICE}.") from None
    is_complete = parts.scheme in _DEFAULT_PORTS and parts.hostname and port != 0 and " " not in destination
    if not is_complete or parts.username is not None or parts.password is not None or parts.fragment:
        raise DestinationError(f"{destination} must be a URL without user name and fragment; {_ADVICE}.")
    return parts


def _effective_port(parts: SplitResult) -> int:
    return parts.port or _DEFAULT_PORTS[parts.scheme]


def _is_own_site(parts: SplitResult) -> bool:
    site = urlsplit(settings.PUBLIC_URL)
    return (parts.scheme, parts.hostname, _effective_port(parts)) == (
        site.scheme,
        site.hostname,
        _effective_port(site),
    )


def _is_listed_host(parts: SplitResult) -> bool:
    """Return whether host and port are listed; an entry without a port means the scheme's default port."""
    return any(
        parts.hostname == listed.hostname
        and _effective_port(parts) == (listed.port or _DEFAULT_PORTS[parts.scheme])
        for listed in (urlsplit(f"//{entry}") for entry in settings.MARKETPLACE_NOTIFICATION_HOSTS)
    )
