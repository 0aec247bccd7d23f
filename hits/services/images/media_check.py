"""Compare the files below the media folder with the rows that point at them, and mend what can be mended."""

import hashlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from django.conf import settings

from hits.domain.files.atomic_files import PARTIAL
from hits.models import Image
from hits.selectors.images.stored_files import PHOTO, StoredFile, stored_files
from hits.services.errors import BadFile
from hits.services.images.import_image import SUFFIXES, restore_image
from hits.storage import sha256_of

LEFT_OVER_AFTER = 3600.0  # seconds; what is younger may still be being written


class Fault(StrEnum):
    """What is wrong with a file."""

    MISSING = "missing"
    WRONG_SIZE = "wrong size"
    WRONG_BYTES = "wrong bytes"


@dataclass(frozen=True, slots=True)
class FaultyFile:
    """A file that is not what its row says. detail: sizes or hashes, the row's first."""

    file: StoredFile
    fault: Fault
    detail: str

    def as_json(self) -> dict[str, str]:
        """Return it as a report prints it."""
        found = self.file
        return {
            "kind": found.kind,
            "owner": found.owner,
            "file": found.name,
            "fault": self.fault.value,
            "detail": self.detail,
        }


def faulty_files(files: Iterable[StoredFile] | None = None) -> Iterator[FaultyFile]:
    """Yield each file that is missing, cut off or changed; every byte of the others was read. One file at a time."""
    for file in stored_files() if files is None else files:
        found = _look(file)
        if found is not None:
            yield found


def _look(file: StoredFile) -> FaultyFile | None:
    storage = Image._meta.get_field("file").storage
    try:
        size = storage.size(file.name)
        if file.bytes is not None and size != file.bytes:
            return FaultyFile(file, Fault.WRONG_SIZE, f"{file.bytes} bytes in the row, {size} on the disk")
        sha256 = sha256_of(storage, file.name)
    except FileNotFoundError:
        return FaultyFile(file, Fault.MISSING, "")
    if sha256 != file.sha256:
        return FaultyFile(
            file, Fault.WRONG_BYTES, f"{file.sha256[:16]} in the row, {sha256[:16]} on the disk"
        )
    return None


def restore_photos(faulty: Iterable[FaultyFile], originals: Path) -> set[str]:
    """Write broken photo files anew from the files that they were once imported from; return the names restored.

    A file of the folder is known by the hash that its row kept of it, whatever it is called now.
    """
    wanted = {found.file.name for found in faulty if found.file.kind == PHOTO}
    if not wanted:
        return set()
    restored: set[str] = set()
    for path in sorted(originals.rglob("*")):
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            continue
        data = path.read_bytes()
        rows = Image.objects.filter(original_sha256=hashlib.sha256(data).hexdigest())
        for image in rows:
            if image.file.name in wanted - restored:
                try:
                    restore_image(image=image, name=path.name, data=data)
                except BadFile:
                    continue  # this library encodes it to other bytes than the row has: stays reported
                restored.add(str(image.file.name))
    return restored


def left_over_files(*, now: float | None = None) -> Iterator[Path]:
    """Yield what killed processes left half-written, an hour ago or earlier."""
    limit = (time.time() if now is None else now) - LEFT_OVER_AFTER
    root = Path(settings.MEDIA_ROOT)
    for path in root.rglob(f"*{PARTIAL}") if root.is_dir() else ():
        if path.is_file() and path.stat().st_mtime < limit:
            yield path
