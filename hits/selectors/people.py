"""Members of a project, and the workers who agreed to its consent text."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import Count, QuerySet

from hits.domain.states import AssignmentStatus, Role
from hits.models import Assignment, Batch, ConsentText, Membership, Participation, Project, Worker
from hits.selectors.money.pay import WorkerSummary, median_rate_by_worker


def project_members(project: Project) -> "QuerySet[Membership]":
    """Return the project's researchers and admins, by name."""
    staff = [Role.RESEARCHER.value, Role.ADMIN.value]
    return (
        Membership.objects.filter(project=project, role__in=staff)
        .select_related("user")
        .order_by("user__username")
    )


def consented_worker_ids(project: Project) -> set[int]:
    """Return the primary keys of the workers who agreed to a consent text of the project; one query."""
    return set(Participation.objects.filter(project=project).values_list("worker_id", flat=True))


def worker_summaries_with_consent(
    project: Project, workers: Collection[int]
) -> list[tuple[WorkerSummary, Participation | None]]:
    """Return summaries of some workers, each with their newest consent; eight queries."""
    newest: dict[int, Participation] = {}
    participations = Participation.objects.filter(project=project, worker__in=workers).select_related(
        "consent"
    )
    for row in participations.order_by("consent__version"):
        newest[row.worker_id] = row
    return [(summary, newest.get(summary.worker.pk)) for summary in _summaries(project, workers)]


def worker_summary(worker: Worker, project: Project) -> WorkerSummary:
    """Return the summary of one worker in a project."""
    return _summaries(project, [worker.pk])[0]


def consent_texts_with_agreement_counts(project: Project) -> list[tuple[ConsentText, int]]:
    """Return the versions of the consent text, newest first, each with its number of agreements."""
    # A text has no reverse relation to its participations, so they are counted separately.
    consent_counts = dict(
        Participation.objects.filter(project=project).values_list("consent").annotate(Count("id")).order_by()
    )
    texts = ConsentText.objects.filter(project=project).order_by("-version")
    return [(text, consent_counts.get(text.pk, 0)) for text in texts]


def _summaries(project: Project, workers: Collection[int]) -> list[WorkerSummary]:
    """Return summaries of some workers in the order of their primary keys; seven queries."""
    batches = list(Batch.objects.filter(project=project).values_list("pk", flat=True))
    submissions = Assignment.objects.filter(hit__unit__batch__in=batches, worker__in=workers)
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    for pk, status, number in submissions.order_by().values_list("worker", "status").annotate(Count("pk")):
        counts[pk][status] = number
    medians = median_rate_by_worker(project, workers=workers)
    return [
        WorkerSummary(
            worker,
            approved=counts[worker.pk].get(AssignmentStatus.APPROVED, 0),
            rejected=counts[worker.pk].get(AssignmentStatus.REJECTED, 0),
            waiting=counts[worker.pk].get(AssignmentStatus.SUBMITTED, 0),
            median_cents=medians.get(worker.pk),
        )
        for worker in Worker.objects.filter(pk__in=workers).order_by("pk")
    ]
