"""The workers of a project: the list, and one page per worker with status and history."""

import re

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from hits.domain.states import Role
from hits.models import Demographics, Project, Worker
from hits.selectors.roles import visitor_has_role
from hits.services.errors import Refused
from hits.services.workers import demographics
from hits.views.access import project_page
from hits.views.pages import get_or_404, section_context
from hits.views.users import signed_in_user
from validation.domain.qualification.worker_status import EXCLUDED_STATUSES, WorkerStatus
from validation.selectors import training, worker_rules, worker_status, workers
from validation.selectors.judging import has_or_may_collect_pairs
from validation.selectors.worker_figures import compute_worker_figures
from validation.selectors.worker_history import worker_history
from validation.services.worker_status import change_worker_status
from validation.views.evidence import worker_evidence
from validation.views.status_messages import send_status_change
from validation.views.worker_rules import proposal_rows

_WORKER_NUMBER_PATTERN = re.compile(r"\s*(?:[Ww]-?)?(\d{1,12})\s*")


@require_safe
@project_page()
def worker_list(request: HttpRequest, project: Project) -> HttpResponse:
    """List the project's workers with their status."""
    requested = request.GET.get("standing", "")
    selected = WorkerStatus(requested) if requested in set(WorkerStatus) else None
    search = request.GET.get("q", "")[:20]
    found = _WORKER_NUMBER_PATTERN.fullmatch(search)
    # Text that is not a number finds no worker.
    number = (int(found[1]) if found else 0) if search.strip() else None
    context = section_context(project, "people", "workers") | {
        "admin": visitor_has_role(request, project, Role.ADMIN),
        "workers": workers.worker_page(
            project, status=selected, number=number, page=request.GET.get("page", "1")
        ),
        "selected": selected or "",
        "search": search,
        "consent": project.consent_texts.first(),
    }
    return render(request, "validation/workers/workers.html", context)


@require_safe
@project_page()
def worker_detail(request: HttpRequest, project: Project, worker_id: int) -> HttpResponse:
    """Show one worker's status, figures and history, and forms to change the status."""
    worker = _get_worker_or_404(project, worker_id)
    admin = visitor_has_role(request, project, Role.ADMIN)
    current = worker_status.current_status(worker, project)
    context = section_context(project, "people", "workers") | {
        "admin": admin,
        "worker": worker,
        "current": current,
        "reinstatement_options": worker_status.reinstatement_options(worker, project, current),
        "figures": compute_worker_figures(worker, project),
        "judges_pairs": has_or_may_collect_pairs(project),
        "evidence": worker_evidence(worker, project),
        "events": worker_history(worker, project),
        "proposals": proposal_rows(worker_rules.open_proposals(project).filter(worker=worker)),
        "waiting_attempt": training.attempts_without_feedback(project).filter(worker=worker).first(),
        "has_demographics": admin and Demographics.objects.filter(project=project, worker=worker).exists(),
    }
    return render(request, "validation/workers/worker.html", context)


@require_POST
@project_page()
def worker_status_change(request: HttpRequest, project: Project, worker_id: int) -> HttpResponse:
    """Change a worker's status, update the marketplace, and report what is outstanding."""
    worker = _get_worker_or_404(project, worker_id)
    back = redirect("worker-detail", project.slug, worker.pk)
    try:
        requested = WorkerStatus(request.POST.get("status", ""))
    except ValueError:
        messages.error(request, "Choose a status.")
        return back
    current = worker_status.current_status(worker, project)
    # Workers become qualified or trained on other pages; here they can only be reinstated to these statuses.
    if requested not in {
        *EXCLUDED_STATUSES,
        current.status,
        *worker_status.reinstatement_options(worker, project, current),
    }:
        messages.error(
            request,
            f"Not changed: {worker} is {current.status.value}, and cannot become {requested.value} here.",
        )
        return back
    try:
        change_worker_status(
            project=project,
            worker=worker,
            status=requested,
            reason=request.POST.get("reason", ""),
            by=signed_in_user(request),
        )
    except Refused as error:
        messages.error(request, f"Not changed: {error}")
        return back
    send_status_change(request, project, worker, requested)
    return back


@require_POST
@project_page(Role.ADMIN)
def optional_answers_delete(request: HttpRequest, project: Project, worker_id: int) -> HttpResponse:
    """Delete the worker's answers to optional questions."""
    worker = _get_worker_or_404(project, worker_id)
    if demographics.delete_demographics(project=project, worker=worker, by=signed_in_user(request)):
        messages.success(request, f"Deleted the optional answers of {worker}.")
    else:
        messages.info(request, f"{worker} has no optional answers.")
    return redirect("worker-detail", project.slug, worker.pk)


def _get_worker_or_404(project: Project, worker_id: int) -> Worker:
    return get_or_404(workers.find_worker(project, worker_id))
