"""CreateWorkerBlock, DeleteWorkerBlock, ListWorkerBlocks."""

from typing import Any

from hits.marketplace.models import WorkerBlock
from hits.marketplace.services import blocks as services

from .limits import MAX_REASON_LENGTH, check_length
from .lookup import find_worker
from .paging import list_page_by_pk
from .registry import Call, operation


@operation("CreateWorkerBlock")
def create_worker_block(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Block a worker from new work of the caller; the worker reads the reason."""
    worker = find_worker(params["WorkerId"])
    check_length("Reason", params["Reason"], 1, MAX_REASON_LENGTH)
    services.block_worker(requester=call.requester, worker=worker, reason=params["Reason"], now=call.now)
    return {}


@operation("DeleteWorkerBlock")
def delete_worker_block(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """End a block. For a worker who is not blocked nothing happens."""
    worker = find_worker(params["WorkerId"])
    reason = params.get("Reason", "")
    check_length("Reason", reason, 0, MAX_REASON_LENGTH)
    services.unblock_worker(requester=call.requester, worker=worker, reason=reason, now=call.now)
    return {}


@operation("ListWorkerBlocks")
def list_worker_blocks(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the caller's current blocks, oldest first."""
    return list_page_by_pk(
        call,
        params,
        WorkerBlock.objects.filter(requester=call.requester, ended_at=None).select_related("worker"),
        name="WorkerBlocks",
        render=lambda rows: [{"WorkerId": row.worker.worker_id, "Reason": row.reason} for row in rows],
    )
