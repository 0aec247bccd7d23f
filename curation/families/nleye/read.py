"""Read a folder in the published layout: an export of ours, verified, or somebody's release, for an import."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from curation.families.nleye.columns import ColumnMap, default_columns
from curation.families.nleye.export import ENDING, IMAGES, PROVENANCE_FILE, sample_line
from curation.families.nleye.rows import ANSWER, EXPLANATION, PROVENANCE, TRIPLET
from curation.files import sha256_if_readable
from curation.records import InvalidInput
from curation.versions.board import HELD, PUBLIC
from curation.versions.proof import check_export_rows
from hits.domain.answers.scene_facets import CATEGORIES, DIRECTIONS, DURATIONS, PARALLEL

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
MAX_TABLE_BYTES = 256 * 1024 * 1024
MAX_NUMBER_DIGITS = 9  # of a sample
_HELD_NAMES = ("seal.jsonl", "annotators.jsonl", PROVENANCE_FILE)


@dataclass(frozen=True, slots=True)
class PublishedTriplet:
    """A line of a table: its number, its place in the file, its values by our fields, and its image files.

    ``extra`` has the columns that no field reads.
    """

    sample_id: int
    location: str
    values: Mapping[str, str]
    gold: int
    explanations: tuple[str, ...]
    images: Mapping[str, Path]
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """All triplets of a folder in the order of their numbers, their split, and the columns that were not read."""

    triplets: tuple[PublishedTriplet, ...]
    splits: Mapping[int, str]
    unread: tuple[str, ...]


def check_export(folder: Path, *, images: Path | None = None) -> int:
    """Verify everything in an exported folder and return its number of triplets.

    Raises:
        InvalidInput: a file or row is broken; the message names it.
    """
    is_held = (folder / HELD).is_dir()
    full = folder / HELD if is_held else folder
    prefix = f"{HELD}/" if is_held else ""
    count = check_export_rows(
        folder,
        [TRIPLET, PROVENANCE, ANSWER, EXPLANATION],
        images=images,
        private_folder=HELD if is_held else "",
        further_files={f"{prefix}{PROVENANCE_FILE}": PROVENANCE},
    )
    for path in sorted(full.glob(f"{TRIPLET}_*.jsonl")):
        _check_table(full, path)
    if is_held:
        _check_public_folder(folder / PUBLIC)
    return count


def _check_table(folder: Path, rows: Path) -> None:
    """Compare a table with the rows as sealed, cell by cell, and its pictures with their hashes."""
    split = rows.stem.removeprefix(f"{TRIPLET}_")
    table = folder / f"{split}{ENDING}"
    lines = _csv_lines(table)
    next(lines, None)  # the header, whose names may be somebody's own
    with rows.open(encoding="utf-8") as file:
        for number, text in enumerate(file, start=2):
            row = json.loads(text)
            found = next(lines, None)
            if found is None:
                raise InvalidInput(f"{table.name}: ends before line {number}; export the version again")
            sample = found[1][0]
            if not _is_number(sample) or found[1] != sample_line(row, int(sample), default_columns()):
                raise InvalidInput(f"{table.name}: line {number} differs from what was sealed")
            _check_pictures(folder, sample, row["images"])
    if next(lines, None) is not None:
        raise InvalidInput(f"{table.name}: has more lines than were sealed; export the version again")


def _check_pictures(folder: Path, sample: str, hashes: Mapping[str, str]) -> None:
    for name in IMAGES:
        path = folder / "images" / sample / f"{name}.png"
        digest = sha256_if_readable(path)
        if digest and digest != hashes[name]:
            raise InvalidInput(f"images/{sample}/{name}.png: differs from the sealed image")


def _check_public_folder(folder: Path) -> None:
    """Check that nothing that tells an answer lies among the published files."""
    for path in folder.rglob("*"):
        if path.name in _HELD_NAMES or path.suffix == ".csv":
            raise InvalidInput(f"{path}: must not be published; export the version again")


def read_table(folder: Path, columns: ColumnMap | None = None) -> PublishedTable:
    """Return the triplets of a folder with ``<split>_set.csv`` and ``images/<sample_id>/``.

    A cell with a web address is never fetched. Values are not changed, so that they can be written back.

    Raises:
        InvalidInput: a table, cell or image is missing or wrong; the message names file and line.
    """
    tables = sorted(folder.glob(f"*{ENDING}"))
    if not tables:
        raise InvalidInput(f"{folder}: has no table such as test{ENDING}; name the folder that has it")
    for table in tables:
        check_inside(folder, table, table.name)
    triplets: dict[int, PublishedTriplet] = {}
    splits: dict[int, str] = {}
    unread: dict[str, None] = {}
    for table in tables:
        for row, extra in _read_table(folder, table, columns or default_columns()):
            other = triplets.setdefault(row.sample_id, row)
            if other is not row:
                raise InvalidInput(
                    f"{row.location}: sample {row.sample_id} was on {other.location}; give each a number"
                )
            splits[row.sample_id] = table.name.removesuffix(ENDING)
            unread |= dict.fromkeys(extra)
    ordered = tuple(triplets[number] for number in sorted(triplets))
    if not ordered:
        raise InvalidInput(f"{tables[0].name}: has no rows; there is nothing to import")
    return PublishedTable(ordered, splits, tuple(unread))


def _read_table(
    folder: Path, table: Path, columns: ColumnMap
) -> Iterator[tuple[PublishedTriplet, Sequence[str]]]:
    lines = _csv_lines(table)
    first = next(lines, None)
    if first is None:
        raise InvalidInput(f"{table.name}: is empty; export it again")
    header = first[1]
    positions, unread = columns.positions(header, table.name)
    for number, cells in lines:
        location = f"{table.name}, line {number}"
        if len(cells) != len(header):
            raise InvalidInput(
                f"{location}: has {len(cells)} values and the header has {len(header)}; correct the line"
            )
        values = {name: cells[position] for name, position in positions.items()}
        extra = {
            name: cells[position]
            for position, name in enumerate(header)
            if position not in positions.values()
        }
        yield _published_triplet(folder, location, values, extra), unread


def _csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each row of a table.

    Raises:
        InvalidInput: it cannot be read as UTF-8 CSV.
    """
    try:
        if path.stat().st_size > MAX_TABLE_BYTES:
            raise InvalidInput(f"{path.name}: is larger than {MAX_TABLE_BYTES >> 20} MB; split it")
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path.name}: cannot be read as UTF-8; save it again") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    number = 1
    try:
        for cells in reader:
            if cells:
                yield number, cells
            number = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(
            f"{path.name}, line {reader.line_num}: is no readable CSV ({error}); save it again"
        ) from error


