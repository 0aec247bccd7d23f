"""Read the workers of a project: a paged list, and the lookup of one worker."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator

from hits.models import Assignment, Participation, Project, Worker
from hits.selectors import people
from hits.selectors.money.pay import WorkerSummary
from validation.domain.qualification.worker_status import WorkerStatus
from validation.models import StatusChange
from validation.selectors.worker_rules import open_proposals
from validation.selectors.worker_status import CurrentStatus, current_statuses

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker in the list."""

    summary: WorkerSummary
    current_status: CurrentStatus
    participation: Participation | None
    has_proposal: bool


@dataclass(frozen=True, slots=True)
class WorkerPage:
    """One page of workers, and the number of workers by status in the project."""

    page: "Page[int]"
    rows: Sequence[WorkerRow]
    counts: Sequence[tuple[WorkerStatus, int]]
    total: int


def worker_page(
    project: Project, *, status: WorkerStatus | None, number: int | None, page: str
) -> WorkerPage:
    """Return a page of the project's workers, ordered by number; twelve queries.

    ``status`` selects workers with that status, ``number`` the worker ``W-<number>``.
    """
    statuses = current_statuses(project)
    all_workers = sorted(people.consented_worker_ids(project) | statuses.keys())
    counted = Counter(statuses.get(pk, CurrentStatus()).status for pk in all_workers)
    shown = [
        pk
        for pk in all_workers
        if (status is None or statuses.get(pk, CurrentStatus()).status is status)
        and (number is None or pk == number)
    ]
    page_ids = Paginator(shown, PER_PAGE).get_page(page)
    proposed = set(
        open_proposals(project).filter(worker__in=list(page_ids)).values_list("worker_id", flat=True)
    )
    rows = [
        WorkerRow(
            summary, statuses.get(summary.worker.pk, CurrentStatus()), agreed, summary.worker.pk in proposed
        )
        for summary, agreed in people.worker_summaries_with_consent(project, list(page_ids))
    ]
    return WorkerPage(page_ids, rows, [(s, counted[s]) for s in WorkerStatus if counted[s]], len(all_workers))


def find_worker(project: Project, pk: int) -> Worker | None:
    """Return a worker with a consent, a submission or a status change in the project, or ``None``."""
    worker = Worker.objects.filter(pk=pk).first()
    if worker is None:
        return None
    is_in_project = (
        Participation.objects.filter(project=project, worker=worker).exists()
        or StatusChange.objects.filter(project=project, worker=worker).exists()
        or Assignment.objects.filter(hit__unit__batch__project=project, worker=worker).exists()
    )
    return worker if is_in_project else None
