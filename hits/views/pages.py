"""What the console's pages share: frame contexts, pagination, 404 errors, action messages, and jobs by state."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest

from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models import Batch, Job, Project
from hits.services.errors import Conflict, Refused

Row = TypeVar("Row")


def section_context(project: Project, section: str, tab: str = "") -> dict[str, Any]:
    """Return the context that the frame of a project's page needs: its entries in the navigation and the tabs."""
    return {"project": project, "section": section, "tab": tab}


def batch_context(batch: Batch) -> dict[str, Any]:
    """Return the context that the frame of a batch's page needs."""
    return {"project": batch.project, "section": "batches", "batch": batch}


def get_page(request: HttpRequest, rows: Any, size: int, parameter: str = "page") -> Page[Any]:
    """Return the page of rows whose number is in the ``parameter`` of the query string."""
    return Paginator(rows, size).get_page(request.GET.get(parameter))


def get_or_404(found: Row | None, message: str = "There is no such page.") -> Row:
    """Return ``found``, or raise Http404 with the message if it is ``None``."""
    if found is None:
        raise Http404(message)
    return found


@contextmanager
def action_messages(
    request: HttpRequest,
    failure: str = "",
    success: str = "",
    *,
    conflict: str = "",
    level: int = messages.ERROR,
) -> Iterator[None]:
    """Show a refusal as ``failure: reason``, or as its reason alone; otherwise show ``success``, if any.

    ``conflict``, if given, is shown as information when the refusal is a ``Conflict``.
    """
    try:
        yield
    except Refused as error:
        if conflict and isinstance(error, Conflict):
            messages.info(request, conflict)
            return
        reason = f"{failure}: {str(error).rstrip('.')}." if failure else str(error)
        messages.add_message(request, level, reason)
    else:
        if success:
            messages.success(request, success)


def job_if_open(job: Job | None) -> Job | None:
    """Return the job if it is queued or running, otherwise ``None``."""
    return job if job is not None and job.state in OPEN_JOB_STATES else None


def job_if_failed(job: Job | None) -> Job | None:
    """Return the job if it failed, otherwise ``None``."""
    return job if job is not None and job.state == JobState.FAILED else None
