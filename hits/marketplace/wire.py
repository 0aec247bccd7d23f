"""Request and reply of the requester API, independent of any web framework."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ApiError
from .wall_clock import wall_now

CONTENT_TYPE = "application/x-amz-json-1.1"


@dataclass(frozen=True)
class ApiRequest:
    """One received call. Header names are lower case; ``body`` is raw because it is signed."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class ApiReply:
    """The reply: status, body bytes and headers."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def new_request_id() -> str:
    """Return the id that a reply and its log line share."""
    return str(uuid.uuid4())


def success_reply(result: dict[str, Any], request_id: str) -> ApiReply:
    """Return a 200 reply."""
    return _json_reply(200, result, request_id)


def error_reply(error: ApiError, request_id: str) -> ApiReply:
    """Return an error reply: ``__type``, ``Message`` (ending with the time in ms) and ``TurkErrorCode``."""
    message = error.message
    if error.has_timestamp:
        message = f"{message} ({int(wall_now().timestamp() * 1000)})"
    body: dict[str, Any] = {"__type": error.error_type, "Message": message}
    if error.turk_code:
        body["TurkErrorCode"] = error.turk_code
    return _json_reply(error.status, body, request_id)


def _json_reply(status: int, body: dict[str, Any], request_id: str) -> ApiReply:
    raw = json.dumps(body, ensure_ascii=False).encode()
    headers = {"Content-Type": CONTENT_TYPE, "x-amzn-RequestId": request_id, "Content-Length": str(len(raw))}
    return ApiReply(status=status, body=raw, headers=headers)
