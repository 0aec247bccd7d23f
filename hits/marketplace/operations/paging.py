"""Page by key, not by offset: page 1,000 costs the same as page 1, and new rows do not shift a page.

Every page with rows has a token, so an empty page without a token follows the last full one. (Amazon's service does
the same, and requesters' loops rely on it.)
"""

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Model, QuerySet

from hits.marketplace.errors import validation_error

from .registry import Call

DEFAULT_PAGE_SIZE = 10
PageKey = list[int]


def page_size(params: dict[str, Any]) -> int:
    """Return MaxResults (1 to 100, checked by the model), 10 when absent."""
    return int(params.get("MaxResults", DEFAULT_PAGE_SIZE))


def read_page_key(call: Call, params: dict[str, Any], key_length: int) -> PageKey | None:
    """Return the key after which the page starts, or None for the first page.

    A token is valid for one operation and one set of filters. Raises ApiError for any other call.
    """
    token = params.get("NextToken")
    if token is None:
        return None
    try:
        digest, *key = json.loads(base64.urlsafe_b64decode(token.encode("ascii")))
    except (ValueError, TypeError):
        raise validation_error("Invalid NextToken.", "InvalidParameterValue") from None
    are_integers = all(isinstance(part, int) and not isinstance(part, bool) for part in key)
    if digest != _call_digest(call, params) or len(key) != key_length or not are_integers:
        raise validation_error("NextToken belongs to another call.", "InvalidParameterValue")
    return key


def list_page_by_pk(
    call: Call,
    params: dict[str, Any],
    rows: QuerySet[Any],
    *,
    name: str,
    render: Callable[[list[Any]], list[dict[str, Any]]],
    newest_first: bool = False,
) -> dict[str, Any]:
    """Return the reply for the next page of ``rows`` by primary key."""
    after = read_page_key(call, params, key_length=1)
    if after is not None:
        rows = rows.filter(pk__lt=after[0]) if newest_first else rows.filter(pk__gt=after[0])
    page = list(rows.order_by("-pk" if newest_first else "pk")[: page_size(params)])
    return build_page_reply(call, params, page, key_of=lambda row: [row.pk], name=name, rendered=render(page))


def build_page_reply(
    call: Call,
    params: dict[str, Any],
    rows: Sequence[Model],
    *,
    key_of: Callable[[Any], PageKey],
    name: str,
    rendered: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return the reply for one page of rows."""
    reply: dict[str, Any] = {"NumResults": len(rows), name: rendered}
    if rows:
        raw = json.dumps([_call_digest(call, params), *key_of(rows[-1])], separators=(",", ":"))
        reply["NextToken"] = base64.urlsafe_b64encode(raw.encode()).decode()
    return reply


def _call_digest(call: Call, params: dict[str, Any]) -> str:
    filters = {name: params[name] for name in sorted(params) if name not in {"NextToken", "MaxResults"}}
    text = json.dumps([call.requester.pk, call.operation, filters])
    return hashlib.sha256(text.encode()).hexdigest()[:12]
