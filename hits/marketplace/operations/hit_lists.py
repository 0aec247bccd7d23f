"""GetHIT, ListHITs, ListReviewableHITs."""

from typing import Any

from django.db.models import QuerySet

from hits.marketplace.models import HIT
from hits.marketplace.selectors.lifecycle import find_reviewable_hits
from hits.marketplace.services import lifecycle

from .lookup import find_hit, find_hit_type
from .paging import list_page_by_pk
from .registry import Call, operation
from .render import render_hits


@operation("GetHIT")
def get_hit(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return one HIT, even a disposed one."""
    return {"HIT": render_hits([find_hit(call, params["HITId"])], call.now)[0]}


@operation("ListHITs")
def list_hits(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the caller's HITs that are not disposed, newest first."""
    return list_page_of_hits(call, params, HIT.objects.filter(requester=call.requester, disposed_at=None))


@operation("ListReviewableHITs")
def list_reviewable_hits(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return HITs that are Reviewable (or Reviewing), newest first."""
    reviewing = params.get("Status", "Reviewable") == "Reviewing"
    hits = find_reviewable_hits(call.requester, now=call.now, reviewing=reviewing)
    if "HITTypeId" in params:
        hits = hits.filter(hit_type=find_hit_type(call, params["HITTypeId"]))
    return list_page_of_hits(call, params, hits)


def list_page_of_hits(call: Call, params: dict[str, Any], hits: QuerySet[HIT]) -> dict[str, Any]:
    """Return the next page of ``hits``, newest first, after their due changes."""

    def render(rows: list[HIT]) -> list[dict[str, Any]]:
        lifecycle.apply_due_changes_of_hits(hit_pks=[hit.pk for hit in rows], now=call.now)
        return render_hits(rows, call.now)

    rows = hits.select_related("hit_type", "layout")
    return list_page_by_pk(call, params, rows, name="HITs", render=render, newest_first=True)
