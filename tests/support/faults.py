"""A bad line between boto3 and the marketplace: throttling, lost requests, lost replies, late lists.

In process ``settings.MTURK_INPROCESS_TRANSPORT`` names ``attach`` of this module; over HTTP ``proxy`` stands before a
real server. Both follow one plan, a file that ``DEERSTALKER_FAULTS`` names, so that child processes follow it too and
each fault happens as often as the plan says, whoever meets it.
"""

import fcntl
import http.client
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from hits.marketplace import transport
from hits.marketplace.models import Clock

ENVIRONMENT = "DEERSTALKER_FAULTS"
THROTTLE, FAIL_BEFORE, FAIL_AFTER = "throttle", "500 before", "500 after"
DROP_BEFORE, DROP_AFTER, HANG_AFTER = "drop before", "drop after", "hang after"
KINDS = (THROTTLE, FAIL_BEFORE, FAIL_AFTER, DROP_BEFORE, DROP_AFTER, HANG_AFTER)
AFTER = (FAIL_AFTER, DROP_AFTER, HANG_AFTER)  # it is carried out, and the caller does not hear of it
_NOT_CARRIED_OUT = (THROTTLE, FAIL_BEFORE, DROP_BEFORE)
_HIT_ID = re.compile(rb" HITId: [A-Z0-9]+")


@dataclass
class Plan:
    """What goes wrong. ``faults``: kinds by operation, each met once, in order.

    ``hide_hit_id``: “already processed” comes without the HIT's id. ``lag_seconds``: how long a new HIT takes to show
    in ListHITs, by the marketplace's clock. ``per_second`` and ``burst``: the service's own token bucket.
    """

    path: Path
    faults: dict[str, list[str]] = field(default_factory=dict)
    hide_hit_id: bool = False
    lag_seconds: float = 0
    per_second: float = 0
    burst: int = 5

    def write(self, **faults: list[str]) -> "Plan":
        """Set the faults of operations anew, and let this process and its children follow the plan."""
        self.faults = faults or self.faults
        state = {name: value for name, value in vars(self).items() if name != "path"}
        state |= {"calls": {}, "met": {}, "tokens": float(self.burst), "at": time.monotonic()}
        self.path.write_text(json.dumps(state), encoding="utf-8")
        os.environ[ENVIRONMENT] = str(self.path)
        return self

    def calls(self, operation: str) -> int:
        """Return how often an operation reached the marketplace since ``write``."""
        return int(_read()["calls"].get(operation, 0))

    def met(self, kind: str) -> int:
        """Return how many calls met a kind of fault since ``write``."""
        return int(_read()["met"].get(kind, 0))

    def left(self) -> int:
        """Return how many faults nobody met."""
        return sum(len(kinds) for kinds in _read()["faults"].values())


def attach(client: Any) -> None:
    """Let a boto3 client be answered by this process, over a bad line."""
    client.meta.events.register(transport.EVENT, _answer, unique_id="tests.support.faults")


def _answer(request: AWSPreparedRequest, **_more: Any) -> AWSResponse:
    operation = _operation(request.headers)
    kind = _meet(operation)
    if kind == DROP_BEFORE:
        raise ConnectionClosedError(endpoint_url=request.url)
    if kind in _NOT_CARRIED_OUT:
        return _reply(request, kind)
    answer = transport.answer_request(request)
    if kind == DROP_AFTER:
        raise ConnectionClosedError(endpoint_url=request.url)
    if kind == HANG_AFTER:
        raise ReadTimeoutError(endpoint_url=request.url)
    if kind == FAIL_AFTER:
        return _reply(request, kind)
    return _with(request, answer.status_code, answer.headers, _changed(operation, answer.content))


def _reply(request: AWSPreparedRequest, kind: str) -> AWSResponse:
    status, body = _error(kind)
    return _with(request, status, {"Content-Type": "application/x-amz-json-1.1"}, body)


def _with(request: AWSPreparedRequest, status: int, headers: Any, body: bytes) -> AWSResponse:
    reply = AWSResponse(request.url, status, headers, None)
    reply._content = body
    return reply


def _error(kind: str) -> tuple[int, bytes]:
    if kind == THROTTLE:
        return 400, b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'
    return 500, b'{"__type": "ServiceFault", "Message": "Internal error", "TurkErrorCode": "AWS.ServerError"}'


def _operation(headers: Any) -> str:
    target = headers.get("X-Amz-Target", "")
    return str(target.decode() if isinstance(target, bytes) else target).rpartition(".")[2]


def _changed(operation: str, body: bytes) -> bytes:
    plan = _read()
    if plan.get("hide_hit_id"):
        body = _HIT_ID.sub(b"", body)
    lag = plan.get("lag_seconds", 0)
    if lag and operation == "ListHITs":
        reply = json.loads(body)
        youngest = Clock.now().timestamp() - lag
        reply["HITs"] = [hit for hit in reply["HITs"] if hit["CreationTime"] <= youngest]
        reply["NumResults"] = len(reply["HITs"])
        body = json.dumps(reply).encode()
    return body


def _read() -> dict[str, Any]:
    path = os.environ.get(ENVIRONMENT)
    if not path:
        return {"faults": {}, "calls": {}, "met": {}}
    found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return found


def _meet(operation: str) -> str:
    """Count a call, and return the fault that it meets, or nothing."""
    path = os.environ.get(ENVIRONMENT)
    if not path:
        return ""
    with Path(path).open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        plan = json.load(file)
        waiting = plan["faults"].get(operation, [])
        kind = waiting.pop(0) if waiting else ("" if _in_budget(plan) else THROTTLE)
        reached = kind not in _NOT_CARRIED_OUT
        plan["calls"][operation] = plan["calls"].get(operation, 0) + reached
        plan["met"][kind] = plan["met"].get(kind, 0) + 1
        file.seek(0)
        file.write(json.dumps(plan))
        file.truncate()  # last: a file that was emptied is written to the disk when it is closed
    return kind


def _in_budget(plan: dict[str, Any]) -> bool:
    if not plan["per_second"]:
        return True
    now = time.monotonic()
    plan["tokens"] = min(float(plan["burst"]), plan["tokens"] + (now - plan["at"]) * plan["per_second"])
    plan["at"] = now
    if plan["tokens"] < 1:
        return False
    plan["tokens"] -= 1
    return True


@contextmanager
def proxy(port: int, server: str) -> Iterator[str]:
    """Stand before the real server at ``server`` on ``port``; yields the address that boto3 is to be given."""
    there = urlsplit(server).netloc

    class Line(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            operation = _operation(self.headers)
            kind = _meet(operation)
            if kind == DROP_BEFORE:
                return self._hang_up()
            if kind in _NOT_CARRIED_OUT:
                return self._send(*_error(kind))
            line = http.client.HTTPConnection(there, timeout=30)
            line.request("POST", self.path, body, dict(self.headers))
            answer = line.getresponse()
            content = answer.read()
            line.close()
            if kind == DROP_AFTER:
                return self._hang_up()
            if kind == HANG_AFTER:
                over.wait(8)  # longer than the client waits
                return self._hang_up()
            if kind == FAIL_AFTER:
                return self._send(*_error(kind))
            return self._send(answer.status, _changed(operation, content))

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _hang_up(self) -> None:
            self.close_connection = True
            self.connection.shutdown(2)

        def log_message(self, *args: object) -> None:
            return

    over = threading.Event()
    line = ThreadingHTTPServer(("127.0.0.1", port), Line)
    thread = threading.Thread(target=line.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{port}"
    finally:
        over.set()
        line.shutdown()
        line.server_close()
