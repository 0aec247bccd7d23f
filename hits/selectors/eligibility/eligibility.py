"""Whether a worker may do a batch's tasks. The reasons against it are messages for the worker.

The marketplace checks the same before it assigns a task. We check again when a page is opened, because grants and
revocations reach the marketplace with a delay.
"""

from dataclasses import dataclass, field

from django.db.models import OuterRef, Subquery

from hits import registry
from hits.domain.states import Purpose, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import (
    LOCALE,
    Comparator,
    GuardedActions,
    Requirement,
    WorkerAttributes,
    is_met,
)
from hits.models import (
    Batch,
    BatchRequirement,
    Declaration,
    Hit,
    Project,
    Worker,
    WorkerDecision,
)
from hits.selectors.eligibility.attempt_proof import has_attempt_proof
from hits.selectors.eligibility.limits import (
    own_project_refusals,
    unit_revealed_refusals,
    unit_taken_refusals,
    worker_limit_refusals,
)
from hits.selectors.eligibility.requirement_labels import join_country_names


@dataclass(frozen=True, slots=True)
class WorkerHoldings:
    """A worker's qualification values and newest decisions in one project, by qualification key."""

    values: dict[int, int] = field(default_factory=dict)
    decisions: dict[int, WorkerDecision] = field(default_factory=dict)
    country: str = ""
    block: WorkerDecision | None = None
    exclusion: WorkerDecision | None = None


def worker_holdings(worker: Worker | None, project: Project) -> WorkerHoldings:
    """Return the worker's holdings in the project; two queries."""
    if worker is None:
        return WorkerHoldings()
    newest: dict[int | None, WorkerDecision] = {}
    rows = WorkerDecision.objects.filter(worker=worker, project=project).select_related("qualification")
    for decision in rows.order_by("pk"):
        newest[decision.qualification_id] = decision
    block = newest.pop(None, None)
    exclusion = next((row for row in newest.values() if _is_exclusion(row)), None)
    return WorkerHoldings(
        values={
            key: decision.value
            for key, decision in newest.items()
            if key is not None and decision.action == WorkerAction.GRANT
        },
        decisions={key: decision for key, decision in newest.items() if key is not None},
        country=declared_country(worker, project),
        block=block if block is not None and block.action == WorkerAction.BLOCK else None,
        exclusion=exclusion,
    )


def declared_country(worker: Worker | None, project: Project) -> str:
    """Return the country code that the worker declared last in the project, or an empty string.

    A foreign marketplace checks its workers' countries itself; a page there cannot prove one.
    """
    if worker is None or not has_attempt_proof(worker.environment):
        return ""
    rows = Declaration.objects.filter(worker=worker, project=project).order_by("-pk")
    return rows.values_list("country", flat=True).first() or ""


def pool_worker_ids(project: Project, pool: Pool) -> set[int]:
    """Return the primary keys of the workers who hold a pool qualification now; one query."""
    newest = (
        WorkerDecision.objects.filter(worker=OuterRef("worker"), qualification=OuterRef("qualification"))
        .order_by("-pk")
        .values("pk")[:1]
    )
    rows = WorkerDecision.objects.filter(
        project=project, qualification__slug=pool.value, action=WorkerAction.GRANT, pk=Subquery(newest)
    )
    return set(rows.values_list("worker_id", flat=True))


def marketplace_requirement(row: BatchRequirement) -> Requirement:
    """Return a batch's requirement in the marketplace's form; the qualification type must exist there."""
    comparator, guards = Comparator(row.comparator), GuardedActions(row.guards)
    if row.qualification is None:
        return Requirement(LOCALE, comparator, locales=tuple(row.values), guards=guards)
    return Requirement(row.qualification.type_id, comparator, tuple(row.values), guards=guards)


def hit_refusals(worker: Worker | None, hit: Hit) -> list[str]:
    """Return every reason why the worker may not start this HIT, which the marketplace assigned to them.

    Our own marketplace has checked the limits (``acceptance``). A foreign one cannot, so they are checked here; the
    more specific reason is enough.
    """
    batch = hit.unit.batch
    reasons = _qualification_refusals(worker, batch) + unit_revealed_refusals(worker, hit)
    reasons += [] if worker is None else own_project_refusals(worker.worker_id, hit)
    if has_attempt_proof(hit.environment):
        return reasons
    return reasons + (unit_taken_refusals(worker, hit) or worker_limit_refusals(worker, batch))


def _qualification_refusals(worker: Worker | None, batch: Batch) -> list[str]:
    holdings = worker_holdings(worker, batch.project)
    if holdings.block is not None:
        return [f"You are blocked from this project's tasks: {holdings.block.reason}"]
    # The exclusion is checked separately, because batches launched before requirements existed have no row for it.
    rows = batch.requirements.exclude(qualification__slug=Pool.EXCLUDED).select_related("qualification")
    exclusion = (
        None if batch.kind in registry.kinds_with_purpose(Purpose.COMPENSATING) else holdings.exclusion
    )
    reasons = [] if exclusion is None else [_exclusion_reason(exclusion)]
    return reasons + [
        _requirement_reason(row, holdings) for row in rows if not _meets_requirement(row, holdings)
    ]


def country_refusals(worker: Worker, batch: Batch) -> list[str]:
    """Return why the batch is closed in the worker's declared country; empty if it is open or none is declared."""
    holdings = WorkerHoldings(country=declared_country(worker, batch.project))
    rows = batch.requirements.filter(qualification=None)
    return [_requirement_reason(row, holdings) for row in rows if not _meets_requirement(row, holdings)]


def _meets_requirement(row: BatchRequirement, holdings: WorkerHoldings) -> bool:
    if row.qualification is None:
        if not holdings.country:
            return True
        required = Requirement(LOCALE, Comparator(row.comparator), locales=tuple(row.values))
        return is_met(required, WorkerAttributes(country=holdings.country))
    # Uses our own key, not the marketplace's id: the type may not exist there yet.
    key = f"ours-{row.qualification.pk}"
    values = {f"ours-{pk}": value for pk, value in holdings.values.items()}
    return is_met(Requirement(key, Comparator(row.comparator), tuple(row.values)), WorkerAttributes(values))


def _requirement_reason(row: BatchRequirement, holdings: WorkerHoldings) -> str:
    qualification = row.qualification
    if qualification is None:
        # The declared country is not shown: an address with a worker's id proves no identity.
        return f"This task is open in {join_country_names(row.values)}. The country you declared is not among them."
    decision = holdings.decisions.get(qualification.pk)
    decided_on = f"{decision.decided_at:%-d %B %Y}" if decision is not None else ""
    absent = Comparator(row.comparator) is Comparator.DOES_NOT_EXIST
    if absent:
        return (
            f"This task is for workers without {qualification.name!r}, "
            f"which you have held since {decided_on}."
        )
    if decision is not None and decision.action == WorkerAction.REVOKE:
        return f"{qualification.name!r} was taken back on {decided_on}: {decision.reason}"
    return f"This task needs {qualification.name!r}. {qualification.description}"


def _is_exclusion(decision: WorkerDecision) -> bool:
    held = decision.qualification
    return held is not None and held.slug == Pool.EXCLUDED and decision.action == WorkerAction.GRANT


def _exclusion_reason(decision: WorkerDecision) -> str:
    decided_on = f"{decision.decided_at:%-d %B %Y}"
    return f"You get no new tasks of this project. This was decided on {decided_on}: {decision.reason}"
