"""Create and seal dataset versions."""

import re
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import Count, Max, Sum
from django.utils import timezone

from curation.models import AuditLabel, DatasetVersion, VersionImage, VersionRow, VersionState
from curation.records import InvalidInput
from curation.selectors import versions as version_selectors
from curation.selectors.jobs import SEAL
from curation.selectors.records import describe_unversioned_records
from curation.services.refusals import refuse_invalid_input
from curation.versions.export import ExportRefused, export_version, seal_file_lines
from curation.versions.families import family_of
from curation.versions.plan import Plan, describe_reasons
from curation.versions.seal import SealHeader, seal_lines, seal_sha256
from curation.versions.selection import Selection
from curation.versions.selection_filter import SelectionFilter
from curation.versions.splits import UnknownSplit
from hits.domain.crashpoints import crash_point
from hits.domain.states import AssignmentStatus
from hits.models import Assignment, AuditEvent, Image, Job, Project, Record
from hits.selectors.batches import iterate_in_chunks
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.storage import stored_sha256
from validation.models import DecisionRun

_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_BATCH_SIZE = 500
_T = TypeVar("_T")
MAX_ATTEMPTS = 3  # to prepare a seal; rows may change during each


class ProgressReport(Protocol):
    """Receives the progress of long work: a job, or a terminal."""

    def advance(self, done: int, total: int) -> None:
        """Report progress; an exception it raises ends the work."""
        ...


def create_version(
    *,
    project: Project,
    name: str,
    by: AbstractBaseUser | None,
    note: str = "",
    selection: Selection | None = None,
) -> DatasetVersion:
    """Create a draft. It has no rows yet: they are the rows that are approved when it is sealed.

    Raises:
        Refused: the name is invalid or taken, or the selection names something the project does not have.
    """
    name = name.strip()
    check_version_name(project, name)
    check_selection(project, selection or Selection())
    try:
        with transaction.atomic():
            version = DatasetVersion.objects.create(
                project=project,
                name=name,
                note=note.strip()[:400],
                rehearsal=project.is_rehearsal,
                selection=(selection or Selection()).as_json(),
                created_by_id=by.pk if by else None,
            )
            audit.record(project=project, actor=by, action="version.create", subject=name)
    except IntegrityError as error:
        raise Refused(f"name: there is a version {name} already; choose another name") from error
    return version


def check_selection(project: Project, selection: Selection) -> None:
    """Check that a project has everything a selection names.

    Raises:
        Refused: something is missing; the message names the field.
    """
    with refuse_invalid_input():
        types = family_of(project).record_types
        for record_type in types:
            SelectionFilter(project, record_type, selection, record_types=types)


def check_version_name(project: Project, name: str) -> None:
    """Check that a name can be used for a new version.

    Raises:
        Refused: the name is invalid or taken.
    """
    if not _NAME_PATTERN.fullmatch(name.strip()):
        raise Refused(f"name: {name.strip()!r}; use letters, digits, dots and hyphens, for instance v1.0")
    if DatasetVersion.objects.filter(project=project, name=name.strip()).exists():
        raise Refused(f"name: there is a version {name.strip()} already; choose another name")


def request_seal(*, version: DatasetVersion, by: AbstractBaseUser | None) -> Job:
    """Queue the sealing of a draft.

    Raises:
        Conflict: it is already sealed, or being sealed.
    """
    if version.is_sealed:
        raise Conflict(f"{version.name} is already sealed.")
    return jobs.enqueue(
        task=SEAL,
        title=f"Seal {version.name}",
        project=version.project,
        by=by,
        exclusive_key=f"seal:{version.pk}",
        version=version.pk,
    )


def seal_version(
    *, version: DatasetVersion, by: AbstractBaseUser | None, progress: ProgressReport | None = None
) -> DatasetVersion:
    """Seal a draft: check every image's file and store all rows and their hashes, or change nothing.

    Everything is planned, hashed and checked before the database is locked for the writes. Idempotent: a sealed
    version is returned unchanged.

    Raises:
        Refused: nothing is approved, an image's file is missing or changed, or a split is unknown.
        Conflict: somebody else sealed it at the same time, or its contents kept changing.
    """
    version.refresh_from_db()
    if version.is_sealed:
        return version
    return _seal(version, by, progress, create=lambda: version)


