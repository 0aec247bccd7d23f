"""Launch a batch: its units, HITs and request tokens are stored before the first call to the marketplace."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from hits import registry
from hits.domain.money.cost_table import Estimate
from hits.domain.states import BatchState, Purpose
from hits.domain.units.redundancy import slice_sizes
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
from hits.mturk.environments import Environment, current_environment
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.launching.launch_estimate import estimate_cost
from hits.services.launching.request_token import build_planned_hit
from hits.services.launching.terms import NOT_EXCLUDED, Eligibility, LaunchTerms, resolve_pay_and_redundancy
from hits.services.money import budget
from hits.services.typed_values import clean_field, get_kind_or_refuse
from hits.services.workers.qualifications import get_or_create_pool_qualification

PUBLISH_TASK = "hits.publish_batch"
MAX_WORKER_LIMIT = 100_000  # more tasks than any batch has
MAX_NAME = 120
INSERT_BATCH_SIZE = 500  # rows per statement


@dataclass(frozen=True, slots=True)
class PlannedUnit:
    """One unit to launch. ``key`` is unique in the batch; ``excluded_workers`` may not judge it."""

    key: str
    payload: dict[str, Any]
    excluded_workers: Sequence[Worker] = field(default_factory=tuple)


def launch_batch(
    *,
    project: Project,
    kind_name: str,
    name: str,
    units: Sequence[PlannedUnit],
    by: AbstractBaseUser | None,
    terms: LaunchTerms = LaunchTerms(),  # noqa: B008 - frozen
    provenance: dict[str, Any] | None = None,
    idempotency_key: str = "",
) -> tuple[Batch, Job]:
    """Write the batch with all its planned HITs, and queue their publication.

    A second call with the same ``idempotency_key`` (a second press of a button) returns the first one's batch.

    Raises:
        Refused: no unit, an unknown kind, a bad unit, an image of another project, bad terms, an impossible
            requirement, a missing typed sum, a sum over a cap, or too little funds.
    """
    kind = get_kind_or_refuse(kind_name)
    environment = current_environment()
    if not units:
        raise Refused("units: there is no unit to launch; choose at least one")
    cost = estimate_cost(kind=kind, terms=terms, units=len(units), environment=environment)
    _check_cost(project, environment, cost, terms)
    payloads = [_parse_unit(kind, unit) for unit in units]
    _check_eligibility(terms.eligibility, project, kind)
    provenance_data = (provenance or {}) | ({"launch_key": idempotency_key} if idempotency_key else {})
    with transaction.atomic():
        # PostgreSQL: one launch at a time in a project. (SQLite always does so.)
        Project.objects.select_for_update().get(pk=project.pk)
        earlier_launch = find_launched_batch_and_job(project=project, idempotency_key=idempotency_key)
        if earlier_launch is not None:
            return earlier_launch
        budget.check_caps(project=project, more_cents=cost.max_cents)
        batch = _create_batch(project, kind, name, terms, environment, by, provenance_data, cost)
        _write_eligibility(batch, terms.eligibility)
        _create_units(batch, kind, units, payloads)
        audit.record(
            project=project,
            actor=by,
            action="batch.launch",
            subject=batch.pk,
            kind=kind.name,
            units=len(units),
        )
        job = jobs.enqueue_for_batch(
            batch=batch, task=PUBLISH_TASK, title=f"Publish {batch.name}", key="publish", by=by
        )
    return batch, job


def find_launched_batch(*, project: Project, idempotency_key: str) -> Batch | None:
    """Return the batch of an earlier launch with this key."""
    if not idempotency_key:
        return None
    return Batch.objects.filter(project=project, provenance__launch_key=idempotency_key).first()


def find_launched_batch_and_job(*, project: Project, idempotency_key: str) -> tuple[Batch, Job] | None:
    """Return the batch of an earlier launch with this key and its publishing job."""
    batch = find_launched_batch(project=project, idempotency_key=idempotency_key)
    if batch is None:
        return None
    return batch, Job.objects.filter(exclusive_key=f"publish:{batch.pk}").latest("pk")


def _check_eligibility(eligibility: Eligibility, project: Project, kind: HitKind) -> None:
    for planned in eligibility.requirements:
        texts = tuple(str(value) for value in planned.values)
        try:
            if planned.pool is None:
                Requirement(LOCALE, planned.comparator, locales=texts)
            else:
                Requirement("ours", planned.comparator, tuple(int(value) for value in planned.values))
        except RequirementError as error:
            raise Refused(f"conditions: {error}") from error
    if eligibility.worker_limit is not None and not 1 <= eligibility.worker_limit <= MAX_WORKER_LIMIT:
        raise Refused(f"worker limit: use 1 to {MAX_WORKER_LIMIT:,}, or leave it empty")
    instructions = eligibility.instructions
    if instructions is not None and (instructions.project_id, instructions.kind) != (project.pk, kind.name):
        raise Refused("instructions: this version belongs to another project or another kind of task")


def _write_eligibility(batch: Batch, eligibility: Eligibility) -> None:
    Batch.objects.filter(pk=batch.pk).update(
        worker_limit=eligibility.worker_limit, instructions=eligibility.instructions
    )
    # Excluded workers get no other tasks, and still get the compensation that they are owed.
    is_compensation = batch.kind in registry.kinds_with_purpose(Purpose.COMPENSATING)
    for planned in (*(() if is_compensation else (NOT_EXCLUDED,)), *eligibility.requirements):
        BatchRequirement.objects.create(
            batch=batch,
            qualification=_get_pool_qualification(batch, planned.pool),
            comparator=planned.comparator.value,
            values=list(planned.values),
            guards=planned.guards.value,
        )


def _get_pool_qualification(batch: Batch, pool: Pool | None) -> Qualification | None:
    if pool is None:
        return None
    return get_or_create_pool_qualification(project=batch.project, environment=batch.environment, pool=pool)


def _check_cost(project: Project, environment: Environment, cost: Estimate, terms: LaunchTerms) -> None:
    budget.check_confirmation(
        project=project,
        environment=environment,
        max_cents=cost.max_cents,
        confirmed_cents=terms.confirmed_cents,
    )
    budget.check_batch_cap(max_cents=cost.max_cents, cap_cents=terms.budget_cap_cents)
    if terms.available_cents is not None:
        budget.check_funds(available_cents=terms.available_cents, needed_cents=cost.held_cents)


def _parse_unit(kind: HitKind, unit: PlannedUnit) -> dict[str, Any]:
    try:
        return kind.parse_unit(unit.payload)
    except InvalidUnit as error:
        raise Refused(f"unit {unit.key}: {error}") from error


def _create_batch(  # noqa: PLR0917 - private
    project: Project,
    kind: HitKind,
    name: str,
    terms: LaunchTerms,
    environment: Environment,
    by: AbstractBaseUser | None,
    provenance: dict[str, Any],
    cost: Estimate,
) -> Batch:
    reward, bonus, redundancy = resolve_pay_and_redundancy(kind, terms)
    return Batch.objects.create(
        project=project,
        kind=kind.name,
        kind_version=kind.version,
        name=clean_field("name", name[:MAX_NAME], MAX_NAME) or kind.title,
        environment=environment.name,
        fee_schedule=environment.fees.name_and_rates,
        masters_only=terms.masters_only,
        state=BatchState.LAUNCHING,
        reward_cents=reward,
        bonus_cents=bonus,
        redundancy=redundancy,
        max_assignments=max(slice_sizes(redundancy)),
        duration_seconds=terms.duration_seconds or kind.duration_seconds,
        lifetime_seconds=kind.lifetime_seconds,
        auto_approval_seconds=kind.auto_approval_seconds,
        estimate_cents=cost.max_cents,
        budget_cap_cents=terms.budget_cap_cents,
        unit_scope=terms.unit_scope.value,
        provenance=provenance,
        created_by_id=by.pk if by else None,
        launched_at=timezone.now(),
    )


def _create_units(
    batch: Batch, kind: HitKind, planned: Sequence[PlannedUnit], payloads: Sequence[dict[str, Any]]
) -> None:
    """Write all units with their images and HITs, some hundred rows at a time; a batch may have ten thousand."""
    image_ids = [set(kind.image_ids(payload)) for payload in payloads]
    _check_images(batch, planned, image_ids)
    units = Unit.objects.bulk_create(
        (
            Unit(batch=batch, key=unit.key, payload=payload)
            for unit, payload in zip(planned, payloads, strict=True)
        ),
        batch_size=INSERT_BATCH_SIZE,
    )
    shows, excludes = Unit.images.through, Unit.excluded_workers.through
    shows.objects.bulk_create(
        (
            shows(unit_id=unit.pk, image_id=image)
            for unit, images in zip(units, image_ids, strict=True)
            for image in sorted(images)
        ),
        batch_size=INSERT_BATCH_SIZE,
    )
    excludes.objects.bulk_create(
        (
            excludes(unit_id=unit.pk, worker_id=worker)
            for unit, plan in zip(units, planned, strict=True)
            for worker in sorted({worker.pk for worker in plan.excluded_workers})
        ),
        batch_size=INSERT_BATCH_SIZE,
    )
    Hit.objects.bulk_create(
        (
            build_planned_hit(batch, unit, hit_slice, slots)
            for unit in units
            for hit_slice, slots in enumerate(slice_sizes(batch.redundancy), start=1)
        ),
        batch_size=INSERT_BATCH_SIZE,
    )


def _check_images(batch: Batch, planned: Sequence[PlannedUnit], image_ids: Sequence[set[int]]) -> None:
    own_images = Image.objects.filter(project=batch.project_id, taken_down_at__isnull=True)
    usable = own_images.only("pk").in_bulk(set().union(*image_ids))
    for unit, images in zip(planned, image_ids, strict=True):
        missing = sorted(images - usable.keys())
        if missing:
            raise Refused(f"unit {unit.key}: image {missing[0]} is not in this project, or was taken down")
