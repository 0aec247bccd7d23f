"""A request and a reply of the requester API, free of any web framework."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .clock import wall_now
from .errors import ApiError

CONTENT_TYPE = "application/x-amz-json-1.1"


@dataclass(frozen=True)
class ApiRequest:
    """One call as it came in. Header names are lower case; ``body`` is raw, since it is signed."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class ApiReply:
    """What goes back: a status, JSON bytes and headers."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def new_request_id() -> str:
    """Return the id that a reply and the log line about it share."""
    return str(uuid.uuid4())


def success(result: dict[str, Any], request_id: str) -> ApiReply:
    """Return a 200 reply."""
    return _reply(200, result, request_id)


def failure(error: ApiError, request_id: str) -> ApiReply:
    """Return an error reply: ``__type``, ``Message`` (ending with the time in ms) and ``TurkErrorCode``."""
    message = error.message
    if error.stamp:
        message = f"{message} ({int(wall_now().timestamp() * 1000)})"
    body: dict[str, Any] = {"__type": error.kind, "Message": message}
    if error.turk_code:
        body["TurkErrorCode"] = error.turk_code
    return _reply(error.status, body, request_id)


def _reply(status: int, body: dict[str, Any], request_id: str) -> ApiReply:
    raw = json.dumps(body, ensure_ascii=False).encode()
    headers = {"Content-Type": CONTENT_TYPE, "x-amzn-RequestId": request_id, "Content-Length": str(len(raw))}
    return ApiReply(status=status, body=raw, headers=headers)
