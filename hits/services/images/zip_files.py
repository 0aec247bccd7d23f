"""What lies in a zip of photos, looked at before anything of it is unpacked.

Nothing is ever written by a name from the zip: its photos are read one by one into memory, each no further than a
photo may be large. So what a zip can do is to hold too much, or to lie about what it holds.
"""

import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hits.services.errors import BadFile
from hits.services.images.import_image import SUFFIXES

MOST_FILES = 20_000
LARGEST_DIRECTORY = 16 * 1024 * 1024  # bytes of the zip's list of files, which is read whole
MOST_UNPACKED = 64 * 1024**3
_END = struct.Struct("<4s4H2LH")  # APPNOTE.TXT 6.3.10, 4.3.16: end of central directory record
_END_SIGNATURE = b"PK\x05\x06"
_END64 = struct.Struct("<4sQ2H2L4Q4sLQL")  # 4.3.14 and 4.3.15: the same for large zips, and where it lies
_END64_SIGNATURES = (b"PK\x06\x06", b"PK\x06\x07")
_LONGEST_COMMENT = 0xFFFF
_ENCRYPTED = 0x1
_READ = (
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
)  # others may ask for gigabytes of memory before the first byte


@dataclass(frozen=True, slots=True)
class Listing:
    """The photos of a zip in the order of their names, and the CSV beside them that describes them, if any."""

    photos: tuple[zipfile.ZipInfo, ...]
    manifest: zipfile.ZipInfo | None


def listing_of(path: Path, called: str) -> Listing:
    """Return what a zip holds.

    Args:
        path: where it lies.
        called: how the person who sent it knows it; messages begin with it.

    Raises:
        BadFile: it is no zip, is encrypted, or holds too much, a link, a name that leads out of it, several CSVs or
            no photo; the message names the file in it and the mend.
    """
    _check_end(path, called)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
    except (zipfile.BadZipFile, ValueError, struct.error, OSError, NotImplementedError) as error:
        raise BadFile(f"{called}: is damaged ({error}); make the zip again") from error
    if len(entries) > MOST_FILES:
        raise _too_many(called)
    for entry in entries:
        _check_entry(entry, called)
    if sum(entry.file_size for entry in entries) > MOST_UNPACKED:
        limit = MOST_UNPACKED // 1024**3
        raise BadFile(f"{called}: unpacks to more than {limit} GB; send it in parts")
    entries = [entry for entry in entries if not _is_clutter(entry.filename)]
    photos = sorted(
        (entry for entry in entries if _suffix(entry) in SUFFIXES), key=lambda entry: entry.filename
    )
    lists = [entry for entry in entries if _suffix(entry) == ".csv"]
    if len(lists) > 1:
        names = " and ".join(entry.filename for entry in lists[:2])
        raise BadFile(f"{called}: holds {len(lists)} CSV files ({names}); leave one manifest in it")
    if not photos:
        raise BadFile(f"{called}: holds no photos; put JPEG, PNG or WebP files into it")
    return Listing(tuple(photos), lists[0] if lists else None)


def read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    """Return a file of the zip, read no further than ``limit`` bytes.

    Raises:
        BadFile: it is larger, whatever the zip says of it, or damaged.
    """
    try:
        with archive.open(entry) as file:
            data = file.read(limit + 1)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise BadFile(f"{entry.filename}: cannot be read from the zip ({error})") from error
    except zlib.error as error:
        raise BadFile(f"{entry.filename}: is damaged in the zip ({error}); make the zip again") from error
    if len(data) > limit:
        raise BadFile(f"{entry.filename}: is too large; use {limit // 1024**2} MB or less")
    return data


def _check_end(path: Path, called: str) -> None:
    """Look at how long the list of files says to be, before it is read into memory."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _LONGEST_COMMENT - _END.size - _END64.size))
        tail = file.read()
    at = tail.rfind(_END_SIGNATURE)
    if at < 0 or len(tail) - at < _END.size:
        raise BadFile(f"{called}: is no zip, or was cut off; make it again, or send the photos themselves")
    _, _, _, _, count, directory_bytes, _, _ = _END.unpack_from(tail, at)
    if at >= _END64.size:
        large = _END64.unpack_from(tail, at - _END64.size)
        if (large[0], large[10]) == _END64_SIGNATURES:  # then a reader goes by what it says
            count, directory_bytes = large[7], large[8]
    if count > MOST_FILES or directory_bytes > LARGEST_DIRECTORY:
        raise _too_many(called)


def _too_many(called: str) -> BadFile:
    return BadFile(f"{called}: holds more than {MOST_FILES:,} files; send it in parts")


def _check_entry(entry: zipfile.ZipInfo, called: str) -> None:
    name = entry.filename
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or name[1:2] == ":":
        raise BadFile(f"{called}: holds {name!r}, whose name leads out of the zip; make it from a folder")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in {0, stat.S_IFREG}:
        raise BadFile(f"{called}: {name} is a link or no plain file; put the photo itself into the zip")
    if not parts.parts:
        raise BadFile(f"{called}: holds a file without a name; make the zip again")
    if entry.compress_type not in _READ:
        raise BadFile(f"{called}: {name} is compressed in a rare way; make the zip with the usual settings")
    if entry.flag_bits & _ENCRYPTED:
        raise BadFile(f"{called}: {name} is encrypted; make the zip without a password")


def _is_clutter(name: str) -> bool:
    """Whether a file is what systems put beside photos: macOS's resource forks, hidden files."""
    parts = PurePosixPath(name).parts
    return "__MACOSX" in parts or parts[-1].startswith(".")


def _suffix(entry: zipfile.ZipInfo) -> str:
    return PurePosixPath(entry.filename).suffix.lower()
