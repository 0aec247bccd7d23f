"""Note who handed in a qualification task, so that nobody takes it twice."""

from collections import defaultdict
from collections.abc import Iterable

from django.db import transaction

from hits.domain.states import Match, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.models import Assignment, Project, Worker, WorkerDecision
from hits.mturk.port import Marketplace
from hits.services.workers import qualifications
from validation.selectors.rounds import qualifying_kinds

REASON = "You handed in the qualification task."


def note_applicants(*, marketplace: Marketplace) -> int:
    """Grant the pool of applicants to everybody with a confirmed qualification submission; return to how many.

    It is granted once: whoever had it taken away is left as they are. Several processes may be at it.
    """
    by_project: dict[int, set[int]] = defaultdict(set)
    for project, worker in _unnoted(marketplace.environment.name):
        by_project[project].add(worker)
    written: list[int] = []
    for pk, workers in by_project.items():
        written += _note(pk, workers, marketplace.environment.name)
    if written:
        qualifications.settle_outstanding(marketplace=marketplace, ids=written)
    return len(written)


@transaction.atomic
def _note(project_id: int, workers: Iterable[int], environment: str) -> list[int]:
    # One process at a time in a project; what another one noted meanwhile is seen here.
    project = Project.objects.select_for_update().get(pk=project_id)
    left = {worker for _, worker in _unnoted(environment, project)} & set(workers)
    return [
        qualifications.decide_about(
            project=project,
            worker=worker,
            action=WorkerAction.GRANT,
            pool=Pool.APPLIED,
            reason=REASON,
            by=None,
        ).pk
        for worker in Worker.objects.filter(pk__in=left).order_by("pk")
    ]


def _unnoted(environment: str, project: Project | None = None) -> set[tuple[int, int]]:
    came_in = Assignment.objects.filter(
        hit__environment=environment, hit__unit__batch__kind__in=qualifying_kinds(), match=Match.MATCHED
    )
    noted = WorkerDecision.objects.filter(
        qualification__slug=Pool.APPLIED.value, qualification__environment=environment
    )
    if project is not None:
        came_in = came_in.filter(hit__unit__batch__project=project)
        noted = noted.filter(project=project)
    applied = came_in.order_by().values_list("hit__unit__batch__project_id", "worker_id")
    return set(applied) - set(noted.order_by().values_list("project_id", "worker_id"))
