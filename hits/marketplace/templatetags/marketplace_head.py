"""What the head of every page of the worker site shows."""

from __future__ import annotations

from django import template

from hits.marketplace.models import Worker
from hits.marketplace.selectors import messages

register = template.Library()


@register.simple_tag
def unread_messages(worker: Worker) -> int:
    """Return how many messages the worker has not opened yet, as it stands when the page is written."""
    return messages.unread_count(worker)
