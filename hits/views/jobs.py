"""Long work: what it is doing, and a way to stop it."""

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from hits.domain.evidence import words
from hits.domain.states import OPEN_JOB_STATES, Role
from hits.models import Batch, Job
from hits.services import extend, top_up
from hits.services import jobs as services
from hits.services.errors import Refused
from hits.views.access import check_access


def _job(request: HttpRequest, job_id: int) -> Job:
    job = Job.objects.select_related("project", "created_by").filter(pk=job_id).first()
    if job is None:
        raise Http404("There is no such page.")
    if job.project is not None:
        check_access(request, job.project, Role.RESEARCHER)
    elif not request.user.is_superuser:
        raise PermissionDenied("This job belongs to no project; whoever runs this server sees it.")
    return job


@require_safe
def job_detail(request: HttpRequest, job_id: int) -> HttpResponse:
    """Show one job."""
    job = _job(request, job_id)
    batch = Batch.objects.filter(pk=job.args.get("batch") or 0, project=job.project).first()
    context = {
        "project": job.project,
        "section": "batches" if batch else "",
        "job": job,
        "batch": batch,
        "result": list(_facts(job.result)),
        "open": job.state in OPEN_JOB_STATES,
    }
    return render(request, "hits/job.html", context)


def _facts(result: dict[str, Any], of: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what a job left as words and values; what is inside another value is named after it."""
    for key, value in result.items():
        name = f"{of}_{key}" if of else key
        if isinstance(value, dict):
            yield from _facts(value, name)
        elif value is not None and value != "":
            yield words(name), value


@require_POST
def job_cancel(request: HttpRequest, job_id: int) -> HttpResponse:
    """Ask a job to stop."""
    job = _job(request, job_id)
    try:
        services.cancel(job=job)
        top_up.withdraw_if_stopped(job=job)
        extend.withdraw_if_stopped(job=job)
    except Refused as error:
        messages.warning(request, f"{job.title}: {error}.")
    else:
        messages.success(request, f"{job.title}: asked to stop. What is done stays done.")
    batch = Batch.objects.filter(pk=job.args.get("batch") or 0, project=job.project).first()
    return redirect("batch-detail", batch.pk) if batch else redirect("job-detail", job.pk)
