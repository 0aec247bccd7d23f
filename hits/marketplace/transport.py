"""boto3 answered in the same process, without a socket.

``attach(client)`` is named by ``settings.MTURK_INPROCESS_TRANSPORT``. It uses botocore's documented
``before-send`` event: a handler that returns a response takes the place of the network. Requests are still
signed by the client and verified here, so that both ways of reaching the marketplace obey the same rules.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from . import dispatch
from .wire import ApiReply, ApiRequest

EVENT = "before-send.mturk"
_DEFAULT_PORTS = {"http": 80, "https": 443}


def attach(client: Any) -> None:
    """Let a boto3 ``mturk`` client be answered by this process. Calling it twice changes nothing."""
    client.meta.events.register(EVENT, answer, unique_id="hits.marketplace.transport")


def answer(request: AWSPreparedRequest, **_kwargs: Any) -> AWSResponse:
    """Answer one prepared request of botocore."""
    reply = dispatch.handle(_read(request))
    headers: Any = reply.headers  # botocore copies any mapping
    return AWSResponse(request.url, reply.status, headers, _RawBody(reply))


def _read(request: AWSPreparedRequest) -> ApiRequest:
    parts = urlsplit(request.url)
    headers = {name.lower(): _text(value) for name, value in request.headers.items()}
    headers.setdefault("host", _host_header(parts.scheme, parts.hostname or "", parts.port))
    return ApiRequest(
        method=request.method or "POST",
        path=parts.path or "/",
        query=parts.query,
        headers=headers,
        body=_bytes(request.body),
    )


def _host_header(scheme: str, host: str, port: int | None) -> str:
    """Return the Host header as an HTTP client would send it: a default port is left out."""
    return host if port in {None, _DEFAULT_PORTS.get(scheme)} else f"{host}:{port}"


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _bytes(body: Any) -> bytes:
    """Return a body as bytes; botocore's JSON calls send bytes or text, never a stream."""
    return body.encode() if isinstance(body, str) else bytes(body or b"")


class _RawBody(io.BytesIO):
    """The little of urllib3's response that botocore reads."""

    def __init__(self, reply: ApiReply) -> None:
        super().__init__(reply.body)

    def stream(self, **_kwargs: Any) -> Iterator[bytes]:
        """Give the body in one piece."""
        yield self.read()
