"""Carry out what was decided about a worker, and say how that went."""

from django.contrib import messages
from django.http import HttpRequest

from hits.models import Project, Worker
from hits.mturk.boto import marketplace
from validation.domain.qualification.worker_status import WorkerStatus
from validation.services.worker_status import settle_worker_calls

_STATUS_TEXTS = {
    WorkerStatus.PAUSED: "paused",
    WorkerStatus.DEQUALIFIED: "de-qualified",
    WorkerStatus.BLOCKED: "blocked",
}


def apply_status_change(request: HttpRequest, project: Project, worker: Worker, status: WorkerStatus) -> None:
    """Carry what was decided to the marketplace, and say how that went."""
    outstanding = settle_worker_calls(project=project, worker=worker, marketplace=marketplace())
    status_text = _STATUS_TEXTS.get(status, "reinstated")
    if outstanding:
        messages.warning(
            request,
            f"{worker} is {status_text}, and telling the marketplace is outstanding: {outstanding[0]} It is repeated "
            "every half minute; our own pages turn the worker away until then.",
        )
    else:
        messages.success(request, f"{worker} is {status_text}. The worker reads your reason.")
