"""Long work: what it is doing and did, and ways to stop it and to let it go on."""

from collections.abc import Iterator
from math import isfinite
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.db.models import Case, QuerySet, Value, When
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from hits.domain.answers.evidence import words
from hits.domain.jobs.fact_labels import fact_label
from hits.domain.states import OPEN_JOB_STATES, JobState, Role
from hits.models import Batch, Job, JobLine
from hits.selectors.jobs import is_refused, may_resume
from hits.services.batches import extend, top_up
from hits.services.errors import Refused
from hits.services.jobs import jobs as services
from hits.views.access import check_access

LINES_SHOWN = 200
PARTS_PER_PAGE = 50
LISTED = 6  # of a list that a job left, before the rest is counted
DIGITS = 4
# Numbers that name a thing: written without separators.
NAMING = frozenset({"seed", "run", "round", "analysis", "feature_set", "batch", "version", "scorer"})
SECTIONS = {"curation": "curation", "validation": "judging"}  # by the app that a task belongs to
IMPORTS = ("hits.import_zip",)  # what leads back to the photos


def _job(request: HttpRequest, job_id: int) -> Job:
    job = Job.objects.select_related("project", "created_by", "parent").filter(pk=job_id).first()
    if job is None:
        raise Http404("There is no such page.")
    if job.project is not None:
        check_access(request, job.project, Role.RESEARCHER)
    elif not request.user.is_superuser:
        raise PermissionDenied("This job belongs to no project; whoever runs this server sees it.")
    return job


@require_safe
def job_detail(request: HttpRequest, job_id: int) -> HttpResponse:
    """Show one job: how far it is, its parts, its log and what it found."""
    job = _job(request, job_id)
    batch = _batch_of(job)
    section = "images" if job.task in IMPORTS else SECTIONS.get(job.task.partition(".")[0], "")
    lines = list(job.lines.order_by("-pk")[:LINES_SHOWN])[::-1]
    context = {
        "project": job.project,
        "section": "batches" if batch else section,
        "job": job,
        "batch": batch,
        "result": list(_facts(job.result)),
        "open": job.state in OPEN_JOB_STATES,
        "resumable": may_resume(job),
        "refused": is_refused(job),
        "lines": lines,
        "newest": lines[-1].pk if lines else 0,
        "earlier": job.lines.count() - len(lines),
        "page": _parts(job, request.GET.get("page")),
    }
    return render(request, "hits/jobs/job.html", context)


def _batch_of(job: Job) -> Batch | None:
    return Batch.objects.filter(pk=job.args.get("batch") or 0, project=job.project).first()


def _parts(job: Job, number: str | None) -> "Page[Job]":
    """A page of the job's parts: what went wrong first, then what is being done, what waits, what is done."""
    states = (JobState.FAILED, JobState.RUNNING, JobState.QUEUED, JobState.CANCELLED)
    places = [When(state=state, then=Value(place)) for place, state in enumerate(states)]
    parts = job.parts.order_by(Case(*places, default=Value(len(states))), "pk")
    return Paginator(parts, PARTS_PER_PAGE).get_page(number)


@require_safe
def job_log(request: HttpRequest, job_id: int) -> StreamingHttpResponse:
    """Hand out a job's whole log as text, one line each with its time in UTC."""
    job = _job(request, job_id)
    name = f'attachment; filename="job-{job.pk}-log.txt"'
    text = "text/plain; charset=utf-8"
    return StreamingHttpResponse(
        _written(job.lines.all()), content_type=text, headers={"Content-Disposition": name}
    )


def _written(lines: "QuerySet[JobLine]") -> Iterator[str]:
    for line in lines.iterator(chunk_size=500):
        yield f"{line.at:%Y-%m-%d %H:%M:%S} {line.text}\n"


def _facts(result: dict[str, Any], of: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what a job left as words and values; what is inside another value is named after it."""
    for key, value in result.items():
        name = f"{of}_{key}" if of else key
        if isinstance(value, dict):
            yield from _facts(value, name)
        elif value is not None and value != "":
            yield fact_label(name), _shown(value, is_name=key in NAMING)


def _shown(value: Any, *, is_name: bool = False) -> str:
    """Return a value of a job's result as people read it; a list keeps its first few, and says how many more."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if is_name else f"{value:,}"
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, dict):
        return ", ".join(f"{words(key).lower()} {_shown(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        shown = [_shown(item, is_name=is_name) for item in value[:LISTED]]
        more = [f"{len(value) - LISTED:,} more"] if len(value) > LISTED else []
        return "; ".join(shown + more) or "none"
    return "–" if value is None or value == "" else str(value)


def _rounded(value: float) -> str:
    """Return ``12.3`` for 12.300000001 and ``1,234,568`` for 1234567.89: four digits, or the whole number."""
    if not isfinite(value):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 10 ** (DIGITS - 1) else f"{value:.{DIGITS}g}"


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
    batch = _batch_of(job)
    return redirect("batch-detail", batch.pk) if batch else redirect("job-detail", job.pk)


@require_POST
def job_resume(request: HttpRequest, job_id: int) -> HttpResponse:
    """Let a job that failed or was cancelled go on where it ended."""
    job = _job(request, job_id)
    try:
        services.resume(job=job)
    except Refused as error:
        messages.warning(request, f"Not resumed: {error}.")
    else:
        messages.success(request, f"{job.title}: is queued again, and goes on where it ended.")
    return redirect("job-detail", job.pk)
