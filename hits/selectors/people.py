"""Who takes part in a project: members with a role, and annotators who agreed to its text."""

from collections.abc import Collection

from django.db.models import Count, Q, QuerySet

from hits.domain.states import AssignmentStatus, Role
from hits.models import ConsentText, Membership, Participation, Project, Worker
from hits.selectors.pay import Record, median_by_worker


def members(project: Project) -> "QuerySet[Membership]":
    """Return the project's researchers and admins, by name."""
    staff = [Role.RESEARCHER.value, Role.ADMIN.value]
    return (
        Membership.objects.filter(project=project, role__in=staff)
        .select_related("user")
        .order_by("user__username")
    )


def agreed(project: Project) -> set[int]:
    """Return the row keys of the workers who agreed to a consent text of the project; one query."""
    return set(Participation.objects.filter(project=project).values_list("worker_id", flat=True))


def records(project: Project, workers: Collection[int]) -> list[tuple[Record, Participation | None]]:
    """Return some workers' records, each with the newest consent they gave; three queries."""
    newest: dict[int, Participation] = {}
    given = Participation.objects.filter(project=project, worker__in=workers).select_related("consent")
    for row in given.order_by("consent__version"):
        newest[row.worker_id] = row
    counted = _counted(project, Worker.objects.filter(pk__in=workers))
    medians = median_by_worker(project, workers=workers)
    return [(_record(worker, medians.get(worker.pk)), newest.get(worker.pk)) for worker in counted]


def record_of(worker: Worker, project: Project) -> Record:
    """Return one worker's record in a project."""
    counted = _counted(project, Worker.objects.filter(pk=worker.pk)).get()
    return _record(counted, median_by_worker(project, workers=[worker.pk]).get(worker.pk))


def consent_texts(project: Project) -> list[tuple[ConsentText, int]]:
    """Return the versions of the consent text, newest first, each with how many agreed to it."""
    # A text has no way back to who agreed (its relation is hidden), so the count is asked for apart.
    agreed = dict(
        Participation.objects.filter(project=project).values_list("consent").annotate(Count("id")).order_by()
    )
    texts = ConsentText.objects.filter(project=project).order_by("-version")
    return [(text, agreed.get(text.pk, 0)) for text in texts]


def _counted(project: Project, workers: "QuerySet[Worker]") -> "QuerySet[Worker]":
    mine = Q(assignments__hit__unit__batch__project=project)

    def count(status: AssignmentStatus) -> Count:
        return Count("assignments", filter=mine & Q(assignments__status=status))

    return workers.annotate(
        approved=count(AssignmentStatus.APPROVED),
        rejected=count(AssignmentStatus.REJECTED),
        waiting=count(AssignmentStatus.SUBMITTED),
    ).order_by("pk")


def _record(worker: "Worker", median: int | None) -> Record:
    return Record(worker, worker.approved, worker.rejected, worker.waiting, median)  # type: ignore[attr-defined]
