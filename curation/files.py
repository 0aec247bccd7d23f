"""Write files and folders whole or not at all."""

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """Write an array beside its place and rename it, so that nobody meets half a file.

    Raises:
        InvalidInput: the folder is missing or not writable.
    """
    with _whole(path) as file:
        np.save(file, array, allow_pickle=False)


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Write pieces of text as UTF-8, as ``write_npy`` writes an array; line ends stay as they are.

    Raises:
        InvalidInput: the folder is missing or not writable.
    """
    with _whole(path) as file:
        file.writelines(piece.encode() for piece in pieces)


@contextmanager
def partial_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden path beside a folder, where one is made and from which it is renamed; what stays there goes.

    Whoever makes the folder also renames it, since only they know when it counts: some do so together with a row.
    """
    partial = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_if_readable(path: Path) -> str:
    """Return the same; nothing for a file that cannot be read."""
    try:
        return file_sha256(path)
    except OSError:
        return ""


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk, so that a power failure cannot undo them."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes its name once all is written; an exception of any kind leaves nothing of it.

    It is opened as any other, so that the umask says who may read it.
    """
    partial = path.with_name(f".{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written ({error.strerror}); choose another place") from error
    finally:
        with suppress(OSError):
            partial.unlink()
