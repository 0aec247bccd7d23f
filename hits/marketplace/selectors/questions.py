"""Signed tokens for pages that the marketplace shows in a worker's frame.

The frame has no session, so its URL holds a signed token. The token names the attempt, or for a preview the HIT, but
no worker.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core import signing

from hits.marketplace.models import HIT, Attempt, Outcome, QuestionKind

PREVIEW_SECONDS = 3600
_SALT = "marketplace.question"


@dataclass(frozen=True)
class FramePage:
    """The page of a frame: a HIT with the worker's attempt, or without one as a preview."""

    hit: HIT
    attempt: Attempt | None


def create_task_token(attempt: Attempt) -> str:
    """Return the token of an attempt's page, valid while the attempt is open."""
    return signing.dumps({"attempt": attempt.pk}, salt=_SALT)


def create_preview_token(hit: HIT) -> str:
    """Return the token of a preview, valid for an hour. The caller checks that the worker may preview the HIT."""
    return signing.dumps({"hit": hit.pk}, salt=_SALT)


def find_frame_page(token: str, now: datetime) -> FramePage | None:
    """Return the page of a token; None for an invalid or expired one."""
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
