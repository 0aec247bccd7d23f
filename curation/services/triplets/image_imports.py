"""Request the import of images that were made elsewhere from an uploaded zip."""

from collections.abc import Iterable

from django.contrib.auth.models import AbstractBaseUser

from curation.selectors.jobs import IMPORT_GENERATED
from hits.models import Job, Project
from hits.services.errors import BadFile
from hits.services.jobs import jobs
from hits.services.uploads import store_upload


def request_image_import(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    called: str,
    blocks: Iterable[bytes],
    queue: bool = True,
) -> Job:
    """Store an uploaded zip, and queue the job that imports its images: all of them or none.

    Args:
        called: the zip's name on the person's machine. blocks: its bytes.

    Raises:
        BadFile: it is no zip by its name.
        StorageFull: the disk is full.
        Conflict: another zip is being imported into this project.
    """
    if not called.lower().endswith(".zip"):
        raise BadFile(f"{called[:80]}: is no zip; pack the folder with manifest.csv into one")
    path = store_upload(called=called, blocks=blocks, suffix=".zip")
    try:
        return jobs.enqueue(
            task=IMPORT_GENERATED,
            title=f"Import images from {called}"[:160],
            project=project,
            by=by,
            exclusive_key=f"import-generated:{project.pk}",
            resumable=True,
            queue=queue,
            zip=path.name,
            called=called[:200],
        )
    except BaseException:
        path.unlink()
        raise
