"""The list of files of a zip from outside, checked before anything is unpacked.

No file is written by a name from the zip. Entries are read one by one into memory, up to a limit.
"""

import stat
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

MAX_FILES = 20_000
MAX_DIRECTORY_BYTES = 16 * 1024 * 1024  # bytes of the zip's list of files, which is read whole
MAX_UNPACKED_BYTES = 64 * 1024**3
_END = struct.Struct("<4s4H2LH")  # APPNOTE.TXT 6.3.10, 4.3.16: end of central directory record
_END_SIGNATURE = b"PK\x05\x06"
_END64 = struct.Struct("<4sQ2H2L4Q4sLQL")  # 4.3.14 and 4.3.15: the record of large zips, and its locator
_END64_SIGNATURES = (b"PK\x06\x06", b"PK\x06\x07")
_MAX_COMMENT_BYTES = 0xFFFF
_ENCRYPTED = 0x1
# Other methods may need gigabytes of memory before the first byte.
_SUPPORTED_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class UnusableZip(ValueError):
    """A zip, or an entry of it, that cannot be used; the message names it, the reason and the fix."""


def list_entries(path: Path, display_name: str) -> list[zipfile.ZipInfo]:
    """Return the files of a zip without folders and without files of operating systems.

    Args:
        path: the stored file.
        display_name: the uploaded file's name, which starts each message.

    Raises:
        UnusableZip: it is not a zip, is encrypted or too large, or has a link or a name outside of it.
    """
    _check_directory_size(path, display_name)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
    except (zipfile.BadZipFile, ValueError, struct.error, OSError, NotImplementedError) as error:
        raise UnusableZip(f"{display_name}: is damaged ({error}); make the zip again") from error
    if len(entries) > MAX_FILES:
        raise _too_many_files_error(display_name)
    for entry in entries:
        _check_entry(entry, display_name)
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
        limit = MAX_UNPACKED_BYTES // 1024**3
        raise UnusableZip(f"{display_name}: unpacks to more than {limit} GB; split it")
    return [entry for entry in entries if not is_system_file(entry.filename)]


def read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    """Return an entry of the zip, read up to ``limit`` bytes.

    Raises:
        UnusableZip: it is larger than the limit, or damaged.
    """
    try:
        with archive.open(entry) as file:
            data = file.read(limit + 1)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise UnusableZip(f"{entry.filename}: cannot be read from the zip ({error})") from error
    except zlib.error as error:
        raise UnusableZip(f"{entry.filename}: is damaged in the zip ({error}); make the zip again") from error
    if len(data) > limit:
        raise UnusableZip(f"{entry.filename}: is too large; use {limit // 1024**2} MB or less")
    return data


def is_system_file(name: str) -> bool:
    """Return whether a file belongs to an operating system: a macOS resource fork or a hidden file."""
    parts = PurePosixPath(name).parts
    return "__MACOSX" in parts or parts[-1].startswith(".")


def _check_directory_size(path: Path, display_name: str) -> None:
    """Check the stated length of the directory before it is read into memory."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _MAX_COMMENT_BYTES - _END.size - _END64.size))
        tail = file.read()
    offset = tail.rfind(_END_SIGNATURE)
    if offset < 0 or len(tail) - offset < _END.size:
        raise UnusableZip(
            f"{display_name}: is not a complete zip; make it again, or upload the photos themselves"
        )
    _, _, _, _, count, directory_bytes, _, _ = _END.unpack_from(tail, offset)
    if offset >= _END64.size:
        end64 = _END64.unpack_from(tail, offset - _END64.size)
        if (end64[0], end64[10]) == _END64_SIGNATURES:  # readers use this record then
            count, directory_bytes = end64[7], end64[8]
    if count > MAX_FILES or directory_bytes > MAX_DIRECTORY_BYTES:
        raise _too_many_files_error(display_name)


def _too_many_files_error(display_name: str) -> UnusableZip:
    return UnusableZip(f"{display_name}: has more than {MAX_FILES:,} files; split it")


def _check_entry(entry: zipfile.ZipInfo, display_name: str) -> None:
    name = entry.filename
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or name[1:2] == ":":
        raise UnusableZip(f"{display_name}: {name!r} points outside the zip; make the zip from a folder")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in {0, stat.S_IFREG}:
        raise UnusableZip(
            f"{display_name}: {name} is a link or a special file; put the photo itself into the zip"
        )
    if not parts.parts:
        raise UnusableZip(f"{display_name}: has a file without a name; make the zip again")
    if entry.compress_type not in _SUPPORTED_METHODS:
        raise UnusableZip(
            f"{display_name}: {name} has an unsupported compression; make the zip with default settings"
        )
    if entry.flag_bits & _ENCRYPTED:
        raise UnusableZip(f"{display_name}: {name} is encrypted; make the zip without a password")
