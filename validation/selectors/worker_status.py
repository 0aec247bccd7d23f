"""The status of workers in a project, from the latest decided change and from their submissions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min

from hits import registry
from hits.domain.states import Purpose, SubmissionMatch
from hits.models import Assignment, Project, Worker
from validation.domain.qualification.worker_status import EXCLUDED_STATUSES, WorkerStatus
from validation.models import StatusChange

APPLIED_REASON = "Submitted the qualification task."
ACTIVE_REASON = "Submitted their first task."
_OPEN_TO_WORK = frozenset({WorkerStatus.QUALIFIED, WorkerStatus.TRAINED, WorkerStatus.ACTIVE})


@dataclass(frozen=True, slots=True)
class CurrentStatus:
    """A worker's status, its reason and start, and the user who decided it (``by`` is empty if no one did)."""

    status: WorkerStatus = WorkerStatus.NONE
    reason: str = ""
    since: datetime | None = None
    by: str = ""

    @property
    def is_excluded(self) -> bool:
        """Whether the worker gets no new tasks."""
        return self.status in EXCLUDED_STATUSES


def current_status(worker: Worker, project: Project) -> CurrentStatus:
    """Return one worker's status in the project; two queries."""
    return current_statuses(project, workers=[worker.pk]).get(worker.pk, CurrentStatus())


def current_statuses(project: Project, *, workers: Iterable[int] | None = None) -> dict[int, CurrentStatus]:
    """Return the status of a project's workers by primary key; two queries.

    A worker who is absent has ``WorkerStatus.NONE``. ``workers`` limits the result to these workers.
    """
    changes = StatusChange.objects.filter(project=project).select_related("decided_by")
    submitted = Assignment.objects.filter(hit__unit__batch__project=project, match=SubmissionMatch.MATCHED)
    if workers is not None:
        keys = list(workers)
        changes, submitted = changes.filter(worker__in=keys), submitted.filter(worker__in=keys)
    # Ordered by creation, so that each worker's newest change wins.
    latest = {change.worker_id: change for change in changes.order_by("pk")}
    first_submissions = _group_first_submissions(
        submitted.order_by().values_list("worker", "hit__unit__batch__kind").annotate(Min("submitted_at"))
    )
    return {
        pk: _derive_status(latest.get(pk), first_submissions.get(pk, {}))
        for pk in latest.keys() | first_submissions.keys()
    }


def _group_first_submissions(rows: Iterable[tuple[int, str, datetime]]) -> dict[int, dict[Purpose, datetime]]:
    """Return when each worker first submitted a task, by purpose."""
    first_submissions: dict[int, dict[Purpose, datetime]] = defaultdict(dict)
    for worker, kind, first in rows:
        purpose = registry.get_kind(kind).purpose
        first_submissions[worker][purpose] = min(first, first_submissions[worker].get(purpose, first))
    return first_submissions


def status_on_reinstatement(worker: Worker, project: Project) -> WorkerStatus:
    """Return the status that an excluded worker would have after reinstatement."""
    working_statuses = [
        WorkerStatus.QUALIFIED,
        WorkerStatus.TRAINED,
        WorkerStatus.ACTIVE,
        WorkerStatus.DECLINED,
    ]
    rows = StatusChange.objects.filter(project=project, worker=worker, status__in=working_statuses).order_by(
        "-pk"
    )
    latest = rows.values_list("status", flat=True).first()
    return WorkerStatus(latest) if latest else WorkerStatus.ACTIVE


def reinstatement_options(worker: Worker, project: Project, current: CurrentStatus) -> list[WorkerStatus]:
    """Return the statuses to which an excluded worker can be reinstated, the default first; else an empty list."""
    if not current.is_excluded:
        return []
    default = status_on_reinstatement(worker, project)
    can_retrain = current.status is WorkerStatus.DEQUALIFIED and default in {
        WorkerStatus.TRAINED,
        WorkerStatus.ACTIVE,
    }
    return [default, WorkerStatus.QUALIFIED] if can_retrain else [default]


def _derive_status(
    change: StatusChange | None, first_submissions: Mapping[Purpose, datetime]
) -> CurrentStatus:
    first_work = min(
        (
            first_submissions[purpose]
            for purpose in (Purpose.COLLECTING, Purpose.JUDGING)
            if purpose in first_submissions
        ),
        default=None,
    )
    first_application = first_submissions.get(Purpose.QUALIFYING)
    if change is None:
        if first_work is not None:
            return CurrentStatus(WorkerStatus.ACTIVE, ACTIVE_REASON, first_work)
        return (
            CurrentStatus(WorkerStatus.APPLIED, APPLIED_REASON, first_application)
            if first_application
            else CurrentStatus()
        )
    decided = WorkerStatus(change.status)
    if decided is WorkerStatus.ACTIVE and first_work is None:  # reinstated before any work
        return _decided_status(change, WorkerStatus.APPLIED if first_application else WorkerStatus.NONE)
    if first_work is None or decided not in _OPEN_TO_WORK:
        return _decided_status(change, decided)
    if first_work > change.decided_at:
        return CurrentStatus(WorkerStatus.ACTIVE, ACTIVE_REASON, first_work)
    return _decided_status(change, WorkerStatus.ACTIVE)


def _decided_status(change: StatusChange, status: WorkerStatus) -> CurrentStatus:
    by = change.decided_by.get_username() if change.decided_by is not None else ""
    return CurrentStatus(status, change.reason, change.decided_at, by)
