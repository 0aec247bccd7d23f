"""Write files and folders whole or not at all."""

import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput
from hits.domain.files.atomic_files import file_sha256, put_folder, sync, whole_file

__all__ = [
    "file_sha256",
    "partial_folder",
    "put_folder",
    "sha256_if_readable",
    "sync",
    "whole_file",
    "write_npy",
    "write_text",
]


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

    Whoever makes the folder also puts it in place (``put_folder``), since only they know when it counts: some do so
    together with a row.
    """
    partial = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def sha256_if_readable(path: Path) -> str:
    """Return the same; nothing for a file that cannot be read."""
    try:
        return file_sha256(path)
    except OSError:
        return ""


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that is written whole; what goes wrong is said in one line."""
    try:
        with whole_file(path) as file:
            yield file
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written ({error.strerror}); choose another place") from error
