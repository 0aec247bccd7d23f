"""The workers of a project: the list, and one page for each with where they stand and why."""

import re
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from hits.domain.states import Role
from hits.models import Demographics, Project, Worker
from hits.selectors.roles import visitor_may
from hits.services.errors import Refused
from hits.services.workers import demographics
from hits.views.access import project_page
from hits.views.who import person
from validation.domain.qualification.worker_status import SHUT, Standing
from validation.selectors import training, worker_rules, worker_status, workers
from validation.selectors.judging import has_pairs
from validation.selectors.worker_figures import figures_of
from validation.selectors.worker_history import history
from validation.services.worker_status import change_standing
from validation.views.evidence import evidence_of
from validation.views.proposals import rows_of
from validation.views.say import say_standing

_NUMBER = re.compile(r"\s*(?:[Ww]-?)?(\d{1,12})\s*")


@require_safe
@project_page()
def worker_list(request: HttpRequest, project: Project) -> HttpResponse:
    """List the project's workers with their standing."""
    asked = request.GET.get("standing", "")
    chosen = Standing(asked) if asked in set(Standing) else None
    search = request.GET.get("q", "")[:20]
    found = _NUMBER.fullmatch(search)
    # What is no number finds nobody, and says so.
    number = (int(found[1]) if found else 0) if search.strip() else None
    context = {
        "project": project,
        "section": "people",
        "tab": "workers",
        "admin": visitor_may(request, project, Role.ADMIN),
        "listing": workers.listing(
            project, standing=chosen, number=number, page=request.GET.get("page", "1")
        ),
        "chosen": chosen or "",
        "search": search,
        "consent": project.consent_texts.first(),
    }
    return render(request, "validation/workers/workers.html", context)


@require_safe
@project_page()
def worker_detail(request: HttpRequest, project: Project, worker_id: int) -> HttpResponse:
    """Show where one worker stands, what they did, and what may be decided about them."""
    worker = _worker(project, worker_id)
    admin = visitor_may(request, project, Role.ADMIN)
    context: dict[str, Any] = {
        "project": project,
        "section": "people",
        "tab": "workers",
        "admin": admin,
        "worker": worker,
        "place": worker_status.standing_of(worker, project),
        "figures": figures_of(worker, project),
        "of_pairs": has_pairs(project),
        "evidence": evidence_of(worker, project),
        "events": history(worker, project),
        "proposals": rows_of(worker_rules.open_proposals(project).filter(worker=worker)),
        "waits": training.unanswered(project).filter(worker=worker).first(),
        "asked_about": admin and Demographics.objects.filter(project=project, worker=worker).exists(),
    }
    context["ways_back"] = worker_status.ways_back(worker, project, context["place"])
    return render(request, "validation/workers/worker.html", context)


@require_POST
@project_page()
def worker_standing(request: HttpRequest, project: Project, worker_id: int) -> HttpResponse:
    """Change a worker's standing, carry it to the marketplace, and say what is outstanding."""
    worker = _worker(project, worker_id)
    back = redirect("worker-detail", project.slug, worker.pk)
    try:
        wanted = Standing(request.POST.get("standing", ""))
    except ValueError:
        messages.error(request, "Choose where the worker shall stand.")
        return back
    place = worker_status.standing_of(worker, project)
    # To be qualified or trained is earned elsewhere; here somebody only comes back to it.
    if wanted not in {*SHUT, place.standing, *worker_status.ways_back(worker, project, place)}:
        messages.error(
            request,
            f"Not changed: {worker} is {place.standing.value}, and cannot become {wanted.value} here.",
        )
        return back
    try:
        change_standing(
            project=project,
            worker=worker,
            standing=wanted,
            reason=request.POST.get("reason", ""),
            by=person(request),
        )
    except Refused as error:
        messages.error(request, f"Not changed: {error}")
        return back
    say_standing(request, project, worker, wanted)
    return back


@require_POST
@project_page(Role.ADMIN)
def worker_forget(request: HttpRequest, project: Project, worker_id: int) -> HttpResponse:
    """Delete what the worker said about themselves."""
    worker = _worker(project, worker_id)
    if demographics.forget(project=project, worker=worker, by=person(request)):
        messages.success(request, f"What {worker} said about themselves is deleted.")
    else:
        messages.info(request, f"{worker} has said nothing about themselves, or it is deleted already.")
    return redirect("worker-detail", project.slug, worker.pk)


def _worker(project: Project, worker_id: int) -> Worker:
    worker = workers.worker_in(project, worker_id)
    if worker is None:
        raise Http404("There is no such page.")
    return worker
