"""Apply a status change on the marketplace, and report the result to the user."""

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


def send_status_change(request: HttpRequest, project: Project, worker: Worker, status: WorkerStatus) -> None:
    """Send a worker's status change to the marketplace, and add a message with the result."""
    outstanding = settle_worker_calls(project=project, worker=worker, marketplace=marketplace())
    status_text = _STATUS_TEXTS.get(status, "reinstated")
    if outstanding:
        messages.warning(
            request,
            f"{worker} is {status_text}. The marketplace was not updated: {outstanding[0]} The update is retried "
            "every 30 seconds. Until then, the task pages of this site refuse the worker.",
        )
    else:
        messages.success(request, f"{worker} is {status_text}. The worker can read your reason.")
