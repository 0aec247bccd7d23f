"""Pages that the marketplace shows in a worker's frame itself: which address opens which of them, and for how long.

The frame has no session, so its address says what may be seen: a signed token, which names the attempt, or for a
preview the HIT. It names no worker.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core import signing

from hits.marketplace.models import HIT, Attempt, Outcome, QuestionKind

PREVIEW_SECONDS = 3600
_SALT = "marketplace.question"


@dataclass(frozen=True)
class FramePage:
    """What a frame shows: a HIT, for the attempt at it, or as a preview without one."""

    hit: HIT
    attempt: Attempt | None


def create_task_token(attempt: Attempt) -> str:
    """Return the token of an attempt's page. It opens the page as long as the attempt is in hand."""
    return signing.dumps({"attempt": attempt.pk}, salt=_SALT)


def create_preview_token(hit: HIT) -> str:
    """Return the token of a preview for somebody who may look at the HIT. It opens the page for an hour."""
    return signing.dumps({"hit": hit.pk}, salt=_SALT)


def find_page(token: str, now: datetime) -> FramePage | None:
    """Return the page that a token opens; None when it opens none, or none any more."""
    try:
        payload: dict[str, Any] = signing.loads(token, salt=_SALT)
        if "hit" in payload:
            payload = signing.loads(token, salt=_SALT, max_age=PREVIEW_SECONDS)
    except signing.BadSignature:
        return None
    if "hit" in payload:
        hit = HIT.objects.filter(pk=payload["hit"], disposed_at=None, question_kind=QuestionKind.HTML).first()
        return FramePage(hit, None) if hit else None
    attempt = (
        Attempt.objects.filter(pk=payload["attempt"], outcome=Outcome.WORKING, deadline__gt=now)
        .filter(assignment__hit__question_kind=QuestionKind.HTML)
        .select_related("assignment__hit")
        .first()
    )
    return FramePage(attempt.assignment.hit, attempt) if attempt else None