def create_sealed_version(
    *,
    project: Project,
    name: str,
    by: AbstractBaseUser | None,
    selection: Selection | None = None,
    progress: ProgressReport | None = None,
) -> DatasetVersion:
    """Create and seal a version; if it cannot be sealed, no draft is left behind.

    Raises:
        Refused: see ``create_version`` and ``seal_version``.
    """
    check_version_name(project, name)
    check_selection(project, selection or Selection())
    draft = DatasetVersion(
        project=project,
        name=name.strip(),
        rehearsal=project.is_rehearsal,
        selection=(selection or Selection()).as_json(),
    )

    def create() -> DatasetVersion:
        return create_version(project=project, name=name, by=by, selection=selection)

    return _seal(draft, by, progress, create=create)


def _seal(
    draft: DatasetVersion,
    by: AbstractBaseUser | None,
    progress: ProgressReport | None,
    *,
    create: Callable[[], DatasetVersion],
) -> DatasetVersion:
    """Prepare, then write in one transaction; prepare again if something changed in between."""
    project = draft.project
    for _ in range(MAX_ATTEMPTS):
        before = project_content_fingerprint(project)
        plan = _plan_or_refuse(draft)
        _check_images_unchanged(project, plan, progress)
        sealed_fields = _SealedFields(draft, plan)
        crash_point("seal.after_prepare")
        with transaction.atomic():
            lock_versions(project)
            if project_content_fingerprint(project) != before:
                continue
            version = create()
            _write_rows(version, plan)
            _mark_sealed(version, sealed_fields, by)
            crash_point("seal.after_close")
            facts = {"subject": version.name, "rows": plan.row_count}
            audit.record(project=project, actor=by, action="version.seal", **facts)
        version.refresh_from_db()
        return version
    raise Conflict(f"{draft.name}: its contents changed {MAX_ATTEMPTS} times during sealing; seal it again")


def lock_versions(project: Project) -> None:
    """Let no other transaction write versions of a project, or delete what they name, until this one has ended.

    A version is planned from the versions before it, so it must see those that are being written.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def plan_version(draft: DatasetVersion, report_progress: Callable[[int], None] | None = None) -> Plan:
    """Return what the version would contain if it were sealed now. Read-only.

    Args:
        report_progress: called from time to time with the number of records read.

    Raises:
        UnknownSplit: a photo's split is unknown.
        InvalidInput: its selection names something the project does not have.
    """
    plan = Plan(Selection.from_json(draft.selection))
    family_of(draft.project).plan(draft, plan, report_progress or (lambda done: None))
    return plan


def _plan_or_refuse(draft: DatasetVersion) -> Plan:
    try:
        plan = plan_version(draft)
    except (UnknownSplit, InvalidInput) as error:
        raise Refused(str(error)) from error
    if not plan.row_count:
        raise Refused(f"rows: {_explain_empty_plan(draft, plan)}")
    return plan


def _explain_empty_plan(draft: DatasetVersion, plan: Plan) -> str:
    """Return an explanation of why there is nothing to seal, with counts by reason and by kind."""
    family = family_of(draft.project)
    reasons = []
    if plan.exclusions:
        counts = describe_reasons(plan.exclusions, family.all_exclusion_labels())
        reasons.append(f"all {plan.exclusions.total()} approved records are excluded: {counts}")
    reasons += describe_unversioned_records(draft.project, family.used_types)
    if not reasons:
        return "nothing is approved yet, so there is nothing to seal"
    return f"there is nothing to seal: {'; '.join(reasons)}"


def project_content_fingerprint(project: Project) -> tuple[object, ...]:
    """Return sums that change whenever the possible contents of a version change."""
    approved = Assignment.objects.filter(
        hit__unit__batch__project=project, status=AssignmentStatus.APPROVED
    ).aggregate(n=Count("pk"), keys=Sum("pk"))
    photos = Image.objects.filter(project=project, taken_down_at=None)
    images = photos.aggregate(n=Count("pk"), keys=Sum("pk"))
    newest = AuditEvent.objects.filter(project=project).aggregate(pk=Max("pk"))
    records = Record.objects.filter(project=project).aggregate(n=Count("pk"))
    decisions = DecisionRun.objects.filter(project=project).aggregate(pk=Max("pk"))
    labels = AuditLabel.objects.filter(item__audit__project=project).aggregate(pk=Max("pk"))
    found = (approved, images, newest, records, decisions, labels)
    return tuple(value for values in found for value in values.values())


def _check_images_unchanged(project: Project, plan: Plan, progress: ProgressReport | None) -> None:
    """Check that no image's file has changed, since boxes are in its pixels; raise Refused otherwise."""
    required = {image.sha256 for image in plan.images}
    rows = Image.objects.filter(project=project, taken_down_at=None)
    done = 0
    for image in iterate_in_chunks(rows):  # progress is saved between chunks
        if image.sha256 not in required:
            continue
        try:
            digest = stored_sha256(image.file.storage, str(image.file))
        except OSError as error:
            raise Refused(f"{image.name}: its file is missing; restore {image.file.name}") from error
        if digest != image.sha256:
            raise Refused(f"{image.name}: its file was changed; restore {image.file.name}")
        done += 1
        if progress is not None:
            progress.advance(done, total=plan.image_count)


