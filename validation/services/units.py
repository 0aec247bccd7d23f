"""Launch units of any kind from a file: collecting kinds as a batch, judging kinds as a round."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO

from django.contrib.auth.models import AbstractBaseUser

from hits import registry
from hits.domain.states import Purpose
from hits.kind import HitKind
from hits.models import Batch, Job, Project, Record, Worker
from hits.selectors import records as collected
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, launch_batch, launched_already
from hits.services.launching.terms import Terms
from hits.services.launching.unit_files import Found, kinds_from_units, read_units
from validation.domain.judging.judgment_rows import FileError, checked_id
from validation.domain.judging.quality_check_types import Rates
from validation.domain.judging.round_material import RecordToJudge
from validation.domain.judging.spec import JudgingSpec, Material
from validation.registry import spec_of
from validation.services.judging import AT_ONCE, RoundPlan, launch_units


def kind_from_units(name: str) -> HitKind:
    """Return the kind of that name, if it is launched from units.

    Raises:
        Refused: there is no such kind, or it says that it is not; the message names those that are.
    """
    for kind in kinds_from_units():
        if kind.name == name:
            return kind
    known = ", ".join(sorted(kind.name for kind in kinds_from_units()))
    is_kind = name in registry.names()
    why = "is launched from its own page or command" if is_kind else "there is no such kind"
    raise Refused(f"kind {name}: {why}; from a file of units: {known}")


def read_file(*, project: Project, kind: HitKind, file: BinaryIO, name: str) -> Found:
    """Return the units of a file by their keys in a batch.

    Raises:
        BadUnits: any line that cannot be used, with line, field and mend.
    """
    if kind.purpose is not Purpose.JUDGING:
        return read_units(project=project, kind=kind, file=file, name=name)
    spec = spec_of(kind.name)
    check = partial(_wrong_items, project, spec)
    return read_units(project=project, kind=kind, file=file, name=name, key=spec.key, check=check)


def _wrong_items(project: Project, spec: JudgingSpec, units: Found) -> Iterator[tuple[int, str]]:
    """Yield position and fault of units whose item no page could name, or that show something else than their record.

    What is said of an item counts for the record of that id, so a unit about a record has to be the record's own.
    """
    is_of_records = spec.material is Material.RECORDS
    rows = _records(project, [spec.item(unit) for _, unit in units]) if is_of_records else {}
    approved = _approved(project, spec, list(rows))
    images = collected.images_of(rows.values())
    for position, (_, unit) in enumerate(units):
        item = spec.item(unit)
        try:
            checked_id(item, spec.item_field)
        except FileError as error:
            yield position, str(error)
            continue
        row = rows.get(item)
        if row is not None and item not in approved:
            yield position, f"{spec.item_field}: record {item} is not approved; leave this line out"
        elif row is not None and unit != _unit_of(spec, row, images[row.pk]):
            way = "launch it from Judging, or give it an id of its own"
            yield position, f"{spec.item_field}: the unit differs from record {item}; {way}"


def _approved(project: Project, spec: JudgingSpec, ids: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(ids), AT_ONCE):
        rows = collected.accepted(project, str(spec.record_type)).filter(
            instance_id__in=ids[start : start + AT_ONCE]
        )
        found.update(rows.values_list("instance_id", flat=True))
    return found


def _unit_of(spec: JudgingSpec, row: Record, images: Sequence[int]) -> dict[str, Any]:
    return spec.kind.parse_unit(spec.unit(RecordToJudge(row.instance_id, row.index, images, row.fields)))


def launch_from_file(  # noqa: PLR0913 - a launch's own, by name
    *,
    project: Project,
    kind: HitKind,
    units: Found,
    by: AbstractBaseUser | None,
    name: str = "",
    terms: Terms | None = None,
    rates: Rates | None = None,
    source: Mapping[str, Any] | None = None,
    once: str = "",
) -> tuple[Batch, Job]:
    """Launch the units that ``read_file`` returned; all of them or none.

    Whoever wrote a record that a unit shows never judges it, and controls come on top, as in every judging round.
    ``source`` (the file's name and SHA-256) is kept with the batch. ``once`` names the wish to launch.

    Raises:
        Refused: the kind is not launched from units, or what controls and the launch refuse.
    """
    kind_from_units(kind.name)
    terms, rates = terms or Terms(), rates or Rates()
    known = launched_already(project=project, once=once)
    if known is not None:
        return known
    facts = {"unit_file": {**(source or {}), "units": len(units)}}
    judged = kind.purpose is Purpose.JUDGING
    if rates != Rates() and (not judged or spec_of(kind.name).has_truth):
        why = "knows each unit's answer" if judged else "is not judged"
        raise Refused(f"controls: kind {kind.name} {why}, so that none can be mixed in; use 0")
    if judged:
        return launch_units(
            project=project,
            kind=kind.name,
            units=_judged(project, kind, units),
            plan=RoundPlan(rates=rates),
            name=name or f"{kind.title}: {len(units)} from a file",
            by=by,
            terms=terms,
            provenance=facts,
            once=once,
        )
    return launch_batch(
        project=project,
        kind_name=kind.name,
        name=name or kind.title,
        units=[PlannedUnit(key, unit) for key, unit in units],
        by=by,
        terms=terms,
        provenance=facts,
        once=once,
    )


def _judged(project: Project, kind: HitKind, units: Found) -> list[PlannedUnit]:
    """Return the units with whom they are kept from: the authors of the records that they show."""
    spec = spec_of(kind.name)
    shown = [spec.shown_records(unit) for _, unit in units]
    authors = _authors(project, sorted({key for keys in shown for key in keys}))
    return [
        PlannedUnit(key, unit, [authors[one] for one in dict.fromkeys(keys) if one in authors])
        for (key, unit), keys in zip(units, shown, strict=True)
    ]


def _authors(project: Project, ids: Sequence[str]) -> dict[str, Worker]:
    """Return who wrote each record of the project that these ids name; of others nobody is known."""
    authors = {key: collected.author_of(row) for key, row in _records(project, ids).items()}
    return {key: author for key, author in authors.items() if author is not None}


def _records(project: Project, ids: Sequence[str]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for start in range(0, len(ids), AT_ONCE):
        found |= collected.by_instance_ids(project, ids[start : start + AT_ONCE])
    return found
