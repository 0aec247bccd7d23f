"""Parse a marketplace's notification: an SNS envelope, an SQS form, or the bare document.

Only known, well-formed events are kept. A notification is a hint to poll, not a fact, so unknown events are dropped.
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

MAX_BYTES = 65_536
MAX_EVENTS = 100
_DOC_ID_PATTERN = re.compile(r"[!-~]{1,80}")
_MTURK_ID_PATTERN = re.compile(r"[A-Z0-9]{1,64}")
_EVENT_TYPE_PATTERN = re.compile(r"[A-Za-z]{1,40}")
_YEARS = range(2000, 3000)
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class EventError(ValueError):
    """The body is not a notification; the message names the problem."""


@dataclass(frozen=True, slots=True)
class MarketEvent:
    """One event that the marketplace reports. ``assignment_id`` is empty for an event of a HIT."""

    kind: str
    at: datetime
    hit_id: str
    assignment_id: str


@dataclass(frozen=True, slots=True)
class EventDocument:
    """A notification: its events, and the id that identifies duplicates."""

    doc_id: str
    events: tuple[MarketEvent, ...]

    def payload(self) -> list[dict[str, str]]:
        """Return the events as plain rows with the API's keys."""
        return [
            {
                "EventType": event.kind,
                "EventTimestamp": event.at.strftime(_TIME_FORMAT),
                "HITId": event.hit_id,
                "AssignmentId": event.assignment_id,
            }
            for event in self.events
        ]


def parse_notification(body: bytes, content_type: str) -> EventDocument:
    """Read a POST body in any of the three formats. Raises EventError."""
    if len(body) > MAX_BYTES:
        raise EventError(f"a notification has at most {MAX_BYTES} bytes")
    if content_type == "application/x-www-form-urlencoded":
        body = _extract_message_body(body)
    outer = _load_object(body)
    if outer.get("Type") == "Notification":
        # Half a surrogate pair is not valid JSON.
        outer = _load_object(_text_or_empty(outer, "Message").encode(errors="replace"))
    doc_id = outer.get("EventDocId")
    if not isinstance(doc_id, str) or not _DOC_ID_PATTERN.fullmatch(doc_id):
        raise EventError("EventDocId is missing or invalid")
    rows = outer.get("Events")
    if not isinstance(rows, list) or len(rows) > MAX_EVENTS:
        raise EventError(f"Events is not a list of at most {MAX_EVENTS} events")
    events = (parse_event(row) for row in rows)
    return EventDocument(doc_id, tuple(event for event in events if event is not None))


def parse_event(row: Any) -> MarketEvent | None:
    """Return one event, or None if it is unknown or malformed."""
    if not isinstance(row, dict):
        return None
    kind, hit_id = _text_or_empty(row, "EventType"), _text_or_empty(row, "HITId")
    assignment_id = _text_or_empty(row, "AssignmentId")
    known = _EVENT_TYPE_PATTERN.fullmatch(kind) and _MTURK_ID_PATTERN.fullmatch(hit_id)
    if not known or (assignment_id and not _MTURK_ID_PATTERN.fullmatch(assignment_id)):
        return None
    try:
        at = datetime.strptime(_text_or_empty(row, "EventTimestamp"), _TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None
    if at.year not in _YEARS:
        return None  # an impossible time; arithmetic near the ends of the calendar would overflow
    return MarketEvent(kind, at, hit_id, assignment_id)


def _text_or_empty(row: dict[str, Any], name: str) -> str:
    """Return a member that is text, else an empty text: deeply nested values cannot be converted to text."""
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _extract_message_body(form: bytes) -> bytes:
    try:
        fields = parse_qs(form.decode(), max_num_fields=20)
    except ValueError as error:
        raise EventError("the form cannot be read") from error
    if "MessageBody" not in fields:
        raise EventError("the form has no MessageBody")
    return fields["MessageBody"][0].encode()


def _load_object(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EventError("the body is not JSON") from error
    if not isinstance(found, dict):
        raise EventError("the body is not a JSON object")
    return found
