"""Carry out what was decided about a worker, and say how that went."""

from django.contrib import messages
from django.http import HttpRequest

from hits.models import Project, Worker
from hits.mturk.boto import marketplace
from validation.domain.qualification.worker_status import Standing
from validation.services.worker_status import carry_out

_DONE = {
    Standing.PAUSED: "paused",
    Standing.DEQUALIFIED: "de-qualified",
    Standing.BLOCKED: "blocked",
}


def say_standing(request: HttpRequest, project: Project, worker: Worker, now: Standing) -> None:
    """Carry what was decided to the marketplace, and say how that went."""
    outstanding = carry_out(project=project, worker=worker, marketplace=marketplace())
    word = _DONE.get(now, "reinstated")
    if outstanding:
        messages.warning(
            request,
            f"{worker} is {word}, and telling the marketplace is outstanding: {outstanding[0]} It is repeated "
            "every half minute; our own pages turn the worker away until then.",
        )
    else:
        messages.success(request, f"{worker} is {word}. The worker reads your reason.")
