"""Whether a worker may do a batch's tasks, and why not, in words that the worker reads.

The marketplace asks the same before it hands a task out; we ask again when a page is opened, because a grant or a
revocation takes a while to arrive there.
"""

from dataclasses import dataclass, field

from django.db.models import OuterRef, Subquery

from hits import registry
from hits.domain.states import Purpose, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import LOCALE, Comparator, Guards, Holdings, Requirement, is_met
from hits.models import (
    Batch,
    BatchRequirement,
    Declaration,
    Hit,
    Project,
    Worker,
    WorkerDecision,
)
from hits.selectors.eligibility.attempt_proof import has_proof
from hits.selectors.eligibility.limits import limit_reached, unit_taken
from hits.selectors.eligibility.requirement_labels import listed


@dataclass(frozen=True, slots=True)
class Held:
    """What a worker holds in one project: values, and the newest decision, by qualification row."""

    values: dict[int, int] = field(default_factory=dict)
    reasons: dict[int, WorkerDecision] = field(default_factory=dict)
    country: str = ""
    blocked: WorkerDecision | None = None
    excluded: WorkerDecision | None = None


def held_by(worker: Worker | None, project: Project) -> Held:
    """Return what the worker holds in the project; two queries."""
    if worker is None:
        return Held()
    newest: dict[int | None, WorkerDecision] = {}
    rows = WorkerDecision.objects.filter(worker=worker, project=project).select_related("qualification")
    for decision in rows.order_by("pk"):
        newest[decision.qualification_id] = decision
    block = newest.pop(None, None)
    shut = next((row for row in newest.values() if _excludes(row)), None)
    return Held(
        values={
            key: decision.value
            for key, decision in newest.items()
            if key is not None and decision.action == WorkerAction.GRANT
        },
        reasons={key: decision for key, decision in newest.items() if key is not None},
        country=declared_country(worker, project),
        blocked=block if block is not None and block.action == WorkerAction.BLOCK else None,
        excluded=shut,
    )


def declared_country(worker: Worker | None, project: Project) -> str:
    """Return the country code that the worker declared last in the project, or nothing.

    A foreign marketplace knows where its workers live and asks for it itself; a page there proves nothing of it.
    """
    if worker is None or not has_proof(worker.environment):
        return ""
    rows = Declaration.objects.filter(worker=worker, project=project).order_by("-pk")
    return rows.values_list("country", flat=True).first() or ""


def holders(project: Project, pool: Pool) -> set[int]:
    """Return the row keys of all workers who hold a pool qualification now; one query."""
    newest = (
        WorkerDecision.objects.filter(worker=OuterRef("worker"), qualification=OuterRef("qualification"))
        .order_by("-pk")
        .values("pk")[:1]
    )
    rows = WorkerDecision.objects.filter(
        project=project, qualification__slug=pool.value, action=WorkerAction.GRANT, pk=Subquery(newest)
    )
    return set(rows.values_list("worker_id", flat=True))


def requirement(row: BatchRequirement) -> Requirement:
    """Return a batch's condition as the marketplace is told it; the qualification's type must exist there."""
    comparator, guards = Comparator(row.comparator), Guards(row.guards)
    if row.qualification is None:
        return Requirement(LOCALE, comparator, locales=tuple(row.values), guards=guards)
    return Requirement(row.qualification.type_id, comparator, tuple(row.values), guards=guards)


def why_not(worker: Worker | None, batch: Batch) -> list[str]:
    """Return every reason why the worker may not begin a task of the batch; none means they may.

    The country is asked for together with the consent, so its absence alone is no reason here.
    """
    return _closed_by_standing(worker, batch) + limit_reached(worker, batch)


def why_not_this(worker: Worker | None, hit: Hit) -> list[str]:
    """Return every reason why the worker may not begin this very HIT, which the marketplace gave them.

    Our own marketplace asked for the limits before it did (``acceptance``). A foreign one cannot, so they are asked
    for now; the narrower reason is enough.
    """
    batch = hit.unit.batch
    reasons = _closed_by_standing(worker, batch)
    if has_proof(hit.environment):
        return reasons
    return reasons + (unit_taken(worker, hit) or limit_reached(worker, batch))


def _closed_by_standing(worker: Worker | None, batch: Batch) -> list[str]:
    held = held_by(worker, batch.project)
    if held.blocked is not None:
        return [f"You are blocked from this project's tasks: {held.blocked.reason}"]
    # Asked by itself, for batches that were launched before there were conditions.
    rows = batch.requirements.exclude(qualification__slug=Pool.EXCLUDED).select_related("qualification")
    shut = None if batch.kind in registry.with_purpose(Purpose.COMPENSATING) else held.excluded
    reasons = [] if shut is None else [_excluded_reason(shut)]
    return reasons + [_reason(row, held) for row in rows if not _meets(row, held)]


def elsewhere(worker: Worker, batch: Batch) -> list[str]:
    """Return why the batch is not open where the worker says they work; nothing where it is, or nobody said."""
    held = Held(country=declared_country(worker, batch.project))
    rows = batch.requirements.filter(qualification=None)
    return [_reason(row, held) for row in rows if not _meets(row, held)]


def _meets(row: BatchRequirement, held: Held) -> bool:
    if row.qualification is None:
        if not held.country:
            return True
        wanted = Requirement(LOCALE, Comparator(row.comparator), locales=tuple(row.values))
        return is_met(wanted, Holdings(country=held.country))
    # By our own row, not by the marketplace's id: the type may not have been made there yet.
    key = f"ours-{row.qualification.pk}"
    values = {f"ours-{pk}": value for pk, value in held.values.items()}
    return is_met(Requirement(key, Comparator(row.comparator), tuple(row.values)), Holdings(values))


def _reason(row: BatchRequirement, held: Held) -> str:
    qualification = row.qualification
    if qualification is None:
        # Which one was declared is not repeated: an address with somebody's id in it proves nothing.
        return f"This task is open in {listed(row.values)}. The country you declared is not among them."
    decision = held.reasons.get(qualification.pk)
    when = f"{decision.decided_at:%-d %B %Y}" if decision is not None else ""
    absent = Comparator(row.comparator) is Comparator.DOES_NOT_EXIST
    if absent:
        return f"This task is for workers without {qualification.name!r}, which you hold since {when}."
    if decision is not None and decision.action == WorkerAction.REVOKE:
        return f"{qualification.name!r} was taken back on {when}: {decision.reason}"
    return f"This task needs {qualification.name!r}. {qualification.description}"


def _excludes(decision: WorkerDecision) -> bool:
    held = decision.qualification
    return held is not None and held.slug == Pool.EXCLUDED and decision.action == WorkerAction.GRANT


def _excluded_reason(decision: WorkerDecision) -> str:
    when = f"{decision.decided_at:%-d %B %Y}"
    return f"You get no new tasks of this project since {when}: {decision.reason}"
