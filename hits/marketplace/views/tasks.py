"""A task that a worker accepted: the requester's page in a frame, or a form; submit and return."""

from typing import Any

from csp.decorators import csp_update
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from hits.domain.content_security_policy import QUESTION_FORM_MEDIA
from hits.marketplace.errors import ActionRefused
from hits.marketplace.formats.form_answers import BoundForm, bind_form, read_answers
from hits.marketplace.formats.question_form import parse_question_form
from hits.marketplace.models import Attempt, Clock, Outcome, QuestionKind, Worker
from hits.marketplace.selectors import worker as worker_selectors
from hits.marketplace.services import attempts

from .access import worker_required
from .frames import task_frame_url
from .work import FRAME_SOURCES


@never_cache
@require_GET
@csp_update(FRAME_SOURCES | QUESTION_FORM_MEDIA)
@worker_required
def task(request: HttpRequest, assignment_id: str, worker: Worker) -> HttpResponse:
    """Show the worker's open task, or the outcome of the attempt."""
    attempt = _find_attempt_or_404(worker, assignment_id)
    if attempt.outcome != Outcome.WORKING or attempt.deadline <= Clock.now():
        return _render_ended_task(request, attempt, worker)
    if attempt.assignment.hit.question_kind == QuestionKind.FORM:
        return _render_form(
            request, attempt, worker, bind_form(parse_question_form(attempt.assignment.hit.question))
        )
    context = _task_context(attempt, worker) | {"frame_src": task_frame_url(request, attempt, worker)}
    return render(request, "marketplace/task/task.html", context)


@require_POST
@csp_update(QUESTION_FORM_MEDIA)
@worker_required
def submit_form(request: HttpRequest, assignment_id: str, worker: Worker) -> HttpResponse:
    """Submit a QuestionForm; after an error the page keeps everything that was typed."""
    attempt = _find_attempt_or_404(worker, assignment_id)
    if attempt.assignment.hit.question_kind != QuestionKind.FORM:
        raise Http404("This task has no form.")
    if attempt.outcome == Outcome.WORKING:
        form = parse_question_form(attempt.assignment.hit.question)
        posted = {name: [str(value) for value in values] for name, values in request.POST.lists()}
        answers, problems = read_answers(form, posted)
        bound = bind_form(form, posted, problems)
        if problems:
            return _render_form(request, attempt, worker, bound, status=400)
        try:
            attempts.submit_form(worker=worker, assignment_id=assignment_id, answers=answers, now=Clock.now())
        except ActionRefused as refusal:
            return _render_form(request, attempt, worker, bound, refusal=gettext(str(refusal)), status=409)
    return redirect("marketplace:task", assignment_id=assignment_id)


@require_POST
@worker_required
def return_task(request: HttpRequest, assignment_id: str, worker: Worker) -> HttpResponse:
    """Return the task."""
    try:
        attempts.return_task(worker=worker, assignment_id=assignment_id, now=Clock.now())
    except ActionRefused as refusal:
        messages.warning(request, gettext(str(refusal)))
    else:
        messages.success(request, gettext("Task returned. Somebody else can take it now."))
    return redirect("marketplace:work")


def _find_attempt_or_404(worker: Worker, assignment_id: str) -> Attempt:
    attempt = worker_selectors.find_latest_attempt(worker, assignment_id)
    if attempt is None:
        raise Http404("You have no such task.")
    return attempt


def _task_context(attempt: Attempt, worker: Worker) -> dict[str, Any]:
    return {
        "worker": worker,
        "attempt": attempt,
        "task": attempt.assignment,
        "hit_type": attempt.assignment.hit.hit_type,
        "seconds_left": max(0, int((attempt.deadline - Clock.now()).total_seconds())),
    }


def _render_ended_task(request: HttpRequest, attempt: Attempt, worker: Worker) -> HttpResponse:
    timed_out = attempt.outcome in {Outcome.WORKING, Outcome.ABANDONED}
    return render(
        request, "marketplace/task/task_ended.html", _task_context(attempt, worker) | {"timed_out": timed_out}
    )


def _render_form(
    request: HttpRequest,
    attempt: Attempt,
    worker: Worker,
    bound: BoundForm,
    *,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    context = _task_context(attempt, worker) | {"form": bound, "refusal": refusal}
    return render(request, "marketplace/task/task_form.html", context, status=status)
