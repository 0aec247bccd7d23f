"""Answer boto3 calls in the same process, without a socket.

``settings.MTURK_INPROCESS_TRANSPORT`` names ``attach_transport(client)``. It uses botocore's documented
``before-send`` event: a handler that returns a response replaces the network. The client still signs each request
and the signature is verified here, so the rules are the same as over HTTP.
"""

import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from . import dispatch
from .wire import ApiReply, ApiRequest

EVENT = "before-send.mturk"
_DEFAULT_PORTS = {"http": 80, "https": 443}


def attach_transport(client: Any) -> None:
    """Answer the calls of a boto3 ``mturk`` client in this process. A second call changes nothing."""
    client.meta.events.register(EVENT, answer_request, unique_id="hits.marketplace.transport")


def answer_request(request: AWSPreparedRequest, **_kwargs: Any) -> AWSResponse:
    """Answer one prepared request of botocore."""
    reply = dispatch.handle_request(_build_api_request(request))
    headers: Any = reply.headers  # botocore copies any mapping
    return AWSResponse(request.url, reply.status, headers, _RawBody(reply))


def _build_api_request(request: AWSPreparedRequest) -> ApiRequest:
    parts = urlsplit(request.url)
    headers = {name.lower(): _to_text(value) for name, value in request.headers.items()}
    headers.setdefault("host", _host_header(parts.scheme, parts.hostname or "", parts.port))
    return ApiRequest(
        method=request.method or "POST",
        path=parts.path or "/",
        query=parts.query,
        headers=headers,
        body=_to_bytes(request.body),
    )


def _host_header(scheme: str, host: str, port: int | None) -> str:
    """Return the Host header as an HTTP client would send it: a default port is left out."""
    return host if port in {None, _DEFAULT_PORTS.get(scheme)} else f"{host}:{port}"


def _to_text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _to_bytes(body: Any) -> bytes:
    """Return a body as bytes; botocore's JSON calls send bytes or text, never a stream."""
    return body.encode() if isinstance(body, str) else bytes(body or b"")


class _RawBody(io.BytesIO):
    """The part of urllib3's response that botocore reads."""

    def __init__(self, reply: ApiReply) -> None:
        super().__init__(reply.body)

    def stream(self, **_kwargs: Any) -> Iterator[bytes]:
        """Yield the whole body."""
        yield self.read()
