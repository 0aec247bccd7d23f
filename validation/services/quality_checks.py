"""Mix controls into a round that is launched, and keep the gold items that may be mixed in."""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.models import Batch, Project, Record, Unit, Worker
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.launching.launch import AT_ONCE, PlannedUnit
from validation.domain.judging import quality_checks
from validation.domain.judging.quality_check_types import Control, ControlError, Gold, Own, Rates
from validation.domain.judging.spec import JudgingSpec
from validation.models import ControlUnit, GoldItem
from validation.registry import spec_of
from validation.selectors.quality_checks import usable_golds

MAX_NOTE = 400


@dataclass(frozen=True, slots=True)
class Mixed:
    """What is launched: ``units`` in the order of publication, and which of them are controls."""

    units: list[PlannedUnit]
    controls: list[Control]


def mix(
    *, project: Project, kind: str, units: Sequence[PlannedUnit], rates: Rates, rng: np.random.Generator
) -> Mixed:
    """Return the round's units with controls between them; writes nothing.

    The author of a pair never gets it, as a repeat, under another photo or as a gold item.

    Raises:
        Refused: gold is asked for and there is none that fits, or too little; attention checks cannot be made of
            these units.
    """
    if not units or not rates.on_top(len(units)):
        return Mixed(list(units), [])
    own = [
        Own(unit.key, unit.payload, frozenset(worker.pk for worker in unit.excluded if worker.pk is not None))
        for unit in units
    ]
    spec = spec_of(kind)
    gold = _usable(project, spec) if rates.gold else []
    try:
        planned = quality_checks.plan(own, gold, rates, rng, spec)
    except ControlError as error:
        raise Refused(str(error)) from error
    added = [unit for unit in planned if isinstance(unit, Control)]
    known = {worker.pk: worker for unit in units for worker in unit.excluded}
    missing = set().union(*(unit.authors for unit in added)) - set(known)
    known |= {worker.pk: worker for worker in Worker.objects.filter(pk__in=missing)}
    before = {unit.key: unit for unit in units}
    result = [
        PlannedUnit(unit.key, dict(unit.payload), [known[pk] for pk in sorted(unit.authors)])
        if isinstance(unit, Control)
        else before[unit.key]
        for unit in planned
    ]
    return Mixed(result, added)


def _usable(project: Project, spec: JudgingSpec) -> list[Gold]:
    """Return the gold items that may be mixed in, with whom they are kept from."""
    rows = usable_golds(project, spec.name)
    authors = _authors([key for row in rows for key in spec.shown_records(row.payload)])
    barred = _barred(project, spec.name, [spec.item(row.payload) for row in rows])
    return [
        Gold(
            row.pk,
            row.payload,
            row.expected,
            frozenset(authors[key] for key in spec.shown_records(row.payload) if key in authors)
            | frozenset(barred[spec.item(row.payload)])
            | frozenset([row.author_id] if row.author_id else []),
        )
        for row in rows
    ]


def _barred(project: Project, kind: str, items: Sequence[str]) -> dict[str, set[int]]:
    """Return whom the rounds that asked about these items kept from them: a set's own author is not in its payload.

    Rounds that asked again also keep out who had judged the item, who are no authors; they are passed over.
    """
    found: dict[str, set[int]] = defaultdict(set)
    for start in range(0, len(items), AT_ONCE):
        rows = Unit.excluded_workers.through.objects.filter(
            unit__batch__project=project,
            unit__batch__kind=kind,
            unit__batch__judging_round__follows=None,
            unit__control=None,
            unit__key__in=items[start : start + AT_ONCE],
        )
        for key, worker in rows.values_list("unit__key", "worker_id"):
            found[key].add(worker)
    return found


