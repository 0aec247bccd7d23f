"""Import a folder of pictures, or a CSV manifest that names them. All or nothing is checked first."""

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hits.models import Image, Project
from hits.services.errors import BadFile
from hits.services.images.import_image import SUFFIXES, Description, decode, import_image, url_taken

COLUMNS = {"file", "url", "credit", "licence", "alt", "split", "entity_count", "width", "height"}
LONGEST_URL = 500
LONGEST_NUMBER = 9  # digits, which every database's integer column takes
SPLITS = {"", "train", "val", "test"}


@dataclass(frozen=True, slots=True)
class Row:
    """One picture to import. ``place`` names it in messages."""

    place: str
    path: Path
    about: Description


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import."""

    images: list[Image]
    new: int
    known: int


def import_path(*, project: Project, path: Path, limit: int | None = None) -> Imported:
    """Import a folder, one picture, or a ``.csv`` manifest.

    Every picture is decoded before the first one is stored, so a bad row leaves nothing half-written.

    Raises:
        BadFile: names the file, or the manifest's row and column, and the mend.
    """
    rows = list(_rows(path))[:limit]
    if not rows:
        raise BadFile(f"{path}: holds no pictures; use JPEG, PNG or WebP files")
    problems = [problem for row in rows if (problem := _problem(row))] or _shared_urls(project, rows)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise BadFile(problems[0] + more)
    images, new = [], 0
    for row in rows:
        image, created = import_image(
            project=project, name=row.path.name, data=row.path.read_bytes(), about=row.about
        )
        images.append(image)
        new += created
    return Imported(images, new, len(images) - new)


def _rows(path: Path) -> Iterator[Row]:
    if not path.exists():
        raise BadFile(f"{path}: there is no such file or folder")
    if path.is_dir():
        for file in sorted(path.iterdir()):
            if file.suffix.lower() in SUFFIXES:
                yield Row(str(file), file, Description())
    elif path.suffix.lower() == ".csv":
        yield from _manifest(path)
    elif path.suffix.lower() in SUFFIXES:
        yield Row(str(path), path, Description())
    else:
        kind = path.suffix.lower() or "file without an ending"
        raise BadFile(
            f"{path}: is a {kind}; use a folder, a JPEG, PNG or WebP file, "
            "or a CSV manifest that lies beside its photos"
        )


def _manifest(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for place, name, about in read_manifest(str(path), file):
            found = (path.parent / name).resolve()
            if not found.is_relative_to(path.parent.resolve()):
                raise BadFile(f"{place}, column file: leaves the manifest's folder; copy the picture into it")
            yield Row(place, found, about)


def read_manifest(called: str, file: BinaryIO) -> Iterator[tuple[str, str, Description]]:
    """Yield what each row of a CSV manifest says: its place for messages, the picture's name, and the rest.

    Raises:
        BadFile: names the manifest, the row and the column, and the mend; also for a picture that is named twice.
    """
    named: dict[str, int] = {}
    try:
        reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), strict=True)
        columns = _header(called, next(reader, None))
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            place = f"{called}: row {reader.line_num}"
            name, about = _manifest_row(place, columns, cells)
            if name in named:
                raise BadFile(f"{place}, column file: {name} is named in row {named[name]} already; keep one")
            named[name] = reader.line_num
            yield place, name, about
    except UnicodeDecodeError as error:
        raise BadFile(f"{called}: is not UTF-8 text; save it again as UTF-8") from error
    except csv.Error as error:
        raise BadFile(f"{called}: is no readable CSV ({error})") from error


def _header(path: str, header: list[str] | None) -> list[str]:
    columns = [column.strip() for column in header or []]
    if "file" not in columns:
        raise BadFile(
            f"{path}: row 1 has no column called file; it names each picture, relative to the manifest"
        )
    twice = sorted({column for column in columns if column in COLUMNS and columns.count(column) > 1})
    if twice:
        raise BadFile(f"{path}: row 1 has the column {twice[0]!r} twice: remove one")
    unknown = sorted(set(columns) - COLUMNS)
    if unknown:
        raise BadFile(
            f"{path}: row 1 has the unknown column {unknown[0]!r}; known: {', '.join(sorted(COLUMNS))}"
        )
    return columns


def _manifest_row(place: str, columns: list[str], cells: list[str]) -> tuple[str, Description]:
    if len(cells) != len(columns):
        raise BadFile(f"{place} has {len(cells)} values, the header has {len(columns)}: add or remove commas")
    values = {column: cell.strip() for column, cell in zip(columns, cells, strict=True)}
    for column, text in values.items():
        if "\x00" in text:
            raise BadFile(f"{place}, column {column}: holds a NUL character; remove it")
    if not values["file"]:
        raise BadFile(f"{place}, column file: is empty")
    return values["file"], described(place, values)


def described(place: str, values: Mapping[str, str]) -> Description:
    """Return what a row, or a form, says of one picture, by the names of a manifest's columns.

    Raises:
        BadFile: names the column and the mend.
    """
    if values.get("split", "") not in SPLITS:
        raise BadFile(f"{place}, column split: {values['split']!r} is unknown; use train, val or test")
    return Description(
        source_url=_address(place, values.get("url", "")),
        credit=values.get("credit", ""),
        licence=values.get("licence", ""),
        alt=values.get("alt", ""),
        split=values.get("split", ""),
        entity_count=_number(place, values, "entity_count"),
        stated_width=_number(place, values, "width"),
        stated_height=_number(place, values, "height"),
    )


def fields_of(about: Description) -> dict[str, str | int | None]:
    """Return a description by the names of a manifest's columns, the other way round than ``described``."""
    return {
        "url": about.source_url,
        "credit": about.credit,
        "licence": about.licence,
        "alt": about.alt,
        "split": about.split,
        "entity_count": about.entity_count,
        "width": about.stated_width,
        "height": about.stated_height,
    }


