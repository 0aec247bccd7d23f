"""Request a qualification: its page, its test, and the result of the request."""

from csp.decorators import csp_update
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from hits.domain.content_security_policy import QUESTION_FORM_MEDIA
from hits.marketplace.errors import ActionRefused
from hits.marketplace.formats.form_answers import bind_form, read_answers
from hits.marketplace.formats.question_form import parse_question_form
from hits.marketplace.models import Clock, QualificationType, RequestState, Worker
from hits.marketplace.selectors.requestable import (
    Availability,
    TypeAvailability,
    find_visible_type,
    get_type_availability,
)
from hits.marketplace.services import qualification_requests

from .access import worker_required


@never_cache
@require_GET
@worker_required
def qualification(request: HttpRequest, type_id: str, worker: Worker) -> HttpResponse:
    """Show a qualification, how to get it, and the state of the worker's request."""
    qualification_type = _find_type_or_404(worker, type_id)
    test = qualification_type.test
    context = {
        "worker": worker,
        "row": get_type_availability(worker, qualification_type, Clock.now()),
        "qualification_type": qualification_type,
        "question_count": len(parse_question_form(test).questions) if test else 0,
    }
    return render(request, "marketplace/qualifications/qualification.html", context)


@require_POST
@worker_required
def request_qualification(request: HttpRequest, type_id: str, worker: Worker) -> HttpResponse:
    """Request a qualification or start its test; a second press changes nothing."""
    qualification_type = _find_type_or_404(worker, type_id)
    try:
        own_request = qualification_requests.request_qualification(
            worker=worker, qualification_type=qualification_type, now=Clock.now()
        )
    except ActionRefused as error:
        messages.warning(request, gettext(str(error)))
        return redirect("marketplace:qualification", type_id=type_id)
    if own_request.state == RequestState.TAKING:
        return redirect("marketplace:qualification-test", type_id=type_id)
    return redirect("marketplace:qualification", type_id=type_id)


@never_cache
@require_http_methods(["GET", "POST"])
@csp_update(QUESTION_FORM_MEDIA)
@worker_required
def take_test(request: HttpRequest, type_id: str, worker: Worker) -> HttpResponse:
    """Show the worker's running test, or submit its answers."""
    qualification_type = _find_type_or_404(worker, type_id)
    row = get_type_availability(worker, qualification_type, Clock.now())
    if request.method == "POST":
        return _submit_test(request, worker, row)
    if row.availability is not Availability.TAKING:
        return redirect("marketplace:qualification", type_id=type_id)
    return _render_test(request, worker, row)


def _submit_test(request: HttpRequest, worker: Worker, row: TypeAvailability) -> HttpResponse:
    """Submit a test's answers; after an error the page keeps everything that was typed."""
    own_request = row.request
    if own_request is None or not own_request.test:
        return redirect("marketplace:qualification", type_id=row.qualification_type.type_id)
    posted = dict(request.POST.lists())
    form = parse_question_form(own_request.test)
    answers, problems = read_answers(form, posted)
    if problems and row.availability is Availability.TAKING:
        bound = bind_form(form, posted, problems)
        return _render_test(request, worker, row, form=bound, status=400)
    try:
        own_request = qualification_requests.submit_test(
            worker=worker, request_id=own_request.request_id, answers=answers, now=Clock.now()
        )
    except ActionRefused as error:
        messages.warning(request, gettext(str(error)))
        return _render_test(request, worker, row, form=bind_form(form, posted), status=400)
    if own_request.submitted_at is None:
        current_row = get_type_availability(worker, row.qualification_type, Clock.now())
        bound = bind_form(form, posted, disabled=True)
        return _render_test(request, worker, current_row, form=bound, is_timed_out=True, status=409)
    return redirect("marketplace:qualification", type_id=row.qualification_type.type_id)


def _render_test(
    request: HttpRequest,
    worker: Worker,
    row: TypeAvailability,
    *,
    form: object = None,
    is_timed_out: bool = False,
    status: int = 200,
) -> HttpResponse:
    own_request = row.request
    if own_request is None or own_request.deadline is None:
        raise Http404("You have no such test.")
    context = {
        "worker": worker,
        "row": row,
        "qualification_type": row.qualification_type,
        "form": form or bind_form(parse_question_form(own_request.test)),
        "is_timed_out": is_timed_out,
        "seconds_left": max(0, int((own_request.deadline - Clock.now()).total_seconds())),
    }
    return render(request, "marketplace/qualifications/qualification_test.html", context, status=status)


def _find_type_or_404(worker: Worker, type_id: str) -> QualificationType:
    qualification_type = find_visible_type(worker, type_id)
    if qualification_type is None:
        raise Http404("There is no such qualification to request.")
    return qualification_type
