"""HIT layouts: pages that a requester registers once and makes HITs from by name."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction

from hits.domain.mturk_formats.external_question import QuestionError
from hits.marketplace.errors import Refused
from hits.marketplace.formats.html_question import build_html_question, in_a_form
from hits.marketplace.models import HITLayout, Requester

MAX_NAME = 120


@transaction.atomic
def create_layout(
    *, requester: Requester, name: str, html: str, frame_height: int = 0, now: datetime
) -> HITLayout:
    """Return a new layout. Raises Refused for a name that is taken or bad, and for a page that no HIT could show."""
    clean = name.strip()
    if not clean or len(clean) > MAX_NAME or not clean.isprintable():
        raise Refused(f"A layout's name has 1 to {MAX_NAME} printable characters.")
    try:
        build_html_question(in_a_form(html), frame_height)
    except QuestionError as error:
        raise Refused(f"The page cannot be shown: {error}") from None
    try:
        with transaction.atomic():
            return HITLayout.objects.create(
                requester=requester, name=clean, html=html, frame_height=frame_height, created_at=now
            )
    except IntegrityError:
        raise Refused(
            f"{requester.name} has a layout named {clean!r} already. Choose another name."
        ) from None
