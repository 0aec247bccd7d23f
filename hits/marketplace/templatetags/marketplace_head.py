"""Template tag for the head of every page of the worker site."""

from django import template

from hits.marketplace.models import Worker
from hits.marketplace.selectors import messages

register = template.Library()


@register.simple_tag
def unread_message_count(worker: Worker) -> int:
    """Return how many messages the worker has not read when the page is rendered."""
    return messages.count_unread(worker)
