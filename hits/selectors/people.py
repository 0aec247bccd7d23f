"""Who takes part in a project: members with a role, and annotators who agreed to its text."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import Count, QuerySet

from hits.domain.states import AssignmentStatus, Role
from hits.models import Assignment, Batch, ConsentText, Membership, Participation, Project, Worker
from hits.selectors.money.pay import Record, median_by_worker


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
    """Return some workers' records, each with the newest consent they gave; eight queries."""
    newest: dict[int, Participation] = {}
    given = Participation.objects.filter(project=project, worker__in=workers).select_related("consent")
    for row in given.order_by("consent__version"):
        newest[row.worker_id] = row
    return [(record, newest.get(record.worker.pk)) for record in _records(project, workers)]


def record_of(worker: Worker, project: Project) -> Record:
    """Return one worker's record in a project."""
    return _records(project, [worker.pk])[0]


def consent_texts(project: Project) -> list[tuple[ConsentText, int]]:
    """Return the versions of the consent text, newest first, each with how many agreed to it."""
    # A text has no way back to who agreed (its relation is hidden), so the count is asked for apart.
    agreed = dict(
        Participation.objects.filter(project=project).values_list("consent").annotate(Count("id")).order_by()
    )
    texts = ConsentText.objects.filter(project=project).order_by("-version")
    return [(text, agreed.get(text.pk, 0)) for text in texts]


def _records(project: Project, workers: Collection[int]) -> list[Record]:
    """Return some workers' records, by row key; seven queries."""
    batches = list(Batch.objects.filter(project=project).values_list("pk", flat=True))
    came_in = Assignment.objects.filter(hit__unit__batch__in=batches, worker__in=workers)
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    for pk, status, number in came_in.order_by().values_list("worker", "status").annotate(Count("pk")):
        counts[pk][status] = number
    medians = median_by_worker(project, workers=workers)
    return [
        Record(
            worker,
            approved=counts[worker.pk].get(AssignmentStatus.APPROVED, 0),
            rejected=counts[worker.pk].get(AssignmentStatus.REJECTED, 0),
            waiting=counts[worker.pk].get(AssignmentStatus.SUBMITTED, 0),
            median_cents=medians.get(worker.pk),
        )
        for worker in Worker.objects.filter(pk__in=workers).order_by("pk")
    ]
