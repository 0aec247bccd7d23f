"""Calls to OpenAI-compatible servers through the ``openai`` package, which is optional and loaded on demand.

The package's own retries are off: by default it sends three calls after a 503 or a timeout, and no cap would count
them. Redirects are never followed, since they would carry the key elsewhere. Replies are read up to a limit of bytes,
and a whole call has a limit of seconds.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from curation.generation.deadline import Deadline, watch_request
from curation.generation.endpoint import Endpoint
from curation.generation.errors import (
    BadReply,
    CallFailed,
    ContentRefused,
    ModelUnavailable,
    Permanent,
    Transient,
    Unusable,
)
from curation.generation.keys import blank_keys
from hits.domain.storable import storable_json

INSTALL_HINT = (
    "the package openai is not installed, which talks to OpenAI-compatible servers: run make generation, or "
    "pip install 'openai>=3.54,<4'"
)
_LIBRARY_LOGGERS = ("openai", "httpx2", "httpcore2")
_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached"}
_POLICY_CODES = {
    "content_policy_violation",
    "moderation_blocked",
    "content_filter",
    "responsibleaipolicyviolation",
}
_KEY_STATUSES = {401, 403}
_NOT_FOUND, _TIMED_OUT, _TOO_MANY, _UNAVAILABLE, _SERVER_ERRORS = 404, 408, 429, 503, 500
_REDIRECTS = range(300, 400)
_EXCERPT = 300  # characters of a server's own message, or of an unreadable reply
_SEARCHED_BYTES = 1024**2  # of an unreadable reply, in which keys are blanked before it is cut


class _ReplyRefused(Exception):
    """A reply that is not read to its end; the text is the reason."""


def create_client(endpoint: Endpoint, *, max_reply_bytes: int) -> Any:
    """Return a client of the ``openai`` package for an endpoint.

    Raises:
        ModelUnavailable: the package is not installed.
    """
    try:
        import httpx2  # noqa: PLC0415 - optional
        import openai  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ModelUnavailable(INSTALL_HINT) from error
    # Below warnings these loggers write addresses and headers, in which a server may repeat a key.
    for name in _LIBRARY_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    return openai.OpenAI(
        base_url=endpoint.url,
        api_key=endpoint.key or "none",
        max_retries=0,
        timeout=endpoint.timeout,
        http_client=httpx2.Client(
            follow_redirects=False,
            timeout=endpoint.timeout,
            limits=_one_call_each(),
            headers={"Accept-Encoding": "identity"},
            event_hooks={
                "request": [_drop_foreign_headers(endpoint), watch_request],
                "response": [_limit_reply(max_reply_bytes)],
            },
        ),
    )


def _one_call_each() -> Any:
    """Return limits by which each call has a connection of its own, which its deadline can shut."""
    import httpx2  # noqa: PLC0415 - optional

    return httpx2.Limits(max_keepalive_connections=0)


def call(endpoint: Endpoint, send: Callable[[], Any]) -> dict[str, Any]:
    """Return the JSON object of a reply.

    Args:
        send: makes the request, with ``with_raw_response``.

    Raises:
        CallFailed: one of its classes, by what went wrong. No exception of the library is its cause or context, since
            that one may hold the key.
    """
    found: dict[str, Any] | CallFailed
    with Deadline(endpoint.timeout) as deadline:
        try:
            found = _read_object(endpoint, send().content)
            if isinstance(found, BadReply) and deadline.is_over:  # the end of a reply without a stated length
                found = _too_late(endpoint)
        except _ReplyRefused as error:
            found = BadReply(f"{endpoint.label}: {error}")
        except Exception as error:
            found = _too_late(endpoint) if deadline.is_over else _to_failure(endpoint, error)
    if isinstance(found, CallFailed):
        raise found
    return found


def download(endpoint: Endpoint, url: str, *, max_bytes: int) -> bytes:
    """Return a file of the endpoint's own origin. The caller has checked the origin.

    Raises:
        BadReply: it cannot be read, is too large, or is a redirect.
    """
    import httpx2  # noqa: PLC0415 - optional

    reason = ""
    data = b""
    deadline = Deadline(endpoint.timeout)
    headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    try:
        with (
            deadline,
            httpx2.Client(
                follow_redirects=False,
                timeout=endpoint.timeout,
                limits=_one_call_each(),
                headers={"Accept-Encoding": "identity", **headers},
                event_hooks={"request": [watch_request], "response": [_limit_reply(max_bytes)]},
            ) as plain,
        ):
            response = plain.get(url)
        data = response.content
        if response.status_code in _REDIRECTS:
            reason = "the image's address is a redirect, which is not followed"
        elif not response.is_success:
            reason = f"the image's address answers {response.status_code}"
    except _ReplyRefused as error:
        reason = str(error)
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        late = f"was not sent within {endpoint.timeout:g} seconds"
        reason = f"the image {late if deadline.is_over else f'cannot be fetched ({type(error).__name__})'}"
    if reason:
        raise BadReply(f"{endpoint.label}: {reason}")
    return data


def refused_parameter(failure: CallFailed) -> tuple[str, str]:
    """Return the parameter that a server's error names, and its message in small letters; empty if it has none."""
    error = _error_object(failure.raw)
    return str(error.get("param") or ""), str(error.get("message") or "").lower()