def _authors(ids: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for start in range(0, len(ids), AT_ONCE):
        rows = Record.objects.filter(instance_id__in=ids[start : start + AT_ONCE])
        found.update(rows.values_list("instance_id", "submission__attempt__worker_id"))
    return found


@transaction.atomic
def record(*, batch: Batch, mixed: Mixed) -> int:
    """Write down which of a batch's units are controls; return how many rows are new. Repeatable.

    Call it in the transaction of the launch. A batch that an earlier press of the button launched has its own
    controls already: then nothing is written.
    """
    if not mixed.controls or ControlUnit.objects.filter(unit__batch=batch).exists():
        return 0
    keys = dict(Unit.objects.filter(batch=batch).values_list("key", "pk"))
    if any(control.key not in keys for control in mixed.controls):
        return 0
    rows = ControlUnit.objects.bulk_create(
        (
            ControlUnit(
                unit_id=keys[control.key],
                role=control.role.value,
                expected=dict(control.expected),
                of_id=keys[control.of] if control.of is not None else None,
                gold_id=control.gold,
            )
            for control in mixed.controls
        ),
        batch_size=AT_ONCE,
    )
    return len(rows)


@transaction.atomic
def add_gold(
    *,
    unit: Unit,
    expected: Mapping[str, Sequence[str | int]],
    by: AbstractBaseUser | None,
    note: str = "",
) -> GoldItem:
    """Keep a judged unit as a gold item, with the labels that are right for each dimension.

    Args:
        unit: of a judging round of the project; itself no control. expected: allowed labels by dimension or
            candidate; what is left out may be anything.

    Raises:
        Refused: nothing is expected, a label that the kind does not know, or a note that is too long.
        Conflict: the unit is a control, or the same item is a gold item already.
    """
    batch = unit.batch
    kept = _checked(batch.kind, unit.payload, expected)
    if len(note.strip()) > MAX_NOTE:
        raise Refused(f"note: has {len(note.strip())} characters; use {MAX_NOTE} or fewer")
    if ControlUnit.objects.filter(unit=unit).exists():
        raise Conflict("This unit is a control itself; choose the item that it came from.")
    # One writer at a time in a project, so that the same pair is not added twice.
    Project.objects.select_for_update().get(pk=batch.project_id)
    spec = spec_of(batch.kind)
    item = spec.item(unit.payload)
    field = f"payload__{spec.item_field}"
    if GoldItem.objects.filter(project=batch.project, kind=batch.kind, **{field: item}).exists():
        raise Conflict("This is a gold unit already; change which labels are right there.")
    author = unit.excluded_workers.order_by("pk").first()
    row = GoldItem.objects.create(
        project=batch.project,
        kind=batch.kind,
        key=uuid.uuid4().hex,
        payload=unit.payload,
        expected=kept,
        note=note.strip(),
        author=author,
        created_by_id=by.pk if by else None,
    )
    audit.record(project=batch.project, actor=by, action="gold.add", subject=row.pk, kind=batch.kind)
    return row


@transaction.atomic
def change_gold(
    *, gold: GoldItem, expected: Mapping[str, Sequence[str | int]], note: str, by: AbstractBaseUser | None
) -> GoldItem:
    """Change which labels are right. Units that were launched keep what was right then.

    Raises:
        Refused: nothing is expected, a label that the kind does not know, or a note that is too long.
    """
    if len(note.strip()) > MAX_NOTE:
        raise Refused(f"note: has {len(note.strip())} characters; use {MAX_NOTE} or fewer")
    gold.expected, gold.note = _checked(gold.kind, gold.payload, expected), note.strip()
    gold.save(update_fields=["expected", "note"])
    audit.record(project=gold.project, actor=by, action="gold.change", subject=gold.pk)
    return gold


@transaction.atomic
def switch_gold(*, gold: GoldItem, on: bool, by: AbstractBaseUser | None) -> bool:
    """Retire a gold item, or use it again; tell whether that changed anything."""
    changed = GoldItem.objects.filter(pk=gold.pk, is_active=not on).update(is_active=on)
    if changed:
        action = "gold.restore" if on else "gold.retire"
        audit.record(project=gold.project, actor=by, action=action, subject=gold.pk)
    return bool(changed)


def _checked(
    kind: str, payload: Mapping[str, Any], expected: Mapping[str, Sequence[str | int]]
) -> dict[str, list[str | int]]:
    scales = spec_of(kind).allowed(payload)
    kept: dict[str, list[str | int]] = {}
    for name, labels in expected.items():
        if name not in scales:
            raise Refused(f"expected: {name} is nothing that this task asks about")
        foreign = [label for label in labels if label not in scales[name]]
        if foreign:
            known = ", ".join(str(label) for label in scales[name])
            raise Refused(f"expected: {foreign[0]} is no answer about {name}; use {known}")
        # All labels, or none, leave it open.
        if labels and set(labels) != set(scales[name]):
            kept[name] = [label for label in scales[name] if label in labels]
    if not kept:
        raise Refused("expected: tick the right answers of one question at least, and not all of its answers")
    return kept
