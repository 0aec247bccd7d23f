"""Where uploaded files lie: Django's folder on disk, in which a name always stands for a whole file."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage
from django.utils.deconstruct import deconstructible

from hits.domain.files.atomic_files import whole_file

BLOCK = 1 << 20


@deconstructible(path="hits.storage.WholeFileStorage")
class WholeFileStorage(FileSystemStorage):
    """Files beside their place, flushed and renamed; a name that is taken is replaced, since names are by content."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **{"allow_overwrite": True, **kwargs})  # type: ignore[arg-type]

    def _save(self, name: str, content: File) -> str:
        """Write a file; what Django does bit by bit under the final name could be cut off in the middle.

        Raises:
            OSError: the folder is not writable, or the disk is full; nothing is left of the file then.
        """
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            for block in content.chunks():
                file.write(block)
        return name.replace("\\", "/")


def keep_content(storage: Storage, name: str, data: bytes) -> str:
    """Make a name hold exactly ``data`` and return it.

    A file that is there already is trusted only when its size and its sha256 agree; otherwise it is replaced.

    Raises:
        OSError: the file cannot be written.
    """
    if holds(storage, name, size=len(data), sha256=hashlib.sha256(data).hexdigest()):
        return name
    return storage.save(name, ContentFile(data))


def holds(storage: Storage, name: str, *, size: int, sha256: str) -> bool:
    """Whether a file is there with that many bytes and that hash. A file of another size is not read."""
    try:
        return storage.size(name) == size and sha256_of(storage, name) == sha256
    except FileNotFoundError:
        return False


def sha256_of(storage: Storage, name: str) -> str:
    """Return a stored file's sha256, 64 hex digits, read a block at a time.

    Raises:
        FileNotFoundError: there is none.
    """
    digest = hashlib.sha256()
    with storage.open(name) as file:
        for block in _blocks(file):
            digest.update(block)
    return digest.hexdigest()


def _blocks(file: File) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block
