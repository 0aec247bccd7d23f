"""Who takes part in a project: members with a role, and annotators who agreed to its text."""

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


def annotators(project: Project) -> list[tuple[Record, Participation]]:
    """Return the workers who agreed to a consent text, with their record; three queries."""
    newest: dict[int, Participation] = {}
    agreed = Participation.objects.filter(project=project).select_related("worker", "consent")
    for row in agreed.order_by("consent__version"):
        newest[row.worker_id] = row
    counted = _counted(project, Worker.objects.filter(pk__in=newest))
    medians = median_by_worker(project)
    return [(_record(worker, medians.get(worker.pk)), newest[worker.pk]) for worker in counted]


def record_of(worker: Worker, project: Project) -> Record:
    """Return one worker's record in a project."""
    counted = _counted(project, Worker.objects.filter(pk=worker.pk)).get()
    return _record(counted, median_by_worker(project).get(worker.pk))


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
