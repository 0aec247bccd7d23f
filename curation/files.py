"""Write files and folders atomically."""

import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput
from hits.domain.files.atomic_files import atomic_file, file_sha256, rename_folder_durably, sync_to_disk

__all__ = [
    "atomic_file",
    "file_sha256",
    "partial_folder",
    "rename_folder_durably",
    "sha256_if_readable",
    "sync_to_disk",
    "write_npy",
    "write_text",
]


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """Write an array to a temporary file and rename it, so that no reader sees half a file.

    Raises:
        InvalidInput: the folder is missing or not writable.
    """
    with _open_atomically(path) as file:
        np.save(file, array, allow_pickle=False)


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Write pieces of text as UTF-8 to a temporary file and rename it; line ends are kept.

    Raises:
        InvalidInput: the folder is missing or not writable.
    """
    with _open_atomically(path) as file:
        file.writelines(piece.encode() for piece in pieces)


@contextmanager
def partial_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden path beside ``folder``, in which the folder can be built; what remains there is deleted.

    The caller moves the finished folder into place with ``rename_folder_durably``, possibly in a transaction.
    """
    partial = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def sha256_if_readable(path: Path) -> str:
    """Return a file's SHA-256; an empty string if the file cannot be read."""
    try:
        return file_sha256(path)
    except OSError:
        return ""


@contextmanager
def _open_atomically(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that is written atomically; raise InvalidInput if that fails."""
    try:
        with atomic_file(path) as file:
            yield file
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written ({error.strerror}); choose another path") from error
