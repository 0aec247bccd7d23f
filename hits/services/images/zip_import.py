"""Import photos from a zip: store the zip, then import its photos one by one in a resumable job."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser

from hits.models import Job, Project
from hits.services import audit
from hits.services.errors import BadFile, StorageFull
from hits.services.images.import_image import ImageDescription, import_image
from hits.services.images.manifests import read_manifest
from hits.services.images.zip_files import ZipContents, read_entry, read_zip_contents
from hits.services.jobs import jobs
from hits.services.jobs.progress import Progress
from hits.services.uploads import store_upload, upload_path

TASK = "hits.import_zip"
MAX_MANIFEST_BYTES = 20 * 1024 * 1024
MAX_PROBLEMS = 50  # problems in the job's result; the log has all


def request_zip_import(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    name: str,
    blocks: Iterable[bytes],
    credit: str,
    licence: str,
) -> Job:
    """Store an uploaded zip, and queue a job that imports its photos.

    Args:
        blocks: its bytes; an incomplete upload leaves no file.
        credit, licence: defaults for photos without them in the zip's manifest.

    Raises:
        BadFile: an unusable zip; see ``read_zip_contents``.
        StorageFull: the disk is full.
    """
    path = store_upload(called=name, blocks=blocks, suffix=".zip")
    try:
        photos = len(read_zip_contents(path, name).photos)
        return jobs.enqueue(
            task=TASK,
            title=f"Add {photos:,} photos from {name}"[:200],
            project=project,
            by=by,
            resumable=True,
            zip=path.name,
            called=name,
            credit=credit,
            licence=licence,
        )
    except BaseException:
        path.unlink()
        raise


def import_zip(*, job: Job, progress: Progress) -> None:
    """Import the photos of a job's zip, from where an earlier run ended, and delete the zip.

    An unusable photo is logged and skipped. Unless the zip itself is bad, a stopped job can be resumed for a week.

    Raises:
        BadFile: the zip or its manifest is unusable.
        StorageFull: the disk is full; imported photos stay.
        Cancelled: somebody stopped the job; imported photos stay.
    """
    path = upload_path(str(job.args["zip"]))
    if not path.exists():
        raise BadFile(f"{job.args['called']}: its copy on the server was deleted; upload it again")
    try:
        jobs.set_result(job=job, **_ZipImport(job, progress, path).run())
    except StorageFull:
        raise  # the job resumes with this copy when there is space
    except BadFile:
        path.unlink()
        raise
    path.unlink()


class _ZipImport:
    def __init__(self, job: Job, progress: Progress, path: Path) -> None:
        self._progress = progress
        self._path = path
        self._display_name: str = job.args["called"]
        self._description = ImageDescription(credit=job.args["credit"], licence=job.args["licence"])
        assert job.project is not None
        self._project = job.project
        self._by = job.created_by
        cursor = job.cursor
        self._position: int = cursor.get("position", 0)
        self._counts: dict[str, int] = cursor.get("counts", {"new": 0, "known": 0, "refused": 0})
        self._problems: list[str] = cursor.get("problems", [])

    def run(self) -> dict[str, Any]:
        listing = read_zip_contents(self._path, self._display_name)
        with zipfile.ZipFile(self._path) as archive:
            described = self._read_descriptions(archive, listing)
            total = len(listing.photos)
            for entry in listing.photos[self._position :]:
                self._import_photo(archive, entry, described)
                self._position += 1
                self._progress.advance(
                    self._position,
                    total,
                    position=self._position,
                    counts=self._counts,
                    problems=self._problems,
                )
        audit.record(
            project=self._project,
            actor=self._by,
            action="images.import_zip",
            subject=self._display_name,
            **self._counts,
        )
        return self._counts | {"problems": self._problems}

    def _read_descriptions(
        self, archive: zipfile.ZipFile, listing: ZipContents
    ) -> Mapping[str, ImageDescription]:
        """Return the manifest's descriptions by the photos' names in the zip; its names are relative to it."""
        if listing.manifest is None:
            return {}
        name = listing.manifest.filename
        data = read_entry(archive, listing.manifest, MAX_MANIFEST_BYTES)
        folder = PurePosixPath(name).parent
        descriptions = {
            str(folder / file): description
            for _, file, description in read_manifest(f"{self._display_name}, {name}", io.BytesIO(data))
        }
        missing = sorted(set(descriptions) - {entry.filename for entry in listing.photos})
        if missing and not self._position:
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            self._add_problem(f"{name}: names {missing[0]}{more}, which the zip does not have")
        return descriptions

    def _import_photo(
        self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, described: Mapping[str, ImageDescription]
    ) -> None:
        stated = described.get(entry.filename, ImageDescription())
        description = replace(
            stated,
            credit=stated.credit or self._description.credit,
            licence=stated.licence or self._description.licence,
        )
        try:
            data = read_entry(archive, entry, settings.MAX_IMAGE_BYTES)
            _, is_new = import_image(
                project=self._project, name=entry.filename, data=data, description=description
            )
        except StorageFull:
            raise
        except BadFile as error:
            self._counts["refused"] += 1
            self._add_problem(str(error))
        else:
            self._counts["new" if is_new else "known"] += 1

    def _add_problem(self, problem: str) -> None:
        self._progress.log(f"Skipped: {problem}")
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(problem)
