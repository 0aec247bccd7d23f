"""Plan a batch: units, HITs and their tokens stand as rows before any marketplace hears of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from hits import registry
from hits.domain.hashing import request_token
from hits.domain.money import format_usd
from hits.domain.opinions import parts
from hits.domain.pool import Pool
from hits.domain.qualifications import LOCALE, Comparator, Guards, Requirement, RequirementError
from hits.domain.states import BatchState
from hits.domain.text import TextError, clean_line
from hits.kind import HitKind, InvalidUnit
from hits.models import (
    Batch,
    BatchRequirement,
    Hit,
    Image,
    Instructions,
    Job,
    Project,
    Qualification,
    Unit,
    Worker,
)
from hits.mturk.environments import Environment, current
from hits.services import audit, jobs
from hits.services.errors import Refused
from hits.services.qualifications import pool_qualification

PUBLISH_TASK = "hits.publish_batch"
MOST_CENTS = 100_000  # a thousand dollars for one task is a slip of the finger
MOST_EACH = 100_000  # more tasks than any batch has
MAX_NAME = 120
MAX_OPINIONS = 100  # of one unit; more than nine come as several HITs


@dataclass(frozen=True, slots=True)
class PlannedUnit:
    """One unit to launch. ``key`` is unique in the batch; ``excluded`` are workers who may not judge it."""

    key: str
    payload: dict[str, Any]
    excluded: Sequence[Worker] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition for taking the tasks: about a pool qualification, or (``pool`` None) about the country."""

    pool: Pool | None
    comparator: Comparator
    values: tuple[int | str, ...] = ()
    guards: Guards = Guards.PREVIEW


@dataclass(frozen=True, slots=True)
class Access:
    """Who may do a batch's tasks, and what they are told.

    Those who hold the exclusion qualification get none of them, whatever stands here. ``worker_limit`` is the most
    that one worker may hand in; ``instructions`` is the version that pages show, ``None`` the kind's own text.
    """

    conditions: tuple[Condition, ...] = ()
    worker_limit: int | None = None
    instructions: Instructions | None = None


NOT_EXCLUDED = Condition(Pool.EXCLUDED, Comparator.DOES_NOT_EXIST)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a batch pays, and who may do it; ``None`` takes the kind's own value.

    ``confirmed_cents`` is the cost that a person typed; a live marketplace takes no batch without it.
    """

    reward_cents: int | None = None
    bonus_cents: int | None = None
    opinions: int | None = None
    confirmed_cents: int | None = None
    access: Access = Access()


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cost in cents before launch: what is held at once, and the most that bonuses can add."""

    hits: int
    assignments: int
    reward_cents: int
    fee_cents: int
    bonus_cents: int
    bonus_fee_cents: int

    @property
    def held_cents(self) -> int:
        """What the marketplace holds when all HITs stand."""
        return self.reward_cents + self.fee_cents

    @property
    def most_cents(self) -> int:
        """The most that the batch can cost."""
        return self.held_cents + self.bonus_cents + self.bonus_fee_cents


def estimate(*, kind: HitKind, terms: Terms, units: int, environment: Environment | None = None) -> Estimate:
    """Return what a batch of ``units`` units costs on the configured marketplace."""
    fees = (environment or current()).fees
    reward, bonus, each = _terms(kind, terms)
    hits = parts(each)
    assignments = units * each
    most_items = assignments * kind.max_bonus_items
    return Estimate(
        hits=units * len(hits),
        assignments=assignments,
        reward_cents=reward * assignments,
        fee_cents=units * sum(fees.fee_cents(reward, slots) * slots for slots in hits),
        bonus_cents=bonus * most_items,
        bonus_fee_cents=fees.bonus_fee_cents(bonus * kind.max_bonus_items) * assignments if most_items else 0,
    )


def launch_batch(
    *,
    project: Project,
    kind_name: str,
    name: str,
    units: Sequence[PlannedUnit],
    by: AbstractBaseUser | None,
    terms: Terms = Terms(),
    provenance: dict[str, Any] | None = None,
    once: str = "",
) -> tuple[Batch, Job]:
    """Write the batch with all its planned HITs, and queue their publication.

    ``once`` names the wish to launch: a second press of the same button gets the first one's batch.

    Raises:
        Refused: nothing to launch, unknown kind, a bad unit, an image of another project, bad terms, a condition
            that cannot be asked.
    """
    kind = _kind(kind_name)
    environment = current()
    if not units:
        raise Refused("units: nothing to launch; choose at least one")
    _check_confirmation(environment, estimate(kind=kind, terms=terms, units=len(units)), terms)
    payloads = [_checked(kind, unit) for unit in units]
    _check_access(terms.access, project, kind)
    facts = (provenance or {}) | ({"launch_key": once} if once else {})
    with transaction.atomic():
        # PostgreSQL: one launch at a time in a project. (SQLite: always so.)
        Project.objects.select_for_update().get(pk=project.pk)
        known = launched_before(project=project, once=once)
        if known is not None:
            return known, Job.objects.filter(exclusive_key=f"publish:{known.pk}").latest("pk")
        batch = _create_batch(project, kind, name, terms, environment, by, facts, len(units))
        _write_access(batch, terms.access)
        for unit, payload in zip(units, payloads, strict=True):
            _create_unit(batch, kind, unit, payload)
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
    for condition in (NOT_EXCLUDED, *access.conditions):
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


