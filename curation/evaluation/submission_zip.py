"""The zip of a submission to a leaderboard: its rules, whatever its files hold. It is read in memory, never unpacked.

    test_set_predictions.zip
        test_set_predictions/<file>

The published README calls the zip and its folder ``test_set_submission``, the published validator requires
``test_set_predictions``: both names are accepted.
"""

import difflib
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from curation.evaluation.inputs import describe_ids
from curation.records import InvalidInput

FOLDER, README_FOLDER = "test_set_predictions", "test_set_submission"
ZIP_NAME = f"{FOLDER}.zip"
# Browsers number repeated downloads: "test_set_predictions (1).zip" is accepted too.
_ZIP_NAME_PATTERN = re.compile(rf"({FOLDER}|{README_FOLDER})( ?\(\d+\))?\.zip")
_IGNORED_FILE_PATTERN = re.compile(r"__MACOSX/.*|(.*/)?(\.DS_Store|Thumbs\.db|desktop\.ini|\._[^/]*)")
MAX_ENTRIES = 500
HEADER_BYTES = 16_384  # of a file
_ENCRYPTED = 0x1
# Python's zip reader raises these errors for damaged files. InvalidInput is a ValueError too, and is handled before.
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)
_PATH_DEPTH = 2


@dataclass(frozen=True, slots=True)
class ZipLayout:
    """The files of a submission.

    names: of the files, without suffix, in the order of messages. suffixes: those that a file may have; the first is
    the published one. save_hint: how to save a file of another kind. max_bytes: of the zip, packed or unpacked.
    """

    names: Sequence[str]
    suffixes: tuple[str, ...]
    save_hint: str
    max_bytes: int
    example: str

    @property
    def suffix(self) -> str:
        """The published suffix."""
        return self.suffixes[0]


@dataclass(frozen=True, slots=True)
class OpenZip:
    """An open submission: its files by name without suffix, and notes about accepted deviations."""

    archive: zipfile.ZipFile
    files: Mapping[str, zipfile.ZipInfo]
    notes: tuple[str, ...]

    def read(self, name: str, max_bytes: int) -> bytes:
        """Return a file's unpacked bytes, of which ``max_bytes`` are needed at most.

        The zip's header may understate their number, so reading is limited too.

        Raises:
            InvalidInput: the file is larger.
        """
        info = self.files[name]
        limit = max_bytes + HEADER_BYTES
        if info.file_size > limit:
            raise InvalidInput(
                f"{info.filename}: {info.file_size} bytes unpacked, but its scores need at most {limit}; "
                "save one number per test id"
            )
        with self.archive.open(info) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise InvalidInput(f"{info.filename}: is larger than the zip's header says; zip the folder again")
        return data


def is_zip_name(name: str) -> bool:
    """Whether a submission may have this file name: the published one, the README's, or a browser's numbered copy."""
    return bool(_ZIP_NAME_PATTERN.fullmatch(name))


@contextmanager
def open_submission(path: Path, *, file_name: str, layout: ZipLayout) -> Iterator[OpenZip]:
    """Open a submission and check its files' names.

    Args:
        path: the stored zip. file_name: the zip's name as it was uploaded.

    Raises:
        InvalidInput: the zip cannot be read, also while it is open. The message names the file, what was found and
            what was expected.
    """
    name = PurePosixPath(file_name.replace("\\", "/")).name
    if not is_zip_name(name):
        raise InvalidInput(f"{name or 'the file'}: is not called {ZIP_NAME}; rename it and send it again")
    if path.stat().st_size > layout.max_bytes:
        raise InvalidInput(
            f"{name}: has {path.stat().st_size} bytes, more than all scores need; "
            "include only the predictions"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            files, notes = _list_files(archive, name, layout)
            yield OpenZip(archive, files, tuple(notes))
    except InvalidInput:
        raise
    except _ZIP_ERRORS as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{name}: is not a complete zip file ({reason}); zip the folder again") from error


def _list_files(
    archive: zipfile.ZipFile, name: str, layout: ZipLayout
) -> tuple[dict[str, zipfile.ZipInfo], list[str]]:
    """Return the zip's files by name without suffix, and notes about accepted deviations."""
    entries = [info for info in archive.infolist() if not info.is_dir()]
    if len(entries) > MAX_ENTRIES:
        raise InvalidInput(
            f"{name}: contains {len(entries)} files; include only the {len(layout.names)} prediction files"
        )
    files: dict[str, zipfile.ZipInfo] = {}
    folders: set[str] = set()
    for info in entries:
        if _IGNORED_FILE_PATTERN.fullmatch(info.filename):
            continue
        folder, stem = _locate_file(info, layout)
        if stem in files:
            other = files[stem].filename
            raise InvalidInput(f"{info.filename}: {other} is included too; keep one of the two")
        files[stem] = info
        folders.add(folder)
    if len(folders) > 1:
        raise InvalidInput(f"{name}: has folders {' and '.join(sorted(folders))}; put all files in {FOLDER}")
    odd = {name.partition(".")[0].partition(" ")[0], *folders} - {FOLDER}
    notes = [f"{README_FOLDER} is the name in the README; the published validator expects {FOLDER}."]
    return files, notes if odd else []


def _locate_file(info: zipfile.ZipInfo, layout: ZipLayout) -> tuple[str, str]:
    """Return the folder and the name without suffix of one file of the zip."""
    name = info.filename
    parts = PurePosixPath(name).parts
    if not name.isprintable():
        raise InvalidInput(f"{name!r}: has unprintable characters; use the names of the published layout")
    if "\\" in name or name.startswith("/") or ".." in parts or re.match(r"[A-Za-z]:", name):
        raise InvalidInput(
            f"{name!r}: is outside of the zip's folder; name the files {FOLDER}/{layout.example} and so on"
        )
    if info.flag_bits & _ENCRYPTED:
        raise InvalidInput(f"{name}: is encrypted; zip the folder without a password")
    hint = f"zip the folder {FOLDER} itself: zip -r {ZIP_NAME} {FOLDER}"
    if len(parts) < _PATH_DEPTH:
        raise InvalidInput(f"{name}: is not in a folder; {hint}")
    if len(parts) > _PATH_DEPTH:
        raise InvalidInput(f"{name}: is {len(parts) - 1} folders deep instead of one; {hint}")
    if parts[0] not in {FOLDER, README_FOLDER}:
        raise InvalidInput(f"{name}: the folder is called {parts[0]}; rename it to {FOLDER}")
    stem, kind = PurePosixPath(name).stem, PurePosixPath(name).suffix
    if stem not in layout.names:
        raise InvalidInput(f"{name}: {_describe_unexpected(stem, layout)}")
    if kind not in layout.suffixes:
        raise InvalidInput(f"{name}: is not a {layout.suffix} file; {layout.save_hint}")
    return parts[0], stem


def _describe_unexpected(stem: str, layout: ZipLayout) -> str:
    near = difflib.get_close_matches(stem, layout.names, n=1)
    known = describe_ids(layout.names)
    hint = f"rename it to {near[0]}{layout.suffix}" if near else f"remove it; prediction files are {known}"
    return f"is not a file of this leaderboard's submissions; {hint}"
