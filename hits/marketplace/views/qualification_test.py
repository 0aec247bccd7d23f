"""Asking for a qualification: its page, its test, and how the request went."""

from __future__ import annotations

from csp.decorators import csp_update
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from hits.domain.content_security_policy import QUESTION_FORM_MEDIA
from hits.marketplace.errors import Refused
from hits.marketplace.formats.form_answers import bind, read_answers
from hits.marketplace.formats.question_form import parse_question_form
from hits.marketplace.models import Clock, QualificationType, RequestState, Worker
from hits.marketplace.selectors.requestable import (
    Availability,
    Requestable,
    requestable,
    visible_type,
)
from hits.marketplace.services import qualification_requests

from .access import worker_required


@never_cache
@require_GET
@worker_required
def qualification(request: HttpRequest, type_id: str, worker: Worker) -> HttpResponse:
    """Show what a qualification says, how one gets it, and how the worker's own request stands."""
    kind = _find(worker, type_id)
    context = {
        "worker": worker,
        "row": requestable(worker, kind, Clock.now()),
        "kind": kind,
        "question_count": len(parse_question_form(kind.test).questions) if kind.test else 0,
    }
    return render(request, "marketplace/qualifications/qualification.html", context)


@require_POST
@worker_required
def ask(request: HttpRequest, type_id: str, worker: Worker) -> HttpResponse:
    """Ask for a qualification or start its test; pressing twice does it once."""
    kind = _find(worker, type_id)
    try:
        made = qualification_requests.ask(worker=worker, kind=kind, now=Clock.now())
    except Refused as refusal:
        messages.warning(request, gettext(str(refusal)))
        return redirect("marketplace:qualification", type_id=type_id)
    if made.state == RequestState.TAKING:
        return redirect("marketplace:qualification-test", type_id=type_id)
    return redirect("marketplace:qualification", type_id=type_id)


@never_cache
@require_http_methods(["GET", "POST"])
@csp_update(QUESTION_FORM_MEDIA)
@worker_required
def test(request: HttpRequest, type_id: str, worker: Worker) -> HttpResponse:
    """Show the test that the worker has started, or take its answers."""
    kind = _find(worker, type_id)
    row = requestable(worker, kind, Clock.now())
    if request.method == "POST":
        return _hand_in(request, worker, row)
    if row.availability is not Availability.TAKING:
        return redirect("marketplace:qualification", type_id=type_id)
    return _page(request, worker, row)


def _hand_in(request: HttpRequest, worker: Worker, row: Requestable) -> HttpResponse:
    """Take a test's answers; what cannot be taken comes back with everything that was typed."""
    made = row.request
    if made is None or not made.test:
        return redirect("marketplace:qualification", type_id=row.kind.type_id)
    posted = dict(request.POST.lists())
    form = parse_question_form(made.test)
    answers, problems = read_answers(form, posted)
    if problems and row.availability is Availability.TAKING:
        bound = bind(form, posted, problems)
        return _page(request, worker, row, form=bound, status=400)
    try:
        made = qualification_requests.hand_in(
            worker=worker, request_id=made.request_id, answers=answers, now=Clock.now()
        )
    except Refused as refusal:
        messages.warning(request, gettext(str(refusal)))
        return _page(request, worker, row, form=bind(form, posted), status=400)
    if made.submitted_at is None:
        late = requestable(worker, row.kind, Clock.now())
        return _page(request, worker, late, form=bind(form, posted, disabled=True), is_over=True, status=409)
    return redirect("marketplace:qualification", type_id=row.kind.type_id)


def _page(
    request: HttpRequest,
    worker: Worker,
    row: Requestable,
    *,
    form: object = None,
    is_over: bool = False,
    status: int = 200,
) -> HttpResponse:
    made = row.request
    if made is None or made.deadline is None:
        raise Http404("You have no such test.")
    context = {
        "worker": worker,
        "row": row,
        "kind": row.kind,
        "form": form or bind(parse_question_form(made.test)),
        "is_over": is_over,
        "seconds_left": max(0, int((made.deadline - Clock.now()).total_seconds())),
    }
    return render(request, "marketplace/qualifications/qualification_test.html", context, status=status)


def _find(worker: Worker, type_id: str) -> QualificationType:
    kind = visible_type(worker, type_id)
    if kind is None:
        raise Http404("There is no such qualification to ask for.")
    return kind
