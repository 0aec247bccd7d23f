"""Block a worker from new work of one requester. Started tasks may still be submitted and are paid."""

from datetime import datetime

from django.db import transaction

from hits.marketplace.errors import ApiError
from hits.marketplace.models import Requester, Worker, WorkerBlock

MAX_BLOCKS = 100_000


@transaction.atomic
def block_worker(*, requester: Requester, worker: Worker, reason: str, now: datetime) -> WorkerBlock:
    """Block a worker, who reads the reason. A current block gets the new reason.

    Raises ApiError if the requester blocks the maximum number of workers.
    """
    Worker.objects.select_for_update().get(pk=worker.pk)  # the same lock as an accept
    current_blocks = WorkerBlock.objects.filter(requester=requester, ended_at=None)
    if not current_blocks.filter(worker=worker).exists() and current_blocks.count() >= MAX_BLOCKS:
        raise ApiError(
            "InvalidParameterValue",
            f"An account can block at most {MAX_BLOCKS:,} workers. End a block first.",
        )
    row, _ = WorkerBlock.objects.update_or_create(
        requester=requester,
        worker=worker,
        ended_at=None,
        defaults={"reason": reason},
        create_defaults={"reason": reason, "at": now},
    )
    return row


@transaction.atomic
def unblock_worker(*, requester: Requester, worker: Worker, reason: str, now: datetime) -> None:
    """End a block; the worker does not see this reason. Without a block nothing happens."""
    WorkerBlock.objects.filter(requester=requester, worker=worker, ended_at=None).update(
        ended_at=now, end_reason=reason
    )
