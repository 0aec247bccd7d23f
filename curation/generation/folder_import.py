"""Images that were made elsewhere: a folder or a zip with one folder per scene, and a manifest.

    manifest.csv                 scene_id, image, model, prompt, seed, licence
    17/premise.png               .png, .jpg, .jpeg or .webp
    17/hypothesis1.png
    17/hypothesis2.jpg

A row without ``image`` is about all images of its scene. Model and licence must be typed; if nobody knows one, the
word is ``unknown``. Prompt and seed may be empty. Nothing is unpacked, and no path from the file is ever written to.
"""

import csv
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from curation.generation.images import MAX_SEED, UNKNOWN_LICENCE
from curation.generation.pictures import MAX_FILE_BYTES, MAX_PIXELS, Png, encode_png
from curation.records import InvalidInput
from hits.domain.answers.storable_json import find_unstorable
from hits.domain.files.csv_download import unescape_formula
from hits.domain.files.zip_entries import MAX_FILES, UnusableZip, is_system_file, list_entries, read_entry
from hits.domain.images.decoding import SUFFIXES, UnusableImage, decode_image

UNKNOWN = UNKNOWN_LICENCE
MANIFEST = "manifest.csv"
PREMISE, FIRST, SECOND = "premise", "hypothesis1", "hypothesis2"
ROLES = (PREMISE, FIRST, SECOND)
COLUMNS = ("scene_id", "image", "model", "prompt", "seed", "licence")
NEEDED_COLUMNS = ("scene_id", "model", "licence")
MAX_MANIFEST_BYTES = 20 * 1024**2
MAX_TEXT_LENGTH = 8_000
_ALIASES = {"scene id": "scene_id", "id": "scene_id", "license": "licence", "role": "image"}
_OTHER_SYSTEM_FILES = {"thumbs.db", "desktop.ini"}
_DEPTH = 2  # <scene>/<image>


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an image comes from, as typed. seed: ``None`` if empty or unknown. line: of the manifest."""

    model: str
    licence: str
    prompt: str
    seed: int | None
    line: int


@dataclass(frozen=True, slots=True)
class ImportedImage:
    """One image. role: premise, hypothesis1 or hypothesis2. location: names its file in messages."""

    scene_id: str
    role: str
    location: str
    origin: Origin
    _read: Callable[[], bytes] = field(repr=False, compare=False)

    def to_png(self) -> Png:
        """Return the image, decoded and encoded again as PNG without metadata.

        Raises:
            InvalidInput: the file is no usable image, or its suffix is another format's.
        """
        data = self._read()
        try:
            picture, _ = decode_image(self.location, data, max_bytes=MAX_FILE_BYTES, max_pixels=MAX_PIXELS)
        except UnusableImage as error:
            raise InvalidInput(str(error)) from error
        return encode_png(picture)


@dataclass(frozen=True, slots=True)
class ImportedFolder:
    """The images of a folder or zip, by scene in the manifest's order, then premise and hypotheses."""

    images: tuple[ImportedImage, ...]
    missing: tuple[str, ...]
    """Images that a scene of the manifest lacks, such as ``17/hypothesis2``."""


@dataclass(frozen=True, slots=True)
class _Files:
    """Files by their paths below the root, and how to read one."""

    names: tuple[str, ...]
    read: Callable[[str, int], bytes]


def read_folder(path: Path, called: str = "") -> ImportedFolder:
    """Return the images of a folder or zip. Names and the manifest are checked; images are read one by one later.

    ``called`` is its name in messages, by default that of the path.

    Raises:
        InvalidInput: the manifest is missing or wrong, a file is unexpected or outside of the folder, a scene has an
            image twice, or an image has no row. The message names the file, and the line or the column.
    """
    called = called or path.name
    if path.is_dir():
        files = _list_folder(path)
    elif path.is_file():
        files = _list_zip(path, called)
    else:
        raise InvalidInput(f"{path}: is neither a folder nor a zip; give one with {MANIFEST} in it")
    if MANIFEST not in files.names:
        raise InvalidInput(f"{called}: has no {MANIFEST}; add one with the columns {', '.join(COLUMNS)}")
    origins = _read_manifest(files.read(MANIFEST, MAX_MANIFEST_BYTES))
    found = _find_images(files.names)
    return _join(files, origins, found)


