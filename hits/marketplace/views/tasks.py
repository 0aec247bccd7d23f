"""A task that a worker has taken: the frame with the requester's page, the clock, the way back."""

from __future__ import annotations

from typing import Any

from csp.decorators import csp_update
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from hits.domain.external_question import frame_url
from hits.marketplace.errors import Refused
from hits.marketplace.models import Attempt, Clock, Outcome, Worker
from hits.marketplace.selectors import worker as own
from hits.marketplace.services import attempts

from .access import worker_required
from .language import in_chosen_language
from .work import FRAMES


@never_cache
@require_GET
@csp_update(FRAMES)
@worker_required
def task(request: HttpRequest, assignment_id: str, worker: Worker) -> HttpResponse:
    """Show the worker's open task in its frame, or how the attempt ended."""
    attempt = own.present_attempt(worker, assignment_id)
    if attempt is None:
        raise Http404("You have no such task.")
    now = Clock.now()
    context: dict[str, Any] = {
        "worker": worker,
        "attempt": attempt,
        "task": attempt.assignment,
        "hit_type": attempt.assignment.hit.hit_type,
    }
    if attempt.outcome != Outcome.WORKING or attempt.deadline <= now:
        timed_out = attempt.outcome in {Outcome.WORKING, Outcome.ABANDONED}
        return render(request, "marketplace/task_ended.html", {**context, "timed_out": timed_out})
    context |= {
        "frame_src": _frame(request, attempt, worker),
        "seconds_left": int((attempt.deadline - now).total_seconds()),
    }
    return render(request, "marketplace/task.html", context)


@require_POST
@worker_required
def return_task(request: HttpRequest, assignment_id: str, worker: Worker) -> HttpResponse:
    """Give the task back."""
    try:
        attempts.return_task(worker=worker, assignment_id=assignment_id, now=Clock.now())
    except Refused as refusal:
        messages.warning(request, gettext(str(refusal)))
    else:
        messages.success(request, gettext("Task returned. Somebody else can take it now."))
    return redirect("marketplace:work")


def _frame(request: HttpRequest, attempt: Attempt, worker: Worker) -> str:
    slot = attempt.assignment
    return frame_url(
        in_chosen_language(request, slot.hit.question_url),
        assignment_id=slot.assignment_id,
        hit_id=slot.hit.hit_id,
        worker_id=worker.worker_id,
        submit_to=f"{settings.PUBLIC_URL}/a/{attempts.attempt_secret(attempt)}",
    )
