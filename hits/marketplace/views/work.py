"""The work list, previews, and a worker's history and earnings."""

from __future__ import annotations

from csp.decorators import csp_update
from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from hits.domain.content_security_policy import QUESTION_FORM_MEDIA, task_frames
from hits.marketplace.errors import Refused
from hits.marketplace.formats.form_answers import bind
from hits.marketplace.formats.question_form import parse_question_form
from hits.marketplace.models import Clock, HITType, QuestionKind, Worker
from hits.marketplace.selectors import market, statements
from hits.marketplace.selectors import messages as letters
from hits.marketplace.selectors import worker as own
from hits.marketplace.services import attempts, lifecycle

from .access import worker_required
from .frames import preview_frame

PER_PAGE = 50
UNREAD = 3  # of the newest messages on the work list; the menu counts all
# The requester's page, and then our own answer to its form.
FRAMES = task_frames(hit_origin=settings.HIT_ORIGIN)


@never_cache
@require_GET
@worker_required
def work_list(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Show what can be started now, and first what is still open."""
    now = Clock.now()
    groups, closed = market.listed_groups(worker, now)
    context = {
        "worker": worker,
        "now": now,
        "groups": groups,
        "closed": closed,
        "unread": letters.unread(worker, UNREAD),
        "tasks_left": sum(group.tasks_left for group in groups),
        "open_tasks": list(own.open_tasks(worker, now)),
        "earnings": own.earnings(worker),
        "latest": own.submissions(worker)[:6],
        "submitted_count": own.submissions(worker).count(),
    }
    return render(request, "marketplace/work.html", context)


@never_cache
@require_GET
@csp_update(FRAMES | QUESTION_FORM_MEDIA)
@worker_required
def preview(request: HttpRequest, hit_type_id: str, worker: Worker) -> HttpResponse:
    """Show a task without taking it, or why it cannot be looked at: no clock runs, nothing is submitted."""
    hit_type = get_object_or_404(HITType.objects.select_related("requester"), hit_type_id=hit_type_id)
    now = Clock.now()
    group = market.group_for(worker, hit_type, now)
    hit = None if group.bars_preview else market.preview_hit(worker, hit_type, now)
    is_form = hit is not None and hit.question_kind == QuestionKind.FORM
    context = {
        "worker": worker,
        "group": group,
        "hit": hit,
        "form": bind(parse_question_form(hit.question), disabled=True) if hit and is_form else None,
        "frame_src": preview_frame(request, hit, worker) if hit and not is_form else "",
    }
    return render(request, "marketplace/task/preview.html", context)


@require_POST
@worker_required
def accept(request: HttpRequest, hit_type_id: str, worker: Worker) -> HttpResponse:
    """Take a free task of the group and open it; pressing twice opens the same one."""
    hit_type = get_object_or_404(HITType, hit_type_id=hit_type_id)
    try:
        slot = attempts.accept_from_group(worker=worker, hit_type=hit_type, now=Clock.now())
    except attempts.CountryNeeded as refusal:
        messages.warning(request, gettext(str(refusal)))
        return redirect(f"{reverse('marketplace:qualifications')}#country")
    except Refused as refusal:
        messages.warning(request, gettext(str(refusal)))
        return redirect("marketplace:work")
    return redirect("marketplace:task", assignment_id=slot.assignment_id)


@never_cache
@require_GET
@worker_required
def history(request: HttpRequest, worker: Worker) -> HttpResponse:
    """List what the worker submitted with each decision and its reason."""
    lifecycle.sweep_worker(worker_pk=worker.pk, now=Clock.now())
    page = Paginator(own.submissions(worker), PER_PAGE).get_page(request.GET.get("page"))
    context = {"worker": worker, "page": page, "unfinished": list(own.unfinished(worker))}
    return render(request, "marketplace/earnings/history.html", context)


@never_cache
@require_GET
@worker_required
def earnings(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Show earned, in review, paid out and owed, and the lines they are sums of."""
    lifecycle.sweep_worker(worker_pk=worker.pk, now=Clock.now())
    page = Paginator(own.money_lines(worker), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "worker": worker,
        "earnings": own.earnings(worker),
        "page": page,
        "months": statements.months(worker),
        "payouts": list(statements.payouts(worker)[:PER_PAGE]),
    }
    return render(request, "marketplace/earnings/earnings.html", context)
