"""Jobs: progress, log and result, with cancel and resume."""

from collections.abc import Iterator
from math import isfinite
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.db.models import Case, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from hits.domain.answers.evidence import humanize
from hits.domain.jobs.fact_labels import job_result_label
from hits.domain.states import OPEN_JOB_STATES, JobState, Role
from hits.models import Batch, Job, JobLine
from hits.selectors.jobs import can_resume, is_refused
from hits.services.batches import extensions, top_up
from hits.services.jobs import jobs as services
from hits.views.access import check_access
from hits.views.pages import action_messages, get_or_404

MAX_LINES_SHOWN = 200
SUBJOBS_PER_PAGE = 50
MAX_LIST_ITEMS = 6  # of a list in a job's result; the rest is counted
SIGNIFICANT_DIGITS = 4
# Keys whose numbers are identifiers: shown without separators.
IDENTIFIER_KEYS = frozenset({"seed", "run", "round", "analysis", "feature_set", "batch", "version", "scorer"})
SECTIONS = {"curation": "curation", "validation": "judging"}  # by the app of the task
PHOTO_JOB_TASKS = ("hits.import_zip",)  # tasks whose page links to the photos


def _get_job(request: HttpRequest, job_id: int) -> Job:
    job = get_or_404(Job.objects.select_related("project", "created_by", "parent").filter(pk=job_id).first())
    if job.project is not None:
        check_access(request, job.project, Role.RESEARCHER)
    elif not request.user.is_superuser:
        raise PermissionDenied("This job belongs to no project; only server administrators can see it.")
    return job


@require_safe
def job_detail(request: HttpRequest, job_id: int) -> HttpResponse:
    """Show one job: progress, steps, log and result."""
    job = _get_job(request, job_id)
    batch = _find_batch(job)
    section = "images" if job.task in PHOTO_JOB_TASKS else SECTIONS.get(job.task.partition(".")[0], "")
    lines = list(job.lines.order_by("-pk")[:MAX_LINES_SHOWN])[::-1]
    context = {
        "project": job.project,
        "section": "batches" if batch else section,
        "job": job,
        "batch": batch,
        "result": list(_result_rows(job.result)),
        "open": job.state in OPEN_JOB_STATES,
        "resumable": can_resume(job),
        "refused": is_refused(job),
        "lines": lines,
        "newest": lines[-1].pk if lines else 0,
        "earlier": job.lines.count() - len(lines),
        "page": _subjob_page(job, request.GET.get("page")),
    }
    return render(request, "hits/jobs/job.html", context)


def _find_batch(job: Job) -> Batch | None:
    return Batch.objects.filter(pk=job.args.get("batch") or 0, project=job.project).first()


def _subjob_page(job: Job, page_number: str | None) -> "Page[Job]":
    """Return a page of the job's steps: failed first, then running, queued, cancelled and done."""
    states = (JobState.FAILED, JobState.RUNNING, JobState.QUEUED, JobState.CANCELLED)
    ranks = [When(state=state, then=Value(rank)) for rank, state in enumerate(states)]
    parts = job.subjobs.order_by(Case(*ranks, default=Value(len(states))), "pk")
    return Paginator(parts, SUBJOBS_PER_PAGE).get_page(page_number)


@require_safe
def job_log(request: HttpRequest, job_id: int) -> StreamingHttpResponse:
    """Download a job's whole log as text, each line with its time in UTC."""
    job = _get_job(request, job_id)
    name = f'attachment; filename="job-{job.pk}-log.txt"'
    text = "text/plain; charset=utf-8"
    return StreamingHttpResponse(
        _log_lines(job.lines.all()), content_type=text, headers={"Content-Disposition": name}
    )


def _log_lines(lines: "QuerySet[JobLine]") -> Iterator[str]:
    for line in lines.iterator(chunk_size=500):
        yield f"{line.at:%Y-%m-%d %H:%M:%S} {line.text}\n"


def _result_rows(result: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a job's result as labels and values; nested keys are prefixed."""
    for key, value in result.items():
        name = f"{prefix}_{key}" if prefix else key
        if isinstance(value, dict):
            yield from _result_rows(value, name)
        elif value is not None and value != "":
            yield job_result_label(name), _format_value(value, is_identifier=key in IDENTIFIER_KEYS)


def _format_value(value: Any, *, is_identifier: bool = False) -> str:
    """Format a value of a job's result; a long list shows its first items and counts the rest."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, int):
        return str(value) if is_identifier else f"{value:,}"
    if isinstance(value, float):
        return _format_float(value)
    if isinstance(value, dict):
        return (
            ", ".join(f"{humanize(key).lower()} {_format_value(item)}" for key, item in value.items())
            or "none"
        )
    if isinstance(value, list):
        shown = [_format_value(item, is_identifier=is_identifier) for item in value[:MAX_LIST_ITEMS]]
        more = [f"{len(value) - MAX_LIST_ITEMS:,} more"] if len(value) > MAX_LIST_ITEMS else []
        return "; ".join(shown + more) or "none"
    return "–" if value is None or value == "" else str(value)


def _format_float(value: float) -> str:
    """Return ``12.3`` for 12.300000001 and ``1,234,568`` for 1234567.89: four digits, or the whole number."""
    if not isfinite(value):
        return str(value)
    return (
        f"{value:,.0f}" if abs(value) >= 10 ** (SIGNIFICANT_DIGITS - 1) else f"{value:.{SIGNIFICANT_DIGITS}g}"
    )


@require_POST
def job_cancel(request: HttpRequest, job_id: int) -> HttpResponse:
    """Request the cancellation of a job."""
    job = _get_job(request, job_id)
    done = f"{job.title}: cancellation requested. Finished work is kept."
    with action_messages(request, job.title, done, level=messages.WARNING):
        services.cancel_job(job=job)
        top_up.refuse_calls_if_stopped(job=job)
        extensions.refuse_calls_if_stopped(job=job)
    batch = _find_batch(job)
    return redirect("batch-detail", batch.pk) if batch else redirect("job-detail", job.pk)


@require_POST
def job_resume(request: HttpRequest, job_id: int) -> HttpResponse:
    """Resume a job that failed or was cancelled."""
    job = _get_job(request, job_id)
    done = f"{job.title} is queued and resumes where it stopped."
    with action_messages(request, "Not resumed", done, level=messages.WARNING):
        services.resume_job(job=job)
    return redirect("job-detail", job.pk)
