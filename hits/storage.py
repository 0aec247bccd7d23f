"""Storage of uploaded files: Django's folder on disk, with atomic writes."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage
from django.utils.deconstruct import deconstructible

from hits.domain.files.atomic_files import atomic_file

BLOCK_BYTES = 1 << 20


@deconstructible(path="hits.storage.AtomicFileStorage")
class AtomicFileStorage(FileSystemStorage):
    """Write each file under a temporary name, flush and rename it. Names derive from content and are replaced."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **{"allow_overwrite": True, **kwargs})  # type: ignore[arg-type]

    def _save(self, name: str, content: File) -> str:
        """Write a file atomically; Django writes block by block under the final name, which a kill can cut off.

        Raises:
            OSError: the folder is not writable, or the disk is full; no file remains then.
        """
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            for block in content.chunks():
                file.write(block)
        return name.replace("\\", "/")


def save_if_changed(storage: Storage, name: str, data: bytes) -> str:
    """Store exactly ``data`` under a name and return the name.

    An existing file is kept only if its size and sha256 match; otherwise it is replaced.

    Raises:
        OSError: the file cannot be written.
    """
    if has_content(storage, name, size=len(data), sha256=hashlib.sha256(data).hexdigest()):
        return name
    return storage.save(name, ContentFile(data))


def has_content(storage: Storage, name: str, *, size: int, sha256: str) -> bool:
    """Return whether a file with that size and hash exists. A file of another size is not read."""
    try:
        return storage.size(name) == size and stored_sha256(storage, name) == sha256
    except FileNotFoundError:
        return False


def stored_sha256(storage: Storage, name: str) -> str:
    """Return a stored file's sha256, 64 hex digits, read block by block.

    Raises:
        FileNotFoundError: the file does not exist.
    """
    digest = hashlib.sha256()
    with storage.open(name) as file:
        for block in _read_blocks(file):
            digest.update(block)
    return digest.hexdigest()


def _read_blocks(file: File) -> Iterator[bytes]:
    while block := file.read(BLOCK_BYTES):
        yield block
