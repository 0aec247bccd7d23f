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
from hits.selectors.unit_planners import planner_of
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, find_launched_batch_and_job, launch_batch
from hits.services.launching.terms import LaunchTerms
from hits.services.launching.unit_files import ParsedUnits, kinds_launched_from_files, read_units
from validation.domain.judging.judgment_rows import JudgmentFileError, validate_id
from validation.domain.judging.quality_check_types import CheckRates
from validation.domain.judging.round_material import RecordToJudge
from validation.domain.judging.spec import JudgingSpec, Material
from validation.registry import spec_of
from validation.selectors.work_reviews import reviewers_by_record
from validation.services.judging import RoundPlan, launch_judging_units


def find_unit_file_kind(name: str) -> HitKind:
    """Return the kind of that name if it can be launched from a file of units.

    Raises:
        Refused: no such kind, or it cannot be launched from a file; the message lists the kinds that can.
    """
    for kind in kinds_launched_from_files():
        if kind.name == name:
            return kind
    known = ", ".join(sorted(kind.name for kind in kinds_launched_from_files()))
    is_kind = name in registry.kind_names()
    reason = "has its own page or command" if is_kind else "there is no such kind"
    raise Refused(f"kind {name}: {reason}; use a kind that is launched from a file: {known}")


def read_unit_file(*, project: Project, kind: HitKind, file: BinaryIO, name: str) -> ParsedUnits:
    """Return the units of a file by their keys in a batch.

    Raises:
        BadUnitFile: a line is not valid; the message names line, field and correction.
    """
    if kind.purpose is not Purpose.JUDGING:
        return read_units(project=project, kind=kind, file=file, name=name)
    spec = spec_of(kind.name)
    check = partial(_find_wrong_items, project, spec)
    return read_units(project=project, kind=kind, file=file, name=name, key=spec.key, check=check)


def _find_wrong_items(project: Project, spec: JudgingSpec, units: ParsedUnits) -> Iterator[tuple[int, str]]:
    """Yield position and message of units whose item id is not valid, or that differ from their record.

    Judgments of an item count for the record with its id, so a unit with a record's id must equal that record's unit.
    """
    uses_records = spec.material is Material.RECORDS
    ids = [spec.item_id(unit) for _, unit in units] if uses_records else []
    rows = collected.records_by_instance_id(project, ids)
    approved = collected.approved_instance_ids(project, str(spec.record_type), list(rows))
    images = collected.image_ids_by_record(rows.values())
    for position, (_, unit) in enumerate(units):
        item = spec.item_id(unit)
        try:
            validate_id(item, spec.item_field)
        except JudgmentFileError as error:
            yield position, str(error)
            continue
        row = rows.get(item)
        if row is not None and item not in approved:
            yield position, f"{spec.item_field}: record {item} is not approved; leave this line out"
        elif row is not None and unit != _build_record_unit(spec, row, images[row.pk]):
            advice = "launch it from Judging, or use another id"
            yield position, f"{spec.item_field}: the unit differs from record {item}; {advice}"


def _build_record_unit(spec: JudgingSpec, row: Record, images: Sequence[int]) -> dict[str, Any]:
    return spec.kind.parse_unit(
        spec.build_unit(RecordToJudge(row.instance_id, row.index, images, row.fields))
    )


def plan_photo_units(*, project: Project, kind: HitKind, photos: Sequence[int]) -> ParsedUnits:
    """Return the units of a judging kind for photos (ids, in order), by their keys in a batch.

    Raises:
        Refused: the kind is no judging kind, or its units are not planned from photos.
    """
    planner = planner_of(kind)
    if kind.purpose is not Purpose.JUDGING or planner is None:
        raise Refused(
            f"kind {kind.name}: is no judging kind whose units are planned from photos; give a file"
        )
    spec = spec_of(kind.name)
    units = (kind.parse_unit(unit) for unit in planner.units(project, photos))
    return [(spec.key(unit), unit) for unit in units]


def launch_from_file(  # noqa: PLR0913 - the parameters of a launch
    *,
    project: Project,
    kind: HitKind,
    units: ParsedUnits,
    by: AbstractBaseUser | None,
    name: str = "",
    terms: LaunchTerms | None = None,
    rates: CheckRates | None = None,
    source: Mapping[str, Any] | None = None,
    idempotency_key: str = "",
) -> tuple[Batch, Job]:
    """Launch the units that ``read_unit_file`` or ``plan_photo_units`` returned; all of them or none.

    The authors of the records that a unit shows never judge it, nor do reviewers of them if it has a right answer.
    Quality checks are added, as in every judging round. ``source`` is stored with the batch: the file's name and
    SHA-256, or ``{"photos": …}`` with the selection of photos. A repeated request with the same ``idempotency_key``
    returns the first batch.

    Raises:
        Refused: the kind cannot be launched from a file, or the quality checks or the launch are not possible.
    """
    find_unit_file_kind(kind.name)
    terms, rates = terms or LaunchTerms(), rates or CheckRates()
    existing = find_launched_batch_and_job(project=project, idempotency_key=idempotency_key)
    if existing is not None:
        return existing
    origin = dict(source or {})
    from_photos = "photos" in origin
    provenance = origin if from_photos else {"unit_file": {**origin, "units": len(units)}}
    is_judging = kind.purpose is Purpose.JUDGING
    if rates != CheckRates() and (not is_judging or spec_of(kind.name).has_truth):
        reason = "has the right answer in each unit" if is_judging else "is not a judging kind"
        raise Refused(f"quality checks: kind {kind.name} {reason}, so it takes no quality checks; use 0")
    if is_judging:
        return launch_judging_units(
            project=project,
            kind=kind.name,
            units=plan_judging_units(project, kind, units),
            plan=RoundPlan(rates=rates),
            name=name or f"{kind.title}: {len(units)} from {'photos' if from_photos else 'a file'}",
            by=by,
            terms=terms,
            provenance=provenance,
            idempotency_key=idempotency_key,
        )
    return launch_batch(
        project=project,
        kind_name=kind.name,
        name=name or kind.title,
        units=[PlannedUnit(key, unit) for key, unit in units],
        by=by,
        terms=terms,
        provenance=provenance,
        idempotency_key=idempotency_key,
    )


def plan_judging_units(project: Project, kind: HitKind, units: ParsedUnits) -> list[PlannedUnit]:
    """Return units of a judging kind by their keys, each excluding workers who know the records that it shows.

    These are the records' authors and, where units have a right answer, the reviewers, who have read it.
    """
    spec = spec_of(kind.name)
    shown = [spec.shown_records(unit) for _, unit in units]
    ids = sorted({key for keys in shown for key in keys})
    excluded: dict[str, list[Worker]] = reviewers_by_record(project, ids) if spec.has_truth else {}
    for record_id, author in collected.authors_by_instance_id(project, ids).items():
        excluded.setdefault(record_id, []).append(author)
    return [
        PlannedUnit(
            key, unit, [worker for record_id in dict.fromkeys(keys) for worker in excluded.get(record_id, [])]
        )
        for (key, unit), keys in zip(units, shown, strict=True)
    ]
