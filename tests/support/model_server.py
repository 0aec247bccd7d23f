"""A small OpenAI-compatible server for tests: it answers what a test tells it to, and keeps what it was asked."""

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test/0123456789+abcDEF"
"""A key with characters that percent-encoding and JSON change."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    delay: seconds before it. cut: bytes that are announced, not sent. drip: seconds between bytes of the body.
    header_drip: seconds between bytes of a header that never ends.
    """

    status: int = 200
    body: bytes | Mapping[str, Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int = 0
    drip: float = 0.0
    header_drip: float = 0.0

    @property
    def data(self) -> bytes:
        """The bytes of the body."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that the server got."""

    method: str
    path: str
    headers: Mapping[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.data)


class ModelServer:
    """The running server. Answers are given in the order of ``answers``; the last one is repeated."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: list[Answer] = []
        self.files: dict[str, Answer] = {}
        """Answers to GET by path."""
        self.asked: list[Asked] = []

    def next_answer(self, asked: Asked) -> Answer:
        """Keep a request and return its answer."""
        self.asked.append(asked)
        if asked.method == "GET":
            return self.files.get(asked.path, Answer(404, error("no such file")))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def environment(self, purpose: str, **more: str) -> dict[str, str]:
        """Return the environment of a client: address, key, and a short timeout."""
        names = {"URL": f"{self.url}/v1", "KEY": KEY, "TIMEOUT": "5"} | more
        return {f"{purpose}_API_{name}": value for name, value in names.items()}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model_server: ModelServer
    closing: threading.Event
    """Set at the end, so that no slow answer goes on."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = Asked(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, data)
        answer = self.server.model_server.next_answer(asked)
        self.server.closing.wait(answer.delay)
        if answer.header_drip:
            self._drip_headers(answer.header_drip)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer.data) + answer.cut))
        self.end_headers()
        for block in (
            [answer.data] if not answer.drip else [answer.data[k : k + 1] for k in range(len(answer.data))]
        ):
            self.wfile.write(block)
            self.wfile.flush()
            self.server.closing.wait(answer.drip)
        self.close_connection = bool(answer.cut)

    def _drip_headers(self, seconds: float) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not self.server.closing.wait(seconds):
            self.wfile.write(b"a")
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def run_model_server() -> Iterator[ModelServer]:
    """Run a server on a free port of this machine."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.model_server = ModelServer(f"http://127.0.0.1:{server.server_address[1]}")
    server.closing = threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.model_server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def error(
    message: str, *, code: str | None = None, param: str | None = None, kind: str = "error"
) -> dict[str, Any]:
    """Return an error's body as OpenAI writes it."""
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}


def chat_body(
    text: str | None, *, finish: str = "stop", model: str = "tiny-1", **message: Any
) -> dict[str, Any]:
    """Return the body of a chat reply."""
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {"prompt_tokens": 21, "completion_tokens": 7, "total_tokens": 28},
    }


def image_body(data: bytes | None = None, *, url: str = "", **item: Any) -> dict[str, Any]:
    """Return the body of an image reply: an image in base64, or its address."""
    content: dict[str, Any] = dict(item)
    if data is not None:
        content["b64_json"] = base64.b64encode(data).decode()
    if url:
        content["url"] = url
    return {"created": 1, "data": [content]}
