"""Telling workers something, and noting that they have read it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from hits.marketplace.models import Message, Requester, Worker


@transaction.atomic
def send(
    *, requester: Requester, workers: Collection[Worker], subject: str, text: str, now: datetime
) -> list[Message]:
    """Write the same to each of the workers. Repeating it writes it again: the API has no token for messages."""
    return Message.objects.bulk_create(
        Message(requester=requester, worker=worker, subject=subject, text=text, sent_at=now)
        for worker in workers
    )


@transaction.atomic
def mark_read(*, worker: Worker, messages: Collection[Message], now: datetime) -> None:
    """Note when the worker first had these of their own messages on a page; the first time stands."""
    unread = [message.pk for message in messages if message.read_at is None]
    if unread:
        Message.objects.filter(worker=worker, pk__in=unread, read_at=None).update(read_at=now)
