"""Uploaded files that wait for a job in a folder of the server. A job deletes its file when it is done."""

import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from hits.domain.files.atomic_files import atomic_file
from hits.services.errors import StorageFull

RETENTION_SECONDS = 7 * 24 * 3600  # of files whose job nobody resumed


def store_upload(*, called: str, blocks: Iterable[bytes], suffix: str) -> Path:
    """Store an uploaded file under a random name, and return its path; an incomplete upload leaves no file.

    ``called`` is its name on the person's machine, for messages.

    Raises:
        StorageFull: the disk is full.
    """
    _delete_old_uploads()
    path = upload_path(f"{uuid.uuid4().hex}{suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            for block in blocks:
                file.write(block)
    except OSError as error:
        raise StorageFull.from_os_error(error, f"{called}: was not stored") from error
    return path


def upload_path(name: str) -> Path:
    """Return the path of an uploaded file by the name under which it is stored."""
    return _folder() / name


def _delete_old_uploads() -> None:
    for path in _folder().glob("*.zip"):
        with suppress(OSError):  # another request deletes the same file
            if time.time() - path.stat().st_mtime > RETENTION_SECONDS:
                path.unlink()


def _folder() -> Path:
    return Path(settings.VAR_DIR) / "uploads"
