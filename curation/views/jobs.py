"""All curation jobs of a project, with equivalent commands."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from curation.selectors import job_lists
from curation.views.command_lines import command_lines
from curation.views.pages import tab_context
from hits.models import Project
from hits.selectors.jobs import can_resume
from hits.views.access import project_page
from hits.views.pages import get_page

JOBS_PER_PAGE = 25


@require_safe
@project_page()
def job_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show open jobs with their progress, and ended ones newest first."""
    page = get_page(request, job_lists.ended_jobs(project), JOBS_PER_PAGE)
    open_jobs, ended = job_lists.open_jobs(project), list(page)
    context = tab_context(project, "jobs") | {
        "open_jobs": list(zip(open_jobs, command_lines(open_jobs), strict=True)),
        "page": page,
        "rows": [(job, line, can_resume(job)) for job, line in zip(ended, command_lines(ended), strict=True)],
    }
    return render(request, "curation/jobs.html", context)