def _published_triplet(
    folder: Path, location: str, values: Mapping[str, str], extra: Mapping[str, str]
) -> PublishedTriplet:
    sample = values["sample_id"].strip()
    if not _is_number(sample) or not int(sample):
        raise InvalidInput(f"{location}, sample_id: {sample[:40]!r} is no number from 1; correct it")
    _check_facets(location, values)
    gold = values["gold"].strip().removesuffix(".0")
    if gold not in {"1", "2"}:
        raise InvalidInput(f"{location}, gold: {values['gold'][:40]!r} is neither 1 nor 2; correct it")
    for name in ("domain", *(f"{role}_description" for role in IMAGES)):
        if not values[name].strip():
            raise InvalidInput(f"{location}, {name}: is empty; fill it in")
    return PublishedTriplet(
        sample_id=int(sample),
        location=location,
        values=values,
        gold=int(gold),
        explanations=_explanations(location, values.get("explanations", "")),
        images={name: _image_path(folder, sample, name, location) for name in IMAGES},
        extra=extra,
    )


def _is_number(text: str) -> bool:
    """Return whether a text is a number of at most nine plain digits."""
    return text.isascii() and text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS


def _check_facets(location: str, values: Mapping[str, str]) -> None:
    """Check categories. A parallel triplet may have any duration, which measures leave out."""
    known: list[tuple[str, Sequence[str]]] = [
        ("reasoning_category", CATEGORIES),
        ("time_direction", DIRECTIONS),
    ]
    if values["time_direction"].strip().lower() != PARALLEL:
        known.append(("time_duration", DURATIONS))
    for name, allowed in known:
        if values[name].strip().lower() not in allowed:
            raise InvalidInput(
                f"{location}, {name}: {values[name][:40]!r} is not known; use {', '.join(allowed)}"
            )


def _explanations(location: str, cell: str) -> tuple[str, ...]:
    """Return the explanations of a cell: a JSON list, or else one text."""
    if not cell.strip():
        return ()
    if not cell.lstrip().startswith("["):
        return (cell,)
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f'{location}, explanations: is no JSON list; write ["…", "…"]') from error
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise InvalidInput(f'{location}, explanations: is no list of texts; write ["…", "…"]')
    return tuple(found)


def _image_path(folder: Path, sample: str, name: str, location: str) -> Path:
    """Return the image file of a sample. Its number is digits alone, so the path stays in the folder."""
    for suffix in IMAGE_SUFFIXES:
        path = folder / "images" / sample / f"{name}{suffix}"
        if path.is_file():
            check_inside(folder, path, f"{location}: images/{sample}/{path.name}")
            return path
    raise InvalidInput(f"{location}: images/{sample}/{name}.png is missing; add the file")


def check_inside(folder: Path, path: Path, shown: str) -> None:
    """Check that no link leads out of the folder: what lies elsewhere was not meant to be imported."""
    try:
        is_inside = folder.resolve() in path.resolve().parents
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        raise InvalidInput(f"{shown} leads nowhere; put the file itself there") from error
    if not is_inside:
        raise InvalidInput(f"{shown} leaves the folder; copy the file into it")
