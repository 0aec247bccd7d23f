"""NotifyWorkers."""

from __future__ import annotations

from typing import Any

from hits.marketplace.models import Worker
from hits.marketplace.selectors.messages import known_workers
from hits.marketplace.services import messages

from .registry import Call, operation
from .rules import check_length, check_range

MAX_WORKERS = 100
MAX_SUBJECT = 200
MAX_TEXT = 4096


@operation("NotifyWorkers")
def notify_workers(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Write the same message to each worker once; they read it on their page "Messages".

    The reply names those who were not reached, the others are: a worker who does not exist (HardFailure), and
    one who never worked for the caller (SoftFailure: that may change). Having worked is having had a submission
    approved or rejected by the caller, or holding, or having lost, a qualification of the caller's.
    """
    ids = list(dict.fromkeys(params["WorkerIds"]))
    check_range("the number of WorkerIds", len(ids), 1, MAX_WORKERS)
    check_length("Subject", params["Subject"], 1, MAX_SUBJECT)
    check_length("MessageText", params["MessageText"], 1, MAX_TEXT)
    found = {worker.worker_id: worker for worker in Worker.objects.filter(worker_id__in=ids)}
    known = known_workers(call.requester, found.values(), call.now)
    messages.send(
        requester=call.requester,
        workers=[found[name] for name in ids if name in found and found[name].pk in known],
        subject=params["Subject"],
        text=params["MessageText"],
        now=call.now,
    )
    failures = [
        _missed(name, found.get(name)) for name in ids if name not in found or found[name].pk not in known
    ]
    return {"NotifyWorkersFailureStatuses": failures}


def _missed(worker_id: str, worker: Worker | None) -> dict[str, str]:
    code, why = (
        ("HardFailure", "This worker does not exist.")
        if worker is None
        else ("SoftFailure", "You have not approved or rejected work of this worker yet.")
    )
    return {
        "WorkerId": worker_id,
        "NotifyWorkersFailureCode": code,
        "NotifyWorkersFailureMessage": why,
    }
