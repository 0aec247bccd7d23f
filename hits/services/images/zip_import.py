"""Photos from a zip: kept whole as it came, then taken in one by one by a job that can be stopped."""

import io
import time
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser

from hits.domain.files.atomic_files import whole_file
from hits.models import Job, Project
from hits.services import audit
from hits.services.errors import BadFile, NoRoom
from hits.services.images.import_image import Description, import_image
from hits.services.images.manifests import read_manifest
from hits.services.images.zip_files import Listing, listing_of, read_entry
from hits.services.jobs import jobs
from hits.services.jobs.progress import Progress

TASK = "hits.import_zip"
LARGEST_MANIFEST = 20 * 1024 * 1024
KEPT_SECONDS = 7 * 24 * 3600
NAMED = 50  # problems that the result names; the log has all


def request_zip_import(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    name: str,
    blocks: Iterable[bytes],
    credit: str,
    licence: str,
    queue: bool = True,
) -> Job:
    """Keep a zip that was sent, and let a job take its photos in.

    Args:
        blocks: its bytes; nothing is left of it when they do not arrive whole.
        credit, licence: of the photos of which the manifest in the zip says nothing.
        queue: false when the caller runs the job itself.

    Raises:
        BadFile: the zip cannot be used; see ``listing_of``.
        NoRoom: the disk takes no more.
    """
    _forget_old()
    path = _folder() / f"{uuid.uuid4().hex}.zip"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            for block in blocks:
                file.write(block)
    except OSError as error:
        raise NoRoom.after(error, f"{name}: was not taken") from error
    try:
        photos = len(listing_of(path, name).photos)
        return jobs.enqueue(
            task=TASK,
            title=f"Add {photos:,} photos from {name}"[:200],
            project=project,
            by=by,
            queue=queue,
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
    """Take in the photos of a job's zip, from where an earlier run ended, and then remove the zip.

    A photo that cannot be used is named and passed over. Stopped in any other way than by a bad zip, the job can be
    resumed: the zip is kept for a week.

    Raises:
        BadFile: the zip or its manifest cannot be used.
        NoRoom: the disk takes no more; what is in stays.
        Cancelled: somebody asked for it; what is in stays.
    """
    path = _folder() / str(job.args["zip"])
    if not path.exists():
        raise BadFile(f"{job.args['called']}: its copy on the server is gone; send it again")
    try:
        jobs.set_result(job=job, **_Import(job, progress, path).run())
    except NoRoom:
        raise  # it goes on with this copy once there is room
    except BadFile:
        path.unlink()
        raise
    path.unlink()


class _Import:
    def __init__(self, job: Job, progress: Progress, path: Path) -> None:
        self._progress = progress
        self._path = path
        self._called: str = job.args["called"]
        self._about = Description(credit=job.args["credit"], licence=job.args["licence"])
        assert job.project is not None
        self._project = job.project
        self._by = job.created_by
        cursor = job.cursor
        self._position: int = cursor.get("position", 0)
        self._counts: dict[str, int] = cursor.get("counts", {"new": 0, "known": 0, "refused": 0})
        self._problems: list[str] = cursor.get("problems", [])

    def run(self) -> dict[str, Any]:
        listing = listing_of(self._path, self._called)
        with zipfile.ZipFile(self._path) as archive:
            described = self._described(archive, listing)
            total = len(listing.photos)
            for entry in listing.photos[self._position :]:
                self._take(archive, entry, described)
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
            subject=self._called,
            **self._counts,
        )
        return self._counts | {"problems": self._problems}

    def _described(self, archive: zipfile.ZipFile, listing: Listing) -> Mapping[str, Description]:
        """Return what the manifest says, by the photos' names in the zip; its names are relative to it."""
        if listing.manifest is None:
            return {}
        name = listing.manifest.filename
        data = read_entry(archive, listing.manifest, LARGEST_MANIFEST)
        folder = PurePosixPath(name).parent
        found = {
            str(folder / file): about
            for _, file, about in read_manifest(f"{self._called}, {name}", io.BytesIO(data))
        }
        missing = sorted(set(found) - {entry.filename for entry in listing.photos})
        if missing and not self._position:
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            self._note(f"{name}: names {missing[0]}{more}, which the zip does not hold")
        return found

    def _take(
        self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, described: Mapping[str, Description]
    ) -> None:
        said = described.get(entry.filename, Description())
        about = replace(
            said, credit=said.credit or self._about.credit, licence=said.licence or self._about.licence
        )
        try:
            data = read_entry(archive, entry, settings.MAX_IMAGE_BYTES)
            _, is_new = import_image(project=self._project, name=entry.filename, data=data, about=about)
        except NoRoom:
            raise
        except BadFile as error:
            self._counts["refused"] += 1
            self._note(str(error))
        else:
            self._counts["new" if is_new else "known"] += 1

    def _note(self, problem: str) -> None:
        self._progress.log(f"Passed over: {problem}")
        if len(self._problems) < NAMED:
            self._problems.append(problem)


def _forget_old() -> None:
    """Remove what jobs left that nobody resumed."""
    for path in _folder().glob("*.zip"):
        with suppress(OSError):  # another request removes the same
            if time.time() - path.stat().st_mtime > KEPT_SECONDS:
                path.unlink()


def _folder() -> Path:
    return Path(settings.VAR_DIR) / "uploads"
