"""Compare the files below the media folder with their rows, and restore what can be restored."""

import hashlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from django.conf import settings

from hits.domain.files.atomic_files import PARTIAL_SUFFIX
from hits.domain.images.decoding import SUFFIXES
from hits.models import Image
from hits.selectors.images.stored_files import PHOTO, StoredFile, referenced_files
from hits.services.errors import BadFile
from hits.services.images.import_image import restore_image_file_if_faulty
from hits.storage import stored_sha256

LEFTOVER_AGE_SECONDS = 3600.0  # seconds; a process may still write a younger file


class Fault(StrEnum):
    """The fault of a file."""

    MISSING = "missing"
    WRONG_SIZE = "wrong size"
    WRONG_BYTES = "wrong bytes"


@dataclass(frozen=True, slots=True)
class FaultyFile:
    """A file that differs from its row. detail: sizes or hashes, the row's first."""

    file: StoredFile
    fault: Fault
    detail: str

    def as_json(self) -> dict[str, str]:
        """Return the file as a row of the report."""
        found = self.file
        return {
            "kind": found.kind,
            "owner": found.owner,
            "file": found.name,
            "fault": self.fault.value,
            "detail": self.detail,
        }


def find_faulty_files() -> Iterator[FaultyFile]:
    """Yield each missing, truncated or changed file; every byte of every file is read."""
    for file in referenced_files():
        found = _find_file_fault(file)
        if found is not None:
            yield found


def _find_file_fault(file: StoredFile) -> FaultyFile | None:
    storage = Image._meta.get_field("file").storage
    try:
        size = storage.size(file.name)
        if file.bytes is not None and size != file.bytes:
            return FaultyFile(file, Fault.WRONG_SIZE, f"{file.bytes} bytes in the row, {size} on the disk")
        sha256 = stored_sha256(storage, file.name)
    except FileNotFoundError:
        return FaultyFile(file, Fault.MISSING, "")
    if sha256 != file.sha256:
        return FaultyFile(
            file, Fault.WRONG_BYTES, f"{file.sha256[:16]} in the row, {sha256[:16]} on the disk"
        )
    return None


def restore_photos(faulty: Iterable[FaultyFile], originals_folder: Path) -> set[str]:
    """Restore faulty photo files from their original files; return the names of the restored files.

    The row's hash identifies an original file, whatever its name is.
    """
    names = {found.file.name for found in faulty if found.file.kind == PHOTO}
    if not names:
        return set()
    restored: set[str] = set()
    for path in sorted(originals_folder.rglob("*")):
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            continue
        data = path.read_bytes()
        rows = Image.objects.filter(original_sha256=hashlib.sha256(data).hexdigest())
        for image in rows:
            if image.file.name in names - restored:
                try:
                    restore_image_file_if_faulty(image=image, name=path.name, data=data)
                except BadFile:
                    continue  # this library encodes it to other bytes than the row's: the file stays faulty
                restored.add(str(image.file.name))
    return restored


def find_leftover_files() -> Iterator[Path]:
    """Yield the partial files that killed processes left at least an hour ago."""
    limit = time.time() - LEFTOVER_AGE_SECONDS
    root = Path(settings.MEDIA_ROOT)
    for path in root.rglob(f"*{PARTIAL_SUFFIX}") if root.is_dir() else ():
        if path.is_file() and path.stat().st_mtime < limit:
            yield path
