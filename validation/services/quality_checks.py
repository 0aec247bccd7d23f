"""Mix quality checks into a new round, and manage gold items."""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.models import Batch, Project, Record, Unit, Worker
from hits.selectors.records import id_chunks
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.launching.launch import INSERT_BATCH_SIZE, PlannedUnit
from validation.domain.judging import quality_checks
from validation.domain.judging.quality_check_types import (
    CheckRates,
    CheckUnit,
    GoldUnit,
    QualityCheckError,
    RoundUnit,
)
from validation.domain.judging.spec import JudgingSpec
from validation.models import GoldItem, QualityCheck
from validation.registry import spec_of
from validation.selectors.quality_checks import usable_gold_items

MAX_NOTE_LENGTH = 400  # characters


@dataclass(frozen=True, slots=True)
class MixedUnits:
    """The units to launch, in the order of publication, and which of them are quality checks."""

    units: list[PlannedUnit]
    checks: list[CheckUnit]


def mix_quality_checks(
    *,
    project: Project,
    kind: str,
    units: Sequence[PlannedUnit],
    rates: CheckRates,
    rng: np.random.Generator,
    donors: Sequence[PlannedUnit] = (),
    topics: Mapping[str, str] | None = None,
) -> MixedUnits:
    """Return the round's units with quality checks between them; writes nothing.

    A pair's author never gets it as a repeat, under another photo, or as a gold item.

    Args:
        donors: units outside of the round, from which attention checks borrow; without them, the round's own units.
        topics: what units and donors are about in general, by key; an attention check borrows from another topic.

    Raises:
        Refused: too few usable gold items, or attention checks cannot be made of these units.
    """
    if not units or not rates.total(len(units)):
        return MixedUnits(list(units), [])
    round_units, outside = (
        [
            RoundUnit(
                unit.key,
                unit.payload,
                frozenset(worker.pk for worker in unit.excluded_workers if worker.pk is not None),
                (topics or {}).get(unit.key, ""),
            )
            for unit in group
        ]
        for group in (units, donors)
    )
    spec = spec_of(kind)
    gold = _usable_gold_units(project, spec) if rates.gold else []
    try:
        planned = quality_checks.plan_round_units(round_units, gold, rates, rng, spec, outside)
    except QualityCheckError as error:
        raise Refused(str(error)) from error
    checks = [unit for unit in planned if isinstance(unit, CheckUnit)]
    workers = {worker.pk: worker for unit in units for worker in unit.excluded_workers}
    missing = set().union(*(unit.authors for unit in checks)) - set(workers)
    workers |= {worker.pk: worker for worker in Worker.objects.filter(pk__in=missing)}
    planned_by_key = {unit.key: unit for unit in units}
    result = [
        PlannedUnit(unit.key, dict(unit.payload), [workers[pk] for pk in sorted(unit.authors)])
        if isinstance(unit, CheckUnit)
        else planned_by_key[unit.key]
        for unit in planned
    ]
    return MixedUnits(result, checks)


def _usable_gold_units(project: Project, spec: JudgingSpec) -> list[GoldUnit]:
    """Return the usable gold items, each with the workers who may not get it."""
    rows = usable_gold_items(project, spec.name)
    authors = _author_pks_by_record([key for row in rows for key in spec.shown_records(row.payload)])
    excluded = _excluded_workers(project, spec.name, [spec.item_id(row.payload) for row in rows])
    return [
        GoldUnit(
            row.pk,
            row.payload,
            row.expected,
            frozenset(authors[key] for key in spec.shown_records(row.payload) if key in authors)
            | frozenset(excluded[spec.item_id(row.payload)])
            | frozenset([row.author_id] if row.author_id else []),
        )
        for row in rows
    ]


def _excluded_workers(project: Project, kind: str, items: Sequence[str]) -> dict[str, set[int]]:
    """Return the workers whom earlier rounds excluded from these items: a set's payload does not name its author.

    Follow-up rounds are left out: they also exclude the earlier judges, who are not authors.
    """
    excluded: dict[str, set[int]] = defaultdict(set)
    for chunk in id_chunks(items):
        rows = Unit.excluded_workers.through.objects.filter(
            unit__batch__project=project,
            unit__batch__kind=kind,
            unit__batch__judging_round__follows=None,
            unit__quality_check=None,
            unit__key__in=chunk,
        )
        for key, worker in rows.values_list("unit__key", "worker_id"):
            excluded[key].add(worker)
    return excluded


def _author_pks_by_record(ids: Sequence[str]) -> dict[str, int]:
    authors: dict[str, int] = {}
    for chunk in id_chunks(ids):
        rows = Record.objects.filter(instance_id__in=chunk)
        authors.update(rows.values_list("instance_id", "submission__attempt__worker_id"))
    return authors


