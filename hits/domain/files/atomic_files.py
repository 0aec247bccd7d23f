"""Files and folders that are there whole or not at all, also after a kill, a full disk or a power failure.

Everything that a row points at is written beside its place, flushed to the disk, and renamed; then the folder is
flushed too, so that the new name survives as well as the bytes do.
"""

import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

PARTIAL = ".partial"  # how names end of what is being written; a kill may leave one, and nobody reads it


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes its name, in the place of an earlier one, once all is written and on the disk.

    An exception of any kind leaves nothing of it. It is opened as any other, so that the umask says who may read it.

    Raises:
        OSError: the folder is missing or not writable, or the disk is full.
    """
    partial = path.with_name(f".{uuid.uuid4().hex}{PARTIAL}")
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync(path.parent)
    finally:
        with suppress(OSError):
            partial.unlink()


def put_folder(partial: Path, folder: Path) -> None:
    """Give a folder that was written beside its place its name, once all of it is on the disk.

    Raises:
        OSError: the name is taken by a folder that is not empty, or the disk is full.
    """
    for path in partial.rglob("*"):
        sync(path)
    sync(partial)
    partial.rename(folder)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk, so that a power failure cannot undo them."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