def _check_confirmation(environment: Environment, cost: Estimate, terms: Terms) -> None:
    if environment.is_live and terms.confirmed_cents != cost.most_cents:
        raise Refused(
            f"cost: {environment.label} pays real people with real money; "
            f"type the most that this can cost, {format_usd(cost.most_cents)}, to launch it"
        )


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


def _terms(kind: HitKind, terms: Terms) -> tuple[int, int, int]:
    reward = kind.reward_cents if terms.reward_cents is None else terms.reward_cents
    bonus = kind.bonus_cents if terms.bonus_cents is None else terms.bonus_cents
    each = kind.assignments_per_hit if terms.opinions is None else terms.opinions
    if not 1 <= reward <= MOST_CENTS:
        raise Refused(f"reward: pay at least one cent, and at most {format_usd(MOST_CENTS)}")
    if not 0 <= bonus <= MOST_CENTS:
        raise Refused(f"bonus: use 0 or more cents, and at most {format_usd(MOST_CENTS)}")
    if not 1 <= each <= MAX_OPINIONS:
        raise Refused(f"opinions: use 1 to {MAX_OPINIONS} for each unit")
    return reward, bonus, each


def _create_batch(  # noqa: PLR0917 - private
    project: Project,
    kind: HitKind,
    name: str,
    terms: Terms,
    environment: Environment,
    by: AbstractBaseUser | None,
    provenance: dict[str, Any],
    units: int,
) -> Batch:
    reward, bonus, each = _terms(kind, terms)
    return Batch.objects.create(
        project=project,
        kind=kind.name,
        kind_version=kind.version,
        name=_name(name) or kind.title,
        environment=environment.name,
        fee_schedule=environment.fees.name,
        state=BatchState.LAUNCHING,
        reward_cents=reward,
        bonus_cents=bonus,
        opinions=each,
        assignments_per_hit=max(parts(each)),
        duration_seconds=kind.duration_seconds,
        lifetime_seconds=kind.lifetime_seconds,
        auto_approval_seconds=kind.auto_approval_seconds,
        estimate_cents=estimate(kind=kind, terms=terms, units=units, environment=environment).most_cents,
        provenance=provenance,
        created_by_id=by.pk if by else None,
        launched_at=timezone.now(),
    )


def _create_unit(batch: Batch, kind: HitKind, planned: PlannedUnit, payload: dict[str, Any]) -> None:
    wanted = set(kind.image_ids(payload))
    images = list(Image.objects.filter(pk__in=wanted, project=batch.project, withdrawn_at__isnull=True))
    if len(images) != len(wanted):
        missing = sorted(wanted - {image.pk for image in images})
        raise Refused(f"unit {planned.key}: image {missing[0]} is not in this project, or was taken down")
    unit = Unit.objects.create(batch=batch, key=planned.key, payload=payload)
    unit.images.set(images)
    unit.excluded_workers.set(planned.excluded)
    Hit.objects.bulk_create(
        planned_hit(batch, unit, part, slots) for part, slots in enumerate(parts(batch.opinions), start=1)
    )


def planned_hit(batch: Batch, unit: Unit, part: int, slots: int) -> Hit:
    """Return the row of one of a unit's HITs, not saved yet, with its first token and annotation."""
    return Hit(
        unit=unit,
        environment=batch.environment,
        part=part,
        token=create_token(batch, unit, part, 1),
        annotation=annotation(batch, unit, part, 1),
        max_assignments=slots,
    )


def create_token(batch: Batch, unit: Unit, part: int, generation: int) -> str:
    """Return the token under which a HIT is made; a new generation has another one."""
    return request_token(batch.environment, batch.pk, unit.public_id, "create", *_place(part, generation))


def annotation(batch: Batch, unit: Unit, part: int, generation: int) -> str:
    """Return what names the HIT on the marketplace: ``v1/<environment>/<batch>/<unit>/<[part.]generation>``."""
    place = ".".join(str(number) for number in _place(part, generation))
    return f"v1/{batch.environment}/{batch.pk}/{unit.public_id}/{place}"


def _place(part: int, generation: int) -> tuple[int, ...]:
    return (generation,) if part == 1 else (part, generation)
