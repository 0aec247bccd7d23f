"""HIT layouts: pages that a requester registers once and creates HITs from."""

from datetime import datetime

from django.db import IntegrityError, transaction

from hits.domain.mturk_formats.external_question import QuestionError
from hits.marketplace.errors import ActionRefused
from hits.marketplace.formats.html_question import add_form_if_missing, build_html_question
from hits.marketplace.models import HITLayout, Requester

MAX_NAME_LENGTH = 120


@transaction.atomic
def create_layout(
    *, requester: Requester, name: str, html: str, frame_height: int = 0, now: datetime
) -> HITLayout:
    """Return a new layout. Raises ActionRefused for a taken or invalid name, or a page that no HIT can show."""
    clean_name = name.strip()
    if not clean_name or len(clean_name) > MAX_NAME_LENGTH or not clean_name.isprintable():
        raise ActionRefused(f"A layout's name has 1 to {MAX_NAME_LENGTH} printable characters.")
    try:
        build_html_question(add_form_if_missing(html), frame_height)
    except QuestionError as error:
        raise ActionRefused(f"The page cannot be shown: {error}") from None
    try:
        with transaction.atomic():
            return HITLayout.objects.create(
                requester=requester, name=clean_name, html=html, frame_height=frame_height, created_at=now
            )
    except IntegrityError:
        raise ActionRefused(
            f"{requester.name} already has a layout named {clean_name!r}. Choose another name."
        ) from None
