"""Giving a worker no new work of one requester. What is in hand may still be submitted and is paid."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from hits.marketplace.models import Requester, Worker, WorkerBlock

MAX_BLOCKS = 100_000


class TooManyBlocks(Exception):
    """The requester blocks as many workers as an account may."""


@transaction.atomic
def block(*, requester: Requester, worker: Worker, reason: str, now: datetime) -> WorkerBlock:
    """Block a worker, who reads the reason. One who is blocked already stays so, for the new reason.

    Raises TooManyBlocks.
    """
    Worker.objects.select_for_update().get(pk=worker.pk)  # as an accept does: one after the other
    present = WorkerBlock.objects.filter(requester=requester, ended_at=None)
    if not present.filter(worker=worker).exists() and present.count() >= MAX_BLOCKS:
        raise TooManyBlocks
    row, _ = WorkerBlock.objects.update_or_create(
        requester=requester,
        worker=worker,
        ended_at=None,
        defaults={"reason": reason},
        create_defaults={"reason": reason, "at": now},
    )
    return row


@transaction.atomic
def unblock(*, requester: Requester, worker: Worker, reason: str, now: datetime) -> None:
    """End a block; the worker does not read this reason. Somebody who is not blocked is left as is."""
    WorkerBlock.objects.filter(requester=requester, worker=worker, ended_at=None).update(
        ended_at=now, end_reason=reason
    )
