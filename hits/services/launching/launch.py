"""Plan a batch: units, HITs and their tokens stand as rows before any marketplace hears of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from hits import registry
from hits.domain.answers.text import TextError, clean_line
from hits.domain.money.costs import Estimate
from hits.domain.states import BatchState, Purpose
from hits.domain.units.redundancy import parts
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import LOCALE, Requirement, RequirementError
from hits.kind import HitKind, InvalidUnit
from hits.models import (
    Batch,
    BatchRequirement,
    Hit,
    Image,
    Job,
    Project,
    Qualification,
    Unit,
    Worker,
)
from hits.mturk.environments import Environment, current
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.launching.launch_estimate import estimate
from hits.services.launching.request_token import planned_hit
from hits.services.launching.terms import NOT_EXCLUDED, Access, Terms, checked_terms
from hits.services.money import budget
from hits.services.workers.qualifications import pool_qualification

PUBLISH_TASK = "hits.publish_batch"
MOST_EACH = 100_000  # more tasks than any batch has
MAX_NAME = 120
AT_ONCE = 500  # rows in one statement


@dataclass(frozen=True, slots=True)
class PlannedUnit:
    """One unit to launch. ``key`` is unique in the batch; ``excluded`` are workers who may not judge it."""

    key: str
    payload: dict[str, Any]
    excluded: Sequence[Worker] = field(default_factory=tuple)


def launch_batch(
    *,
    project: Project,
    kind_name: str,
    name: str,
    units: Sequence[PlannedUnit],
    by: AbstractBaseUser | None,
    terms: Terms = Terms(),  # noqa: B008 - frozen
    provenance: dict[str, Any] | None = None,
    once: str = "",
) -> tuple[Batch, Job]:
    """Write the batch with all its planned HITs, and queue their publication.

    ``once`` names the wish to launch: a second press of the same button gets the first one's batch.

    Raises:
        Refused: nothing to launch, unknown kind, a bad unit, an image of another project, bad terms, a condition
            that cannot be asked, a sum that was not typed, over a cap, or more than the account has.
    """
    kind = _kind(kind_name)
    environment = current()
    if not units:
        raise Refused("units: nothing to launch; choose at least one")
    cost = estimate(kind=kind, terms=terms, units=len(units), environment=environment)
    _check_cost(project, environment, cost, terms)
    payloads = [_checked(kind, unit) for unit in units]
    _check_access(terms.access, project, kind)
    facts = (provenance or {}) | ({"launch_key": once} if once else {})
    with transaction.atomic():
        # PostgreSQL: one launch at a time in a project. (SQLite: always so.)
        Project.objects.select_for_update().get(pk=project.pk)
        known = launched_already(project=project, once=once)
        if known is not None:
            return known
        budget.check_plan(project=project, more_cents=cost.most_cents)
        batch = _create_batch(project, kind, name, terms, environment, by, facts, cost)
        _write_access(batch, terms.access)
        _create_units(batch, kind, units, payloads)
        audit.record(
            project=project,
            actor=by,
            action="batch.launch",
            subject=batch.pk,
            kind=kind.name,
            units=len(units),
        )
        job = jobs.enqueue(
            task=PUBLISH_TASK,
            title=f"Publish {batch.name}",
            project=project,
            by=by,
            exclusive_key=f"publish:{batch.pk}",
            batch=batch.pk,
        )
    return batch, job


def launched_before(*, project: Project, once: str) -> Batch | None:
    """Return the batch that this very wish launched already."""
    return Batch.objects.filter(project=project, provenance__launch_key=once).first() if once else None


def launched_already(*, project: Project, once: str) -> tuple[Batch, Job] | None:
    """Return what this very wish launched already, with the job that publishes it, whatever has changed since."""
    batch = launched_before(project=project, once=once)
    if batch is None:
        return None
    return batch, Job.objects.filter(exclusive_key=f"publish:{batch.pk}").latest("pk")


def _check_access(access: Access, project: Project, kind: HitKind) -> None:
    for condition in access.conditions:
        texts = tuple(str(value) for value in condition.values)
        try:
            if condition.pool is None:
                Requirement(LOCALE, condition.comparator, locales=texts)
            else:
                Requirement("ours", condition.comparator, tuple(int(value) for value in condition.values))
        except RequirementError as error:
            raise Refused(f"conditions: {error}") from error
    if access.worker_limit is not None and not 1 <= access.worker_limit <= MOST_EACH:
        raise Refused(f"worker limit: use 1 to {MOST_EACH:,}, or leave it out")
    text = access.instructions
    if text is not None and (text.project_id, text.kind) != (project.pk, kind.name):
        raise Refused("instructions: this version belongs to another project or another kind of task")


def _write_access(batch: Batch, access: Access) -> None:
    Batch.objects.filter(pk=batch.pk).update(
        worker_limit=access.worker_limit, instructions=access.instructions
    )
    # What is owed is owed to those as well who get no other tasks at present.
    owed = batch.kind in registry.with_purpose(Purpose.COMPENSATING)
    for condition in (*(() if owed else (NOT_EXCLUDED,)), *access.conditions):
        BatchRequirement.objects.create(
            batch=batch,
            qualification=_qualification(batch, condition.pool),
            comparator=condition.comparator.value,
            values=list(condition.values),
            guards=condition.guards.value,
        )


def _qualification(batch: Batch, pool: Pool | None) -> Qualification | None:
    if pool is None:
        return None
    return pool_qualification(project=batch.project, environment=batch.environment, pool=pool)


def _check_cost(project: Project, environment: Environment, cost: Estimate, terms: Terms) -> None:
    budget.check_confirmation(
        project=project,
        environment=environment,
        most_cents=cost.most_cents,
        confirmed_cents=terms.confirmed_cents,
    )
    budget.check_own_cap(most_cents=cost.most_cents, cap_cents=terms.budget_cap_cents)
    if terms.available_cents is not None:
        budget.check_funds(available_cents=terms.available_cents, needed_cents=cost.held_cents)


def _kind(name: str) -> HitKind:
    try:
        return registry.get(name)
    except LookupError as error:
        raise Refused(f"kind: {error}") from error


def _checked(kind: HitKind, unit: PlannedUnit) -> dict[str, Any]:
    try:
        return kind.parse_unit(unit.payload)
    except InvalidUnit as error:
        raise Refused(f"unit {unit.key}: {error}") from error


def _name(typed: str) -> str:
    try:
        return clean_line(typed[:MAX_NAME], maximum=MAX_NAME)
    except TextError as error:
        raise Refused(f"name: it {error}") from error


def _create_batch(  # noqa: PLR0917 - private
    project: Project,
    kind: HitKind,
    name: str,
    terms: Terms,
    environment: Environment,
    by: AbstractBaseUser | None,
    provenance: dict[str, Any],
    cost: Estimate,
) -> Batch:
    reward, bonus, each = checked_terms(kind, terms)
    return Batch.objects.create(
        project=project,
        kind=kind.name,
        kind_version=kind.version,
        name=_name(name) or kind.title,
        environment=environment.name,
        fee_schedule=environment.fees.spec,
        masters_only=terms.masters_only,
        state=BatchState.LAUNCHING,
        reward_cents=reward,
        bonus_cents=bonus,
        opinions=each,
        assignments_per_hit=max(parts(each)),
        duration_seconds=terms.duration_seconds or kind.duration_seconds,
        lifetime_seconds=kind.lifetime_seconds,
        auto_approval_seconds=kind.auto_approval_seconds,
        estimate_cents=cost.most_cents,
        budget_cap_cents=terms.budget_cap_cents,
        unit_scope=terms.unit_scope.value,
        provenance=provenance,
        created_by_id=by.pk if by else None,
        launched_at=timezone.now(),
    )


def _create_units(
    batch: Batch, kind: HitKind, planned: Sequence[PlannedUnit], payloads: Sequence[dict[str, Any]]
) -> None:
    """Write all units with their images and HITs, a few hundred rows at a time: a batch may have ten thousand."""
    wanted = [set(kind.image_ids(payload)) for payload in payloads]
    _check_images(batch, planned, wanted)
    units = Unit.objects.bulk_create(
        (
            Unit(batch=batch, key=unit.key, payload=payload)
            for unit, payload in zip(planned, payloads, strict=True)
        ),
        batch_size=AT_ONCE,
    )
    shows, excludes = Unit.images.through, Unit.excluded_workers.through
    shows.objects.bulk_create(
        (
            shows(unit_id=unit.pk, image_id=image)
            for unit, images in zip(units, wanted, strict=True)
            for image in sorted(images)
        ),
        batch_size=AT_ONCE,
    )
    excludes.objects.bulk_create(
        (
            excludes(unit_id=unit.pk, worker_id=worker)
            for unit, plan in zip(units, planned, strict=True)
            for worker in sorted({worker.pk for worker in plan.excluded})
        ),
        batch_size=AT_ONCE,
    )
    Hit.objects.bulk_create(
        (
            planned_hit(batch, unit, part, slots)
            for unit in units
            for part, slots in enumerate(parts(batch.opinions), start=1)
        ),
        batch_size=AT_ONCE,
    )


def _check_images(batch: Batch, planned: Sequence[PlannedUnit], wanted: Sequence[set[int]]) -> None:
    usable: set[int] = set()
    all_wanted = sorted(set().union(*wanted))
    for start in range(0, len(all_wanted), AT_ONCE):
        some = Image.objects.filter(
            pk__in=all_wanted[start : start + AT_ONCE], project=batch.project_id, withdrawn_at__isnull=True
        )
        usable.update(some.values_list("pk", flat=True))
    for unit, images in zip(planned, wanted, strict=True):
        missing = sorted(images - usable)
        if missing:
            raise Refused(f"unit {unit.key}: image {missing[0]} is not in this project, or was taken down")
