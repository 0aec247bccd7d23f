"""The work list, previews, and a worker's history and earnings."""

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

from hits.domain.content_security_policy import QUESTION_FORM_MEDIA, task_frame_policy
from hits.marketplace.errors import ActionRefused
from hits.marketplace.formats.form_answers import bind_form
from hits.marketplace.formats.question_form import parse_question_form
from hits.marketplace.models import Clock, HITType, QuestionKind, Worker
from hits.marketplace.selectors import messages as message_selectors
from hits.marketplace.selectors import statements, work_groups
from hits.marketplace.selectors import worker as worker_selectors
from hits.marketplace.services import attempts, lifecycle

from .access import worker_required
from .frames import preview_frame_url

PER_PAGE = 50
MAX_UNREAD_SHOWN = 3  # newest messages on the work list; the menu counts all
# The frame shows the requester's page, and after a submission our own page.
FRAME_SOURCES = task_frame_policy(hit_origin=settings.HIT_ORIGIN)


@never_cache
@require_GET
@worker_required
def work_list(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Show the worker's open tasks and the groups that can be started now."""
    now = Clock.now()
    groups, closed_groups = work_groups.list_open_and_closed_groups(worker, now)
    context = {
        "worker": worker,
        "now": now,
        "groups": groups,
        "closed_groups": closed_groups,
        "unread": message_selectors.list_unread(worker, MAX_UNREAD_SHOWN),
        "tasks_left": sum(group.tasks_left for group in groups),
        "open_tasks": list(worker_selectors.list_open_tasks(worker, now)),
        "earnings": worker_selectors.compute_earnings(worker),
        "latest": worker_selectors.list_submissions(worker)[:6],
        "submitted_count": worker_selectors.list_submissions(worker).count(),
    }
    return render(request, "marketplace/work.html", context)


@never_cache
@require_GET
@csp_update(FRAME_SOURCES | QUESTION_FORM_MEDIA)
@worker_required
def preview(request: HttpRequest, hit_type_id: str, worker: Worker) -> HttpResponse:
    """Preview a task without accepting it, or show why it is closed. Nothing can be submitted."""
    hit_type = get_object_or_404(HITType.objects.select_related("requester"), hit_type_id=hit_type_id)
    now = Clock.now()
    group = work_groups.get_group(worker, hit_type, now)
    hit = None if group.blocks_preview else work_groups.find_preview_hit(worker, hit_type, now)
    is_form = hit is not None and hit.question_kind == QuestionKind.FORM
    context = {
        "worker": worker,
        "group": group,
        "hit": hit,
        "form": bind_form(parse_question_form(hit.question), disabled=True) if hit and is_form else None,
        "frame_src": preview_frame_url(request, hit, worker) if hit and not is_form else "",
    }
    return render(request, "marketplace/task/preview.html", context)


@require_POST
@worker_required
def accept(request: HttpRequest, hit_type_id: str, worker: Worker) -> HttpResponse:
    """Accept a free task of the group and open it; a second press opens the same task."""
    hit_type = get_object_or_404(HITType, hit_type_id=hit_type_id)
    try:
        slot = attempts.accept_or_resume_from_group(worker=worker, hit_type=hit_type, now=Clock.now())
    except attempts.CountryRequired as refusal:
        messages.warning(request, gettext(str(refusal)))
        return redirect(f"{reverse('marketplace:qualifications')}#country")
    except ActionRefused as refusal:
        messages.warning(request, gettext(str(refusal)))
        return redirect("marketplace:work")
    return redirect("marketplace:task", assignment_id=slot.assignment_id)


@never_cache
@require_GET
@worker_required
def history(request: HttpRequest, worker: Worker) -> HttpResponse:
    """List the worker's submissions with decision and reason."""
    lifecycle.apply_due_changes_of_worker(worker_pk=worker.pk, now=Clock.now())
    page = Paginator(worker_selectors.list_submissions(worker), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "worker": worker,
        "page": page,
        "unfinished": list(worker_selectors.list_returned_or_timed_out_attempts(worker)),
    }
    return render(request, "marketplace/earnings/history.html", context)


@never_cache
@require_GET
@worker_required
def earnings(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Show earned, in review, paid out and owed amounts, and the ledger entries."""
    lifecycle.apply_due_changes_of_worker(worker_pk=worker.pk, now=Clock.now())
    page = Paginator(worker_selectors.list_money_entries(worker), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "worker": worker,
        "earnings": worker_selectors.compute_earnings(worker),
        "page": page,
        "months": statements.list_months(worker),
        "payouts": list(statements.list_payouts(worker)[:PER_PAGE]),
    }
    return render(request, "marketplace/earnings/earnings.html", context)