def _join(
    files: _Files, origins: Mapping[tuple[str, str], Origin], found: Mapping[tuple[str, str], str]
) -> ImportedFolder:
    images: list[ImportedImage] = []
    missing: list[str] = []
    scenes = list(dict.fromkeys(scene for scene, _ in origins))
    without_row = [name for (scene, role), name in found.items() if not _origin(origins, scene, role)]
    if without_row:
        raise InvalidInput(f"{without_row[0]}: has no row in {MANIFEST}; say its model and licence there")
    for scene in scenes:
        for role in ROLES:
            name, origin = found.get((scene, role)), _origin(origins, scene, role)
            if name is None:
                missing.append(f"{scene}/{role}")
            elif origin is not None:
                images.append(ImportedImage(scene, role, name, origin, _reader(files, name)))
    if not images:
        raise InvalidInput(
            f"{MANIFEST}: none of its scenes has an image; put them into <scene_id>/premise.png"
        )
    named = [(scene, role) for scene, role in origins if role and (scene, role) not in found]
    if named:
        scene, role = named[0]
        line = origins[named[0]].line
        raise InvalidInput(
            f"{MANIFEST}, line {line}: {scene}/{role} is not there; add the image or delete the line"
        )
    return ImportedFolder(tuple(images), tuple(missing))


def _origin(origins: Mapping[tuple[str, str], Origin], scene: str, role: str) -> Origin | None:
    return origins.get((scene, role)) or origins.get((scene, ""))


def _reader(files: _Files, name: str) -> Callable[[], bytes]:
    return lambda: files.read(name, MAX_FILE_BYTES)


