"""Send messages to workers and mark them as read."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from hits.marketplace.models import Message, Requester, Worker


@transaction.atomic
def send_messages(
    *, requester: Requester, workers: Collection[Worker], subject: str, text: str, now: datetime
) -> list[Message]:
    """Write the same message to each worker. A repeated call writes it again: the API has no token here."""
    return Message.objects.bulk_create(
        Message(requester=requester, worker=worker, subject=subject, text=text, sent_at=now)
        for worker in workers
    )


@transaction.atomic
def mark_messages_read(*, worker: Worker, messages: Collection[Message], now: datetime) -> None:
    """Record when the worker first saw these messages on a page; later calls keep the first time."""
    unread = [message.pk for message in messages if message.read_at is None]
    if unread:
        Message.objects.filter(worker=worker, pk__in=unread, read_at=None).update(read_at=now)
