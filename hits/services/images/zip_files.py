"""The photos and the manifest of a zip, checked before anything is unpacked."""

import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hits.domain.files import zip_entries
from hits.domain.images.decoding import SUFFIXES
from hits.services.errors import BadFile


@dataclass(frozen=True, slots=True)
class ZipContents:
    """The photos of a zip in the order of their names, and its CSV manifest, if any."""

    photos: tuple[zipfile.ZipInfo, ...]
    manifest: zipfile.ZipInfo | None


def read_zip_contents(path: Path, display_name: str) -> ZipContents:
    """Return the contents of a zip.

    Args:
        path: the stored file.
        display_name: the uploaded file's name, which starts each message.

    Raises:
        BadFile: it is not a zip, is encrypted, too large, or has a link, a name outside of it, several CSV files or
            no photo; the message names the entry and the fix.
    """
    try:
        entries = zip_entries.list_entries(path, display_name)
    except zip_entries.UnusableZip as error:
        raise BadFile(str(error)) from error
    photos = sorted(
        (entry for entry in entries if _suffix(entry) in SUFFIXES), key=lambda entry: entry.filename
    )
    manifests = [entry for entry in entries if _suffix(entry) == ".csv"]
    if len(manifests) > 1:
        names = " and ".join(entry.filename for entry in manifests[:2])
        raise BadFile(f"{display_name}: has {len(manifests)} CSV files ({names}); keep one manifest")
    if not photos:
        raise BadFile(f"{display_name}: has no photos; add JPEG, PNG or WebP files")
    return ZipContents(tuple(photos), manifests[0] if manifests else None)


def read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    """Return an entry of the zip, read up to ``limit`` bytes.

    Raises:
        BadFile: it is larger than the limit, or damaged.
    """
    try:
        return zip_entries.read_entry(archive, entry, limit)
    except zip_entries.UnusableZip as error:
        raise BadFile(str(error)) from error


def _suffix(entry: zipfile.ZipInfo) -> str:
    return PurePosixPath(entry.filename).suffix.lower()