def _find_images(names: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """Return the images' paths by scene and role."""
    found: dict[tuple[str, str], str] = {}
    for name in names:
        if name == MANIFEST:
            continue
        parts = PurePosixPath(name).parts
        suffix = PurePosixPath(name).suffix.lower()
        role = PurePosixPath(name).stem.lower()
        if len(parts) != _DEPTH or role not in ROLES or suffix not in SUFFIXES:
            raise InvalidInput(
                f"{name}: is not expected; name images <scene_id>/premise, hypothesis1 or hypothesis2 with .png, "
                ".jpg or .webp, and remove other files"
            )
        key = (parts[0], role)
        if key in found:
            raise InvalidInput(f"{name}: {found[key]} is there too; keep one of the two")
        found[key] = name
    return found


def _list_folder(path: Path) -> _Files:
    names = []
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        _check_inside(path, file, name)
        if file.is_dir() or _is_ignored(name):
            continue
        if not file.is_file():
            raise InvalidInput(f"{name}: is no ordinary file; put the image itself there")
        names.append(name)
        if len(names) > MAX_FILES:
            raise InvalidInput(f"{path.name}: has more than {MAX_FILES:,} files; split it")

    def read(name: str, limit: int) -> bytes:
        try:
            with (path / name).open("rb") as file:
                data = file.read(limit + 1)
        except OSError as error:
            raise InvalidInput(f"{name}: cannot be read ({error.strerror}); mend the file") from error
        if len(data) > limit:
            raise InvalidInput(f"{name}: is too large; use {limit // 1024**2} MB or less")
        return data

    return _Files(tuple(names), read)


def _check_inside(folder: Path, file: Path, name: str) -> None:
    try:
        is_inside = file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        raise InvalidInput(f"{name}: leads nowhere; put the file itself there") from error
    if not is_inside:
        raise InvalidInput(f"{name}: leads out of {folder.name}; put the file itself there")


def _list_zip(path: Path, called: str) -> _Files:
    try:
        listed = list_entries(path, called)
    except UnusableZip as error:
        raise InvalidInput(str(error)) from error
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in listed:
        if entries.setdefault(entry.filename, entry) is not entry:
            raise InvalidInput(f"{called}: {entry.filename} is in it twice; keep one of the two")
    # A zip of a folder has that folder around everything.
    manifests = [name for name in entries if PurePosixPath(name).name == MANIFEST]
    root = str(PurePosixPath(manifests[0]).parent) if len(manifests) == 1 else "."
    prefix = "" if root == "." else f"{root}/"
    outside = [name for name in entries if not name.startswith(prefix) and not _is_ignored(name)]
    if outside:
        raise InvalidInput(
            f"{called}: {outside[0]} is not in the folder of {MANIFEST}; put all into one folder"
        )
    inner = {name.removeprefix(prefix): entry for name, entry in entries.items() if not _is_ignored(name)}

    def read(name: str, limit: int) -> bytes:
        try:
            with zipfile.ZipFile(path) as archive:
                return read_entry(archive, inner[name], limit)
        except UnusableZip as error:
            raise InvalidInput(str(error)) from error
        except (zipfile.BadZipFile, OSError) as error:
            raise InvalidInput(
                f"{called}: was changed or is damaged ({error}); make the zip again"
            ) from error

    return _Files(tuple(sorted(inner)), read)


def _is_ignored(name: str) -> bool:
    return is_system_file(name) or PurePosixPath(name).name.lower() in _OTHER_SYSTEM_FILES


def _read_manifest(data: bytes) -> dict[tuple[str, str], Origin]:
    """Return the rows by scene and role; the role is empty in rows about all images of a scene."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{MANIFEST}: is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    origins: dict[tuple[str, str], Origin] = {}
    for line, row in _rows(text):
        scene = row.get("scene_id", "")
        role = row.get("image", "").lower()
        where = f"{MANIFEST}, line {line}"
        for column, problem in find_unstorable(row):
            raise InvalidInput(f"{where}, column {column}: {problem}")
        if not scene:
            raise InvalidInput(f"{where}, column scene_id: is empty; name the scene's folder")
        if role and role not in ROLES:
            raise InvalidInput(
                f"{where}, column image: {role!r} is not known; use {', '.join(ROLES)}, or leave it empty"
            )
        if (scene, role) in origins:
            first = origins[scene, role].line
            raise InvalidInput(f"{where}: scene {scene} is in line {first} already; keep one")
        origins[scene, role] = _read_origin(row, where, line)
    if not origins:
        raise InvalidInput(f"{MANIFEST}: has no rows; write one for each scene")
    return origins


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        header = [_column(name) for name in next(reader, [])]
        _check_header(header)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise InvalidInput(
                    f"{MANIFEST}, line {reader.line_num}: has {len(cells)} cells, but the header has {len(header)}; "
                    "correct it"
                )
            yield reader.line_num, {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    except csv.Error as error:
        raise InvalidInput(f"{MANIFEST}, line {reader.line_num}: is no CSV ({error}); correct it") from error


def _column(name: str) -> str:
    plain = " ".join(name.strip().lower().split())
    return _ALIASES.get(plain, plain.replace(" ", "_"))


def _check_header(header: list[str]) -> None:
    unknown = [name for name in header if name not in COLUMNS]
    missing = [name for name in NEEDED_COLUMNS if name not in header]
    found = ", ".join(header) or "nothing"
    if missing:
        raise InvalidInput(
            f"{MANIFEST}: has no column {missing[0]} (found: {found}); use {', '.join(COLUMNS)}"
        )
    if unknown or len(set(header)) < len(header):
        name = unknown[0] if unknown else next(name for name in header if header.count(name) > 1)
        problem = "is not known" if unknown else "is there twice"
        raise InvalidInput(f"{MANIFEST}: column {name!r} {problem}; use {', '.join(COLUMNS)}")


def _read_origin(row: Mapping[str, str], where: str, line: int) -> Origin:
    for name in ("model", "licence"):
        if not row.get(name):
            raise InvalidInput(f"{where}, column {name}: is empty; if nobody knows it, write {UNKNOWN}")
    for name in ("model", "licence", "prompt"):
        if len(row.get(name, "")) > (MAX_TEXT_LENGTH if name == "prompt" else _MAX_NAME_LENGTHS[name]):
            raise InvalidInput(f"{where}, column {name}: is too long; shorten it")
    prompt = unescape_formula(row.get("prompt", ""))  # a table of prompts from here marks formulas
    return Origin(row["model"], row["licence"], prompt, _read_seed(row.get("seed", ""), where), line)


_MAX_NAME_LENGTHS = {"model": 200, "licence": 120}  # the database holds no longer ones


def _read_seed(text: str, where: str) -> int | None:
    if not text or text.lower() == UNKNOWN:
        return None
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_SEED))
    if is_number and int(text) <= MAX_SEED:
        return int(text)
    raise InvalidInput(
        f"{where}, column seed: {text[:30]!r}; write a whole number up to {MAX_SEED}, or leave it empty"
    )