def record_quality_checks(*, batch: Batch, mixed: MixedUnits) -> None:
    """Record which units of a batch are quality checks.

    Call it in the transaction of the launch. If an earlier request launched the batch, it has its checks already
    and nothing is written.
    """
    if not mixed.checks or QualityCheck.objects.filter(unit__batch=batch).exists():
        return
    keys = dict(Unit.objects.filter(batch=batch).values_list("key", "pk"))
    if any(check.key not in keys for check in mixed.checks):
        return
    QualityCheck.objects.bulk_create(
        (
            QualityCheck(
                unit_id=keys[check.key],
                role=check.role.value,
                expected=dict(check.expected),
                original_id=keys[check.original_key] if check.original_key is not None else None,
                gold_item_id=check.gold_pk,
            )
            for check in mixed.checks
        ),
        batch_size=INSERT_BATCH_SIZE,
    )


@transaction.atomic
def add_gold_item(
    *,
    unit: Unit,
    expected: Mapping[str, Sequence[str | int]],
    by: AbstractBaseUser | None,
    note: str = "",
) -> GoldItem:
    """Store a judged unit as a gold item, with the right labels.

    Args:
        unit: a unit of a judging round of the project, not a quality check. expected: allowed labels by dimension or
            candidate; for a name that is left out, any label is right.

    Raises:
        Refused: no label is expected, a label is not one of the unit's, or the note is too long.
        Conflict: the unit is a quality check, or the item is a gold item already.
    """
    batch = unit.batch
    labels = _clean_expected_labels(batch.kind, unit.payload, expected)
    if len(note.strip()) > MAX_NOTE_LENGTH:
        raise Refused(f"note: has {len(note.strip())} characters; use {MAX_NOTE_LENGTH} or fewer")
    if QualityCheck.objects.filter(unit=unit).exists():
        raise Conflict("This unit is a quality check; choose the item that it is made from.")
    # Locks the project, so that an item is not added twice.
    Project.objects.select_for_update().get(pk=batch.project_id)
    spec = spec_of(batch.kind)
    item = spec.item_id(unit.payload)
    field = f"payload__{spec.item_field}"
    if GoldItem.objects.filter(project=batch.project, kind=batch.kind, **{field: item}).exists():
        raise Conflict("This is a gold item already; change its expected answers on the page Gold items.")
    author = unit.excluded_workers.order_by("pk").first()
    row = GoldItem.objects.create(
        project=batch.project,
        kind=batch.kind,
        key=uuid.uuid4().hex,
        payload=unit.payload,
        expected=labels,
        note=note.strip(),
        author=author,
        created_by_id=by.pk if by else None,
    )
    audit.record(project=batch.project, actor=by, action="gold.add", subject=row.pk, kind=batch.kind)
    return row


@transaction.atomic
def change_gold_item(
    *, gold: GoldItem, expected: Mapping[str, Sequence[str | int]], note: str, by: AbstractBaseUser | None
) -> GoldItem:
    """Change the right labels of a gold item. Launched units keep their expected labels.

    Raises:
        Refused: no label is expected, a label is not one of the unit's, or the note is too long.
    """
    if len(note.strip()) > MAX_NOTE_LENGTH:
        raise Refused(f"note: has {len(note.strip())} characters; use {MAX_NOTE_LENGTH} or fewer")
    gold.expected, gold.note = _clean_expected_labels(gold.kind, gold.payload, expected), note.strip()
    gold.save(update_fields=["expected", "note"])
    audit.record(project=gold.project, actor=by, action="gold.change", subject=gold.pk)
    return gold


@transaction.atomic
def set_gold_item_active(*, gold: GoldItem, is_active: bool, by: AbstractBaseUser | None) -> bool:
    """Retire a gold item or activate it again; return whether that changed anything."""
    changed = GoldItem.objects.filter(pk=gold.pk, is_active=not is_active).update(is_active=is_active)
    if changed:
        action = "gold.restore" if is_active else "gold.retire"
        audit.record(project=gold.project, actor=by, action=action, subject=gold.pk)
    return bool(changed)


def _clean_expected_labels(
    kind: str, payload: Mapping[str, Any], expected: Mapping[str, Sequence[str | int]]
) -> dict[str, list[str | int]]:
    allowed = spec_of(kind).allowed_labels(payload)
    validated: dict[str, list[str | int]] = {}
    for name, labels in expected.items():
        if name not in allowed:
            raise Refused(f"expected: {name} is not a question of this task")
        foreign = [label for label in labels if label not in allowed[name]]
        if foreign:
            known_labels = ", ".join(str(label) for label in allowed[name])
            raise Refused(f"expected: {foreign[0]} is not an answer about {name}; use {known_labels}")
        # All labels or none mean that any label is right.
        if labels and set(labels) != set(allowed[name]):
            validated[name] = [label for label in allowed[name] if label in labels]
    if not validated:
        raise Refused("expected: tick the right answers of at least one question, but not all of its answers")
    return validated
