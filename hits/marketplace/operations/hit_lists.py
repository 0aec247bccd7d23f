"""GetHIT, ListHITs, ListReviewableHITs."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from hits.marketplace.models import HIT
from hits.marketplace.selectors.lifecycle import find_reviewable_hits
from hits.marketplace.services import lifecycle

from .lookup import find_hit, find_hit_type
from .paging import make_page, page_size, read_token
from .registry import Call, operation
from .render import render_hits


@operation("GetHIT")
def get_hit(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return one HIT, also a disposed one."""
    return {"HIT": render_hits([find_hit(call, params["HITId"])], call.now)[0]}


@operation("ListHITs")
def list_hits(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the caller's HITs that are not disposed, newest first."""
    return _page(call, params, HIT.objects.filter(requester=call.requester, disposed_at=None))


@operation("ListReviewableHITs")
def list_reviewable_hits(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return HITs that are Reviewable (or Reviewing), newest first."""
    reviewing = params.get("Status", "Reviewable") == "Reviewing"
    hits = find_reviewable_hits(call.requester, now=call.now, reviewing=reviewing)
    if "HITTypeId" in params:
        hits = hits.filter(hit_type=find_hit_type(call, params["HITTypeId"]))
    return _page(call, params, hits)


def _page(call: Call, params: dict[str, Any], hits: QuerySet[HIT]) -> dict[str, Any]:
    after = read_token(call, params, length=1)
    if after is not None:
        hits = hits.filter(pk__lt=after[0])
    rows = list(hits.select_related("hit_type", "layout").order_by("-pk")[: page_size(params)])
    lifecycle.sweep_hits(hit_pks=[hit.pk for hit in rows], now=call.now)
    return make_page(
        call, params, rows, key_of=lambda hit: [hit.pk], name="HITs", rendered=render_hits(rows, call.now)
    )
