"""Pages by key, not by offset: page 1,000 costs what page 1 costs, and rows added meanwhile shift nothing.

A token comes with every page that has rows, so the last full page is followed by an empty one without a
token. (Amazon's service does the same, and requesters' loops rely on it.)
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Model

from hits.marketplace.errors import invalid

from .registry import Call

DEFAULT_PAGE = 10
MAX_PAGE = 100
Key = list[int]


def page_size(params: dict[str, Any]) -> int:
    """Return MaxResults (1 to 100, checked by the model), 10 when absent."""
    return int(params.get("MaxResults", DEFAULT_PAGE))


def read_token(call: Call, params: dict[str, Any], length: int) -> Key | None:
    """Return the key after which the page starts, or None for the first page.

    A token belongs to one operation and one set of filters. Raises ApiError for any other.
    """
    token = params.get("NextToken")
    if token is None:
        return None
    try:
        mark, *key = json.loads(base64.urlsafe_b64decode(token.encode("ascii")))
    except (ValueError, TypeError):
        raise invalid("Invalid NextToken.", "InvalidParameterValue") from None
    whole = all(isinstance(part, int) and not isinstance(part, bool) for part in key)
    if mark != _mark(call, params) or len(key) != length or not whole:
        raise invalid("NextToken belongs to another call.", "InvalidParameterValue")
    return key


def make_page(
    call: Call,
    params: dict[str, Any],
    rows: Sequence[Model],
    *,
    key_of: Callable[[Any], Key],
    name: str,
    rendered: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return the reply for one page of rows."""
    reply: dict[str, Any] = {"NumResults": len(rows), name: rendered}
    if rows:
        raw = json.dumps([_mark(call, params), *key_of(rows[-1])], separators=(",", ":"))
        reply["NextToken"] = base64.urlsafe_b64encode(raw.encode()).decode()
    return reply


def _mark(call: Call, params: dict[str, Any]) -> str:
    filters = {name: params[name] for name in sorted(params) if name not in {"NextToken", "MaxResults"}}
    text = json.dumps([call.requester.pk, call.operation, filters])
    return hashlib.sha256(text.encode()).hexdigest()[:12]