def _drop_foreign_headers(endpoint: Endpoint) -> Callable[[Any], None]:
    """Return a hook that leaves out what the library reads from variables of its own, and a key that there is not."""
    names = ["OpenAI-Organization", "OpenAI-Project", *([] if endpoint.key else ["Authorization"])]

    def drop(request: Any) -> None:
        for name in names:
            request.headers.pop(name, None)

    return drop


def _limit_reply(max_bytes: int) -> Callable[[Any], None]:
    """Return a hook that limits a reply's bytes."""
    import httpx2  # noqa: PLC0415 - optional

    class LimitedStream(httpx2.SyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            total = 0
            for block in self._stream:
                total += len(block)
                if total > max_bytes:
                    raise _ReplyRefused(
                        f"the reply is larger than {max_bytes / 1024**2:.0f} MB, and was not read"
                    )
                yield block

        def close(self) -> None:
            self._stream.close()

    def limit(response: Any) -> None:
        if response.headers.get("content-encoding", "identity").lower() not in {"", "identity"}:
            raise _ReplyRefused("the reply is compressed, which was not asked for")
        response.stream = LimitedStream(response.stream)

    return limit


def _read_object(endpoint: Endpoint, content: bytes) -> dict[str, Any] | CallFailed:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        text = content[:_SEARCHED_BYTES].decode("utf-8", "replace")
        return BadReply(
            f"{endpoint.label}: the reply is cut off or is no JSON",
            raw={"text": str(blank_keys(text))[:_EXCERPT], "bytes": len(content)},
        )
    found = storable_json(found)
    if not isinstance(found, dict):
        return BadReply(f"{endpoint.label}: the reply is no JSON object", raw=found)
    return found


def _too_late(endpoint: Endpoint) -> CallFailed:
    return Transient(f"{endpoint.label}: no reply within {endpoint.timeout:g} seconds", may_cost=True)


def _to_failure(endpoint: Endpoint, error: Exception) -> CallFailed:
    import httpx2  # noqa: PLC0415 - optional
    import openai  # noqa: PLC0415 - optional

    if isinstance(error, openai.APITimeoutError):
        return _too_late(endpoint)
    if isinstance(error, openai.APIStatusError):
        return _status_failure(endpoint, error.status_code, error.response.headers, error.body)
    if isinstance(error, openai.APIConnectionError):
        unsent = isinstance(error.__cause__, httpx2.ConnectError)
        reason = "cannot be reached" if unsent else "the connection was lost"
        return Transient(
            f"{endpoint.label}: {reason}; check {endpoint.purpose}_API_URL and the network",
            may_cost=not unsent,
        )
    if isinstance(error, openai.OpenAIError):
        return Permanent(f"{endpoint.label}: {str(blank_keys(str(error)))[:_EXCERPT]}")
    # The exception may hold the key, so it is not raised again.
    return Permanent(f"{endpoint.label}: the call failed ({type(error).__name__})", may_cost=True)


def _status_failure(endpoint: Endpoint, status: int, headers: Mapping[str, str], body: Any) -> CallFailed:
    body = storable_json(body)
    error = _error_object(body)
    code = str(error.get("code") or error.get("type") or "").lower()
    message = str(blank_keys(str(error.get("message") or "")))[:_EXCERPT].strip()
    start = f"{endpoint.label}: answers {status}" + (f" ({message})" if message else "")
    if status in _REDIRECTS:
        return Unusable(
            f"{start}: a redirect, which is not followed; set {endpoint.purpose}_API_URL to the final address",
            raw=body,
        )
    if code in _POLICY_CODES or str(error.get("type") or "").lower() in _POLICY_CODES:
        return ContentRefused(f"{start}: the provider's rules refuse the content", raw=body)
    if status == _TOO_MANY and code in _QUOTA_CODES:
        return Unusable(f"{start}: the account's quota is used up; raise it at the provider", raw=body)
    if status in {_TIMED_OUT, _TOO_MANY} or status >= _SERVER_ERRORS:
        may_cost = status not in {_TOO_MANY, _UNAVAILABLE}
        return Transient(start, retry_after=read_retry_after(headers), raw=body, may_cost=may_cost)
    failure = Unusable if status in {*_KEY_STATUSES, _NOT_FOUND} else Permanent
    return failure(f"{start}; {_fix(endpoint, status)}", raw=body)


def _fix(endpoint: Endpoint, status: int) -> str:
    if status in _KEY_STATUSES:
        return f"check {endpoint.purpose}_API_KEY, and that it may use the model"
    if status == _NOT_FOUND:
        return f"check the model's name and {endpoint.purpose}_API_URL"
    return "correct the request; it is not sent again"


def _error_object(body: Any) -> Mapping[str, Any]:
    """Return the object ``error`` of an error's body, or the body itself: the library takes the outer one away."""
    if isinstance(body, Mapping):
        inner = body.get("error")
        if isinstance(inner, Mapping):
            return inner
        return {"message": inner} if isinstance(inner, str) else body
    return {"message": body} if isinstance(body, str) else {}


def read_retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds of ``Retry-After-Ms`` or ``Retry-After`` (seconds or a date); ``None`` if unusable."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return max(0.0, seconds) if seconds < float("inf") else None  # NaN is no time either
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now())
    except (ValueError, TypeError, OverflowError):
        return None