def _write_rows(version: DatasetVersion, plan: Plan) -> None:
    """Write all planned rows, one batch in memory at a time."""
    for images in _batches(plan.images):
        VersionImage.objects.bulk_create(
            VersionImage(version=version, url=image.url, sha256=image.sha256, facts=image.facts)
            for image in images
        )
    for rows in _batches(plan.rows):
        crash_point("seal.amid_rows")
        VersionRow.objects.bulk_create(
            VersionRow(
                version=version,
                part=row.part,
                instance_id=row.instance_id,
                split=row.split,
                row=row.row,
                sha256=row.sha256,
                workers=list(row.workers),
            )
            for row in rows
        )


def _batches(values: Iterator[_T]) -> Iterator[list[_T]]:
    while batch := list(islice(values, _BATCH_SIZE)):
        yield batch


class _SealedFields:
    """The fields of a sealed version, computed before the database is locked."""

    def __init__(self, draft: DatasetVersion, plan: Plan) -> None:
        self.manifest_sha256 = _compute_manifest_sha256(draft, plan)
        self.statistics = _statistics(draft, plan)
        self.exclusions = dict(plan.exclusions)
        self.selection = plan.selection.as_json()
        self.provenance = plan.provenance() | _removal_reasons(draft, plan)


def _removal_reasons(draft: DatasetVersion, plan: Plan) -> dict[str, Any]:
    """Return why rows of the last sealed version are missing from this one, by id."""
    earlier = version_selectors.previous_sealed_version(draft)
    parts = [part.name for part in family_of(draft.project).compared_parts]
    if earlier is None:
        return {}
    kept = {(part, row.instance_id) for part in parts for row in plan.part_rows(part)}
    removed = sorted(version_selectors.row_hashes(earlier, parts).keys() - kept)
    return {"removed": {key: plan.exclusion_reason(part, key) for part, key in removed}} if removed else {}


def _mark_sealed(version: DatasetVersion, sealed_fields: _SealedFields, by: AbstractBaseUser | None) -> None:
    """Mark the draft as sealed, with one conditional UPDATE so that two seals cannot both succeed."""
    updated = DatasetVersion.objects.filter(pk=version.pk, state=VersionState.DRAFT).update(
        **vars(sealed_fields),
        state=VersionState.SEALED,
        sealed_at=timezone.now(),
        sealed_by_id=by.pk if by else None,
    )
    if not updated:
        raise Conflict(f"{version.name} has just been sealed by somebody else.")


def _compute_manifest_sha256(version: DatasetVersion, plan: Plan) -> str:
    header = SealHeader(
        version.project.slug,
        version.name,
        version.rehearsal,
        images=plan.image_count,
        rows=plan.row_count,
        selection=plan.selection.as_json(),
    )
    return seal_sha256(seal_lines(header, plan.images, plan.sealed_rows()))


def _statistics(draft: DatasetVersion, plan: Plan) -> dict[str, object]:
    counter = family_of(draft.project).statistics()
    for row in plan.rows:
        counter.add(row)
    return counter.result()


def ensure_export_folder(*, version: DatasetVersion) -> Path:
    """Return the folder of a sealed version's export, writing it on the first call.

    It is in the media folder, of which only images are served directly. A damaged export is rewritten.

    Raises:
        Refused: the version is a draft, or its rows no longer match its checksum.
    """
    if not version.is_sealed:
        raise Refused(f"{version.name} is a draft: seal it first")
    if seal_sha256(seal_file_lines(version)) != version.manifest_sha256:
        raise Refused(f"{version.name}: its rows no longer match its checksum; restore the database")
    folder = export_folder(version)
    try:
        return export_version(version, folder).folder
    except ExportRefused:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        return export_version(version, folder).folder
    except ExportRefused as error:
        raise Refused(str(error)) from error


def export_folder(version: DatasetVersion) -> Path:
    """Return the folder of a sealed version's export, which may not exist yet."""
    return Path(settings.MEDIA_ROOT) / "exports" / f"{version.pk}-{version.manifest_sha256[:16]}"