def _address(place: str, text: str) -> str:
    """Return where a picture comes from; it is published, and readers will follow it."""
    if text and not (text.startswith(("https://", "http://")) and len(text) <= LONGEST_URL):
        raise BadFile(
            f"{place}, column url: {text[:40]!r} is no web address of up to {LONGEST_URL} characters"
        )
    return text


def _number(place: str, values: Mapping[str, str], column: str) -> int | None:
    text = values.get(column, "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit():
        raise BadFile(f"{place}, column {column}: {text!r} is no whole number")
    if len(text) > LONGEST_NUMBER:
        raise BadFile(f"{place}, column {column}: {text[:20]}… is too large a number")
    return int(text)


def _shared_urls(project: Project, rows: list[Row]) -> list[str]:
    """Find addresses that stand for two pictures: the rows of a release could not be told apart."""
    first: dict[str, Row] = {}
    problems = []
    for row in rows:
        url = row.about.source_url
        if not url:
            continue
        earlier, taken = first.setdefault(url, row), url_taken(project, url)
        if taken is not None and taken.original_sha256 != _digest(row):
            owner = f"the image {taken.name}"
        elif earlier is not row and _digest(earlier) != _digest(row):
            owner = earlier.place.rpartition(": ")[2]
        else:
            continue
        problems.append(f"{row.place}, column url: is that of {owner} too; give each its own")
    return problems


def _digest(row: Row) -> str:
    return hashlib.sha256(row.path.read_bytes()).hexdigest()


def _problem(row: Row) -> str:
    try:
        if row.path.exists() and not row.path.is_file():
            return f"{row.place}: {row.path.name} is no file but a folder or a pipe; name a picture"
        data = row.path.read_bytes()
    except OSError as error:
        return f"{row.place}: {row.path.name} cannot be read ({error.strerror})"
    try:
        decoded = decode(row.path.name, data)
    except BadFile as error:
        return f"{row.place}: {error}" if row.place != str(row.path) else str(error)
    stated = (row.about.stated_width, row.about.stated_height)
    if None not in stated and stated != (decoded.width, decoded.height):
        return (
            f"{row.place}, columns width and height: {stated[0]} × {stated[1]} stated, "
            f"but {row.path.name} is {decoded.width} × {decoded.height}"
        )
    return ""
