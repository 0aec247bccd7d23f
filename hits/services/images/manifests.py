"""Import a folder of images, or a CSV manifest that names them. All rows are checked before the first is stored."""

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hits.domain.images.decoding import SUFFIXES
from hits.models import Image, Project
from hits.services.errors import BadFile
from hits.services.images.import_image import (
    ImageDescription,
    find_image_by_url,
    import_image,
    reencode_image,
)

COLUMNS = {"file", "url", "credit", "licence", "alt", "split", "entity_count", "width", "height"}
MAX_URL_LENGTH = 500
MAX_NUMBER_DIGITS = 9  # digits that fit an integer column of each database
SPLITS = {"", "train", "val", "test"}


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """One image to import. ``location`` names it in messages."""

    location: str
    path: Path
    description: ImageDescription


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import."""

    images: list[Image]
    new: int
    known: int


def import_image_files(*, project: Project, path: Path, limit: int | None = None) -> ImportResult:
    """Import a folder, one image, or a ``.csv`` manifest.

    All images are reencoded before the first one is stored, so a bad row prevents the whole import.

    Raises:
        BadFile: names the file, or the manifest's row and column, and the fix.
    """
    rows = list(_find_rows(path))[:limit]
    if not rows:
        raise BadFile(f"{path}: has no photos; use JPEG, PNG or WebP files")
    problems = [problem for row in rows if (problem := _find_problem(row))] or _find_shared_urls(
        project, rows
    )
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise BadFile(problems[0] + more)
    images, new = [], 0
    for row in rows:
        image, created = import_image(
            project=project, name=row.path.name, data=row.path.read_bytes(), description=row.description
        )
        images.append(image)
        new += created
    return ImportResult(images, new, len(images) - new)


def _find_rows(path: Path) -> Iterator[ManifestRow]:
    if not path.exists():
        raise BadFile(f"{path}: no such file or folder")
    if path.is_dir():
        for file in sorted(path.iterdir()):
            if file.suffix.lower() in SUFFIXES:
                yield ManifestRow(str(file), file, ImageDescription())
    elif path.suffix.lower() == ".csv":
        yield from _manifest_rows(path)
    elif path.suffix.lower() in SUFFIXES:
        yield ManifestRow(str(path), path, ImageDescription())
    else:
        kind = path.suffix.lower() or "file without an ending"
        raise BadFile(
            f"{path}: is a {kind}; use a folder, a JPEG, PNG or WebP file, "
            "or a CSV manifest in the folder of its photos"
        )


def _manifest_rows(path: Path) -> Iterator[ManifestRow]:
    with path.open("rb") as file:
        for location, name, description in read_manifest(str(path), file):
            target = (path.parent / name).resolve()
            if not target.is_relative_to(path.parent.resolve()):
                raise BadFile(
                    f"{location}, column file: leaves the manifest's folder; copy the picture into it"
                )
            yield ManifestRow(location, target, description)


def read_manifest(display_name: str, file: BinaryIO) -> Iterator[tuple[str, str, ImageDescription]]:
    """Yield for each row of a CSV manifest its location for messages, the image's name, and its description.

    Raises:
        BadFile: names the manifest, the row, the column and the fix; also if a row repeats an image.
    """
    row_by_name: dict[str, int] = {}
    try:
        reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), strict=True)
        columns = _parse_header(display_name, next(reader, None))
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            location = f"{display_name}: row {reader.line_num}"
            name, description = _parse_row(location, columns, cells)
            if name in row_by_name:
                raise BadFile(
                    f"{location}, column file: {name} is named in row {row_by_name[name]} already; keep one"
                )
            row_by_name[name] = reader.line_num
            yield location, name, description
    except UnicodeDecodeError as error:
        raise BadFile(f"{display_name}: is not UTF-8 text; save it as UTF-8") from error
    except csv.Error as error:
        raise BadFile(f"{display_name}: is not readable as CSV ({error})") from error


def _parse_header(path: str, header: list[str] | None) -> list[str]:
    columns = [column.strip() for column in header or []]
    if "file" not in columns:
        raise BadFile(
            f"{path}: row 1 has no column “file”; add it, with the path of each photo relative to the manifest"
        )
    repeated = sorted({column for column in columns if column in COLUMNS and columns.count(column) > 1})
    if repeated:
        raise BadFile(f"{path}: row 1 has the column {repeated[0]!r} twice: remove one")
    unknown = sorted(set(columns) - COLUMNS)
    if unknown:
        raise BadFile(
            f"{path}: row 1 has the unknown column {unknown[0]!r}; known: {', '.join(sorted(COLUMNS))}"
        )
    return columns


def _parse_row(location: str, columns: list[str], cells: list[str]) -> tuple[str, ImageDescription]:
    if len(cells) != len(columns):
        raise BadFile(
            f"{location} has {len(cells)} values, the header has {len(columns)}: add or remove commas"
        )
    values = {column: cell.strip() for column, cell in zip(columns, cells, strict=True)}
    for column, text in values.items():
        if "\x00" in text:
            raise BadFile(f"{location}, column {column}: contains a NUL character; remove it")
    if not values["file"]:
        raise BadFile(f"{location}, column file: is empty")
    return values["file"], parse_description(location, values)


def parse_description(location: str, values: Mapping[str, str]) -> ImageDescription:
    """Return the description in a row or a form; the keys are a manifest's columns.

    Raises:
        BadFile: names the column and the fix.
    """
    if values.get("split", "") not in SPLITS:
        raise BadFile(f"{location}, column split: {values['split']!r} is unknown; use train, val or test")
    return ImageDescription(
        source_url=_parse_url(location, values.get("url", "")),
        credit=values.get("credit", ""),
        licence=values.get("licence", ""),
        alt=values.get("alt", ""),
        split=values.get("split", ""),
        entity_count=_parse_number(location, values, "entity_count"),
        stated_width=_parse_number(location, values, "width"),
        stated_height=_parse_number(location, values, "height"),
    )


def description_fields(description: ImageDescription) -> dict[str, str | int | None]:
    """Return a description by a manifest's columns, the inverse of ``parse_description``."""
    return {
        "url": description.source_url,
        "credit": description.credit,
        "licence": description.licence,
        "alt": description.alt,
        "split": description.split,
        "entity_count": description.entity_count,
        "width": description.stated_width,
        "height": description.stated_height,
    }


