"""NotifyWorkers."""

from typing import Any

from hits.marketplace.models import Worker
from hits.marketplace.selectors.messages import find_past_worker_pks
from hits.marketplace.services import messages

from .limits import check_length, check_range
from .registry import Call, operation

MAX_WORKERS = 100
MAX_SUBJECT_LENGTH = 200
MAX_TEXT_LENGTH = 4096


@operation("NotifyWorkers")
def notify_workers(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Write the same message to each worker once; workers read it on their Messages page.

    The reply names the workers who were not reached: a worker who does not exist (HardFailure), and one who never
    worked for the caller (SoftFailure, since that may change). A worker has worked for the caller if the caller
    decided a submission of theirs, or ever granted them a qualification.
    """
    ids = list(dict.fromkeys(params["WorkerIds"]))
    check_range("the number of WorkerIds", len(ids), 1, MAX_WORKERS)
    check_length("Subject", params["Subject"], 1, MAX_SUBJECT_LENGTH)
    check_length("MessageText", params["MessageText"], 1, MAX_TEXT_LENGTH)
    workers = {worker.worker_id: worker for worker in Worker.objects.filter(worker_id__in=ids)}
    known = find_past_worker_pks(call.requester, workers.values(), call.now)
    messages.send_messages(
        requester=call.requester,
        workers=[workers[name] for name in ids if name in workers and workers[name].pk in known],
        subject=params["Subject"],
        text=params["MessageText"],
        now=call.now,
    )
    failures = [
        _failure_row(name, workers.get(name))
        for name in ids
        if name not in workers or workers[name].pk not in known
    ]
    return {"NotifyWorkersFailureStatuses": failures}


def _failure_row(worker_id: str, worker: Worker | None) -> dict[str, str]:
    code, message = (
        ("HardFailure", "This worker does not exist.")
        if worker is None
        else ("SoftFailure", "You have not approved or rejected work of this worker yet.")
    )
    return {
        "WorkerId": worker_id,
        "NotifyWorkersFailureCode": code,
        "NotifyWorkersFailureMessage": message,
    }
