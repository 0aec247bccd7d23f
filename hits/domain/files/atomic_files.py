"""Write files and folders atomically, even if a kill, a full disk or a power failure interrupts.

Everything that a row points to is written beside its path, flushed to the disk and renamed. Then the folder is
flushed, so that the new name survives as the bytes do.
"""

import hashlib
import os
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

SYNC_THREADS = 16
PARTIAL_SUFFIX = ".partial"  # suffix of unfinished files; a kill may leave one, and nobody reads it


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces ``path`` once all its bytes are on the disk.

    An exception leaves no file. The file is opened normally, so that the umask sets its permissions.

    Raises:
        OSError: the folder is missing or not writable, or the disk is full.
    """
    partial = path.with_name(f".{uuid.uuid4().hex}{PARTIAL_SUFFIX}")
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_to_disk(path.parent)
    finally:
        with suppress(OSError):
            partial.unlink()


def rename_folder_durably(partial: Path, folder: Path) -> None:
    """Rename ``partial`` to ``folder`` once all its files are on the disk.

    Files are flushed by several threads, because the disk takes many of them in one write.

    Raises:
        OSError: ``folder`` exists and is not empty, or the disk is full.
    """
    with ThreadPoolExecutor(SYNC_THREADS) as pool:
        for _ in pool.map(sync_to_disk, partial.rglob("*")):
            pass
    sync_to_disk(partial)
    partial.rename(folder)
    sync_to_disk(folder.parent)


def sync_to_disk(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk, so that they survive a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
