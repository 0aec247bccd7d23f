"""Record who submitted a qualification task, so that nobody takes it twice."""

from collections import defaultdict
from collections.abc import Iterable

from django.db import transaction

from hits import registry
from hits.domain.states import Purpose, SubmissionMatch, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.models import Assignment, Project, Worker, WorkerDecision
from hits.mturk.port import Marketplace
from hits.services.workers import qualifications

APPLIED_REASON = "You submitted the qualification task."


def grant_applied_qualification(*, marketplace: Marketplace) -> int:
    """Grant the applicants' qualification to workers with a confirmed qualification task; return how many.

    A worker gets the grant once, even if it was revoked. Several processes may run this at the same time.
    """
    by_project: dict[int, set[int]] = defaultdict(set)
    for project, worker in _applicants_without_grant(marketplace.environment.name):
        by_project[project].add(worker)
    decision_pks: list[int] = []
    for pk, workers in by_project.items():
        decision_pks += _grant_to_workers(pk, workers, marketplace.environment.name)
    if decision_pks:
        qualifications.settle_outstanding_decisions(marketplace=marketplace, ids=decision_pks)
    return len(decision_pks)


@transaction.atomic
def _grant_to_workers(project_id: int, workers: Iterable[int], environment: str) -> list[int]:
    # Locks the project, so that the query below sees the grants of other processes.
    project = Project.objects.select_for_update().get(pk=project_id)
    missing = {worker for _, worker in _applicants_without_grant(environment, project)} & set(workers)
    return [
        qualifications.decide_on_worker(
            project=project,
            worker=worker,
            action=WorkerAction.GRANT,
            pool=Pool.APPLIED,
            reason=APPLIED_REASON,
            by=None,
        ).pk
        for worker in Worker.objects.filter(pk__in=missing).order_by("pk")
    ]


def _applicants_without_grant(environment: str, project: Project | None = None) -> set[tuple[int, int]]:
    kinds = registry.kinds_with_purpose(Purpose.QUALIFYING)
    submitted = Assignment.objects.filter(
        hit__environment=environment, hit__unit__batch__kind__in=kinds, match=SubmissionMatch.MATCHED
    )
    recorded = WorkerDecision.objects.filter(
        qualification__slug=Pool.APPLIED.value, qualification__environment=environment
    )
    if project is not None:
        submitted = submitted.filter(hit__unit__batch__project=project)
        recorded = recorded.filter(project=project)
    applied = submitted.order_by().values_list("hit__unit__batch__project_id", "worker_id")
    return set(applied) - set(recorded.order_by().values_list("project_id", "worker_id"))
