"""A receiver of notifications for tests, and helpers that subscribe it and deliver to it."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hits.marketplace.models import Clock
from hits.marketplace.services import notifications
from hits.marketplace.services.events import EventType
from tests.hits.marketplace.support import hit_params

ALL_EVENTS = [kind.value for kind in EventType if kind is not EventType.PING]


class Mailbox:
    """A receiver on this machine: stores the posted requests and replies as configured."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 200
        self.location = ""
        self.while_open: Callable[[], None] = lambda: None
        box = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                box.posts.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                box.while_open()
                self.send_response(box.status)
                if box.location:
                    self.send_header("Location", box.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.server.server_port}"

    @property
    def url(self) -> str:
        """The URL for notifications."""
        return f"http://{self.host}/inbox?lab=1"

    def documents(self) -> list[dict[str, Any]]:
        """Return the documents of SNS-shaped posts in the order of their arrival."""
        return [json.loads(json.loads(body)["Message"]) for _, _, body in self.posts]

    def events(self) -> list[str]:
        """Return the event types that arrived."""
        return [event["EventType"] for document in self.documents() for event in document["Events"]]


def specification(destination: str, *names: str, transport: str = "SNS", **more: Any) -> dict[str, Any]:
    """Return a NotificationSpecification."""
    return {
        "Destination": destination,
        "Transport": transport,
        "Version": "2014-08-15",
        "EventTypes": list(names or ALL_EVENTS),
        **more,
    }


def hit_type(client: Any, **changes: Any) -> str:
    """Return a HIT type's id."""
    left_out = {"LifetimeInSeconds", "MaxAssignments", "Question"}
    values = {key: value for key, value in hit_params(**changes).items() if key not in left_out}
    return str(client.create_hit_type(**values)["HITTypeId"])


def subscribe(client: Any, box: Mailbox, *names: str, **more: Any) -> str:
    """Subscribe to notifications of the default HIT type and return its id."""
    type_id = hit_type(client)
    client.update_notification_settings(
        HITTypeId=type_id, Notification=specification(box.url, *names, **more)
    )
    return type_id


def deliver() -> int:
    """Send the notifications that are due by the marketplace's clock."""
    return notifications.deliver_due_notifications(now=Clock.now())
