"""Make dataset versions and seal them."""

import hashlib
import re
import shutil
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from curation.models import DatasetVersion, Part, VersionImage, VersionRow, VersionState
from curation.selectors.jobs import SEAL
from curation.versions.build import Plan, plan_version
from curation.versions.export_sherlock import ExportRefused, export_version, sealed_text
from curation.versions.seal import Header, SealedImage, SealedRow, annotators_sha256, seal_lines, seal_sha256
from curation.versions.splits import UnknownSplit
from curation.versions.stats import Counting
from hits.models import Image, Job, Project
from hits.services import audit, jobs
from hits.services.errors import Conflict, Refused

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_BATCH = 500


def create_version(
    *, project: Project, name: str, by: AbstractBaseUser | None, note: str = ""
) -> DatasetVersion:
    """Return a new draft. It holds nothing yet: its rows are those that are approved when it is sealed.

    Raises:
        Refused: the name cannot be used, or is taken.
    """
    name = name.strip()
    if not _NAME.fullmatch(name):
        raise Refused(f"name: {name!r}; use letters, digits, dots and hyphens, for instance v1.0")
    try:
        with transaction.atomic():
            version = DatasetVersion.objects.create(
                project=project,
                name=name,
                note=note.strip()[:400],
                rehearsal=project.is_rehearsal,
                created_by_id=by.pk if by else None,
            )
            audit.record(project=project, actor=by, action="version.create", subject=name)
    except IntegrityError as error:
        raise Refused(f"name: there is a version {name} already; choose another name") from error
    return version


def request_seal(*, version: DatasetVersion, by: AbstractBaseUser | None) -> Job:
    """Queue the sealing of a draft.

    Raises:
        Conflict: it is sealed already, or being sealed.
    """
    if version.is_sealed:
        raise Conflict(f"{version.name} is sealed already.")
    return jobs.enqueue(
        task=SEAL,
        title=f"Seal {version.name}",
        project=version.project,
        by=by,
        exclusive_key=f"seal:{version.pk}",
        version=version.pk,
    )


def seal_version(
    *, version: DatasetVersion, by: AbstractBaseUser | None, progress: jobs.Progress | None = None
) -> DatasetVersion:
    """Seal a draft: check every image's file, keep all rows and their hashes, or change nothing.

    Repeatable: a version that is sealed is returned as it is.

    Raises:
        Refused: nothing is approved, an image's file is missing or changed, or a split is unknown.
        Conflict: somebody else sealed it just now.
    """
    version.refresh_from_db()
    if version.is_sealed:
        return version
    try:
        plan = plan_version(version)
    except UnknownSplit as error:
        raise Refused(str(error)) from error
    if not plan.rows:
        raise Refused("rows: nothing is approved yet, so there is nothing to seal")
    _check_images(version.project, plan, progress)
    with transaction.atomic():
        _write_rows(version, plan)
        _close(version, plan, by)
        audit.record(
            project=version.project,
            actor=by,
            action="version.seal",
            subject=version.name,
            rows=len(plan.rows),
        )
    version.refresh_from_db()
    return version


def make_sealed_version(
    *, project: Project, name: str, by: AbstractBaseUser | None, note: str = ""
) -> DatasetVersion:
    """Return a new version, sealed at once; when it cannot be sealed no draft is left behind.

    Raises:
        Refused: see ``create_version`` and ``seal_version``.
    """
    with transaction.atomic():
        version = create_version(project=project, name=name, by=by, note=note)
        return seal_version(version=version, by=by)


def _check_images(project: Project, plan: Plan, progress: jobs.Progress | None) -> None:
    """Boxes are pixels of a certain file: refuse to seal what is no longer that file."""
    wanted = {image.sha256: image for image in plan.images}
    rows = Image.objects.filter(project=project, sha256__in=wanted)
    for done, image in enumerate(rows, start=1):
        try:
            with image.file.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise Refused(f"{image.name}: its file is missing; restore {image.file.name}") from error
        if digest != image.sha256:
            raise Refused(f"{image.name}: its file was changed; restore {image.file.name}")
        if progress is not None:
            progress.advance(done, total=len(wanted))


def _write_rows(version: DatasetVersion, plan: Plan) -> None:
    VersionImage.objects.bulk_create(
        [
            VersionImage(version=version, url=image.url, sha256=image.sha256, facts=image.facts)
            for image in plan.images
        ],
        batch_size=_BATCH,
    )
    VersionRow.objects.bulk_create(
        [
            VersionRow(
                version=version,
                part=row.part.value,
                instance_id=row.instance_id,
                split=row.split,
                row=row.row,
                sha256=row.sha256,
                workers=list(row.workers),
            )
            for row in plan.rows
        ],
        batch_size=_BATCH,
    )


def _close(version: DatasetVersion, plan: Plan, by: AbstractBaseUser | None) -> None:
    """Turn the draft into a sealed version; one conditional UPDATE, so that two seals cannot both win."""
    closed = DatasetVersion.objects.filter(pk=version.pk, state=VersionState.DRAFT).update(
        state=VersionState.SEALED,
        manifest_sha256=_seal_of(version, plan),
        statistics=_statistics(plan),
        exclusions=dict(plan.exclusions),
        provenance=plan.provenance(),
        sealed_at=timezone.now(),
        sealed_by_id=by.pk if by else None,
    )
    if not closed:
        raise Conflict(f"{version.name} was sealed by somebody else just now.")


def _seal_of(version: DatasetVersion, plan: Plan) -> str:
    return seal_sha256(
        seal_lines(
            Header(version.project.slug, version.name, version.rehearsal, len(plan.images), len(plan.rows)),
            (SealedImage(image.url, image.sha256, image.facts) for image in plan.images),
            (
                SealedRow(
                    row.part.value,
                    row.instance_id,
                    row.split,
                    row.sha256,
                    annotators_sha256(row.instance_id, row.workers),
                )
                for row in plan.rows
            ),
        )
    )


def _statistics(plan: Plan) -> dict[str, object]:
    counting = Counting()
    for row in plan.observations():
        counting.add(row.row, row.split)
    statistics = counting.result().as_dict()
    statistics["annotators"] = len({worker for row in plan.observations() for worker in row.workers})
    statistics["comparison_sets"] = sum(row.part is Part.COMPARISON for row in plan.rows)
    statistics["judgments"] = sum(
        2 * len(row.row["candidates"]) for row in plan.rows if row.part is Part.COMPARISON
    )
    return statistics


def export_folder(*, version: DatasetVersion) -> Path:
    """Return the folder that holds a sealed version's files for download, written at the first call.

    It lies in the media folder, of which only images are ever served. A damaged one is written anew.

    Raises:
        Refused: the version is a draft, or its rows no longer give its seal.
    """
    if not version.is_sealed:
        raise Refused(f"{version.name} is a draft: seal it first")
    if seal_sha256(sealed_text(version)) != version.manifest_sha256:
        raise Refused(f"{version.name}: its rows no longer give its seal; restore the database")
    folder = export_path(version)
    try:
        return export_version(version, folder).folder
    except ExportRefused:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        return export_version(version, folder).folder
    except ExportRefused as error:
        raise Refused(str(error)) from error


def export_path(version: DatasetVersion) -> Path:
    """Return where a sealed version's files for download lie, or will."""
    return Path(settings.MEDIA_ROOT) / "exports" / f"{version.pk}-{version.manifest_sha256[:16]}"