def _parse_url(location: str, url: str) -> str:
    """Return the URL of an image's source, which releases publish."""
    if url and not (url.startswith(("https://", "http://")) and len(url) <= MAX_URL_LENGTH):
        raise BadFile(
            f"{location}, column url: {url[:40]!r} is not a web address of at most {MAX_URL_LENGTH} characters"
        )
    return url


def _parse_number(location: str, values: Mapping[str, str], column: str) -> int | None:
    text = values.get(column, "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit():
        raise BadFile(f"{location}, column {column}: {text!r} is not a whole number")
    if len(text) > MAX_NUMBER_DIGITS:
        raise BadFile(f"{location}, column {column}: {text[:20]}… is too large a number")
    return int(text)


def _find_shared_urls(project: Project, rows: list[ManifestRow]) -> list[str]:
    """Return problems of URLs that two images share, since rows of a release name images by URL."""
    row_by_url: dict[str, ManifestRow] = {}
    problems = []
    for row in rows:
        url = row.description.source_url
        if not url:
            continue
        earlier, existing = row_by_url.setdefault(url, row), find_image_by_url(project, url)
        if existing is not None and existing.original_sha256 != _file_sha256(row):
            owner = f"the image {existing.name}"
        elif earlier is not row and _file_sha256(earlier) != _file_sha256(row):
            owner = earlier.location.rpartition(": ")[2]
        else:
            continue
        problems.append(f"{row.location}, column url: {owner} has the same url; give each photo its own")
    return problems


def _file_sha256(row: ManifestRow) -> str:
    return hashlib.sha256(row.path.read_bytes()).hexdigest()


def _find_problem(row: ManifestRow) -> str:
    try:
        if row.path.exists() and not row.path.is_file():
            return f"{row.location}: {row.path.name} is not a file; name a photo"
        data = row.path.read_bytes()
    except OSError as error:
        return f"{row.location}: {row.path.name} cannot be read ({error.strerror})"
    try:
        reencoded = reencode_image(row.path.name, data)
    except BadFile as error:
        return f"{row.location}: {error}" if row.location != str(row.path) else str(error)
    stated = (row.description.stated_width, row.description.stated_height)
    if None not in stated and stated != (reencoded.width, reencoded.height):
        return (
            f"{row.location}, columns width and height: {stated[0]} × {stated[1]} stated, "
            f"but {row.path.name} is {reencoded.width} × {reencoded.height}"
        )
    return ""
