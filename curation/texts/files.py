"""Files of scores and captions: CSV with a header, or JSON lines."""

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from curation.records import InvalidInput

FIELDS = ("clue", "inference")
Score = tuple[str, str]


def read_scores(path: Path) -> dict[Score, float]:
    """Return scores by (pair's id, field) from rows of ``id``, ``field`` (clue or inference) and ``score`` (0 to 1).

    Raises:
        InvalidInput: a column is missing, a score is not a number from 0 to 1, a field is unknown, or a text has two
            scores; the message names the row and column.
    """
    found: dict[Score, float] = {}
    for location, row in _rows(path, ("id", "field", "score")):
        field = str(row["field"]).strip()
        if field not in FIELDS:
            raise InvalidInput(f"{location}, column field: {field!r}; use {' or '.join(FIELDS)}")
        key = (str(row["id"]).strip(), field)
        if key in found:
            raise InvalidInput(f"{location}: the {field} of {key[0]} is scored twice; keep one row")
        found[key] = _parse_score(row["score"], location)
    if not found:
        raise InvalidInput("scores: the file has no rows; give id, field and score in each")
    return found


def _parse_score(raw: Any, location: str) -> float:
    try:
        value = float(raw) if not isinstance(raw, bool) else math.nan
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value <= 1:
        raise InvalidInput(f"{location}, column score: {str(raw)[:40]!r} is not a number from 0 to 1")
    return value


def read_captions(path: Path) -> dict[str, list[str]]:
    """Return captions by image from rows of ``image`` (its file name) and ``caption``.

    Raises:
        InvalidInput: a column is missing or a value is empty; the message names the row and column.
    """
    found: dict[str, list[str]] = {}
    for location, row in _rows(path, ("image", "caption")):
        image, caption = (str(row[name]).strip() for name in ("image", "caption"))
        for column, value in (("image", image), ("caption", caption)):
            if not value:
                raise InvalidInput(f"{location}, column {column}: is empty; fill it in or leave the row out")
        found.setdefault(image, []).append(caption)
    if not found:
        raise InvalidInput("captions: the file has no rows; give image and caption in each")
    return found


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each row and its location, from JSON lines if the text starts with a brace, else from CSV."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            is_json = file.read(1) == "{"
            file.seek(0)
            yield from _json_rows(file, columns) if is_json else _csv_rows(file, columns)
    except UnicodeDecodeError as error:
        raise InvalidInput("file: is not UTF-8 text; save it again as UTF-8") from error
    except csv.Error as error:
        raise InvalidInput(f"file: is not a readable CSV file ({error})") from error
    except OSError as error:
        raise InvalidInput(f"file: {error.strerror or error}; choose another") from error


def _csv_rows(lines: Iterable[str], columns: tuple[str, ...]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    # A byte order mark is read again after rewinding the file.
    reader = csv.reader((line.removeprefix("\ufeff") for line in lines), strict=True)
    header = [cell.strip().lower() for cell in next(reader, [])]
    missing = [name for name in columns if name not in header]
    if missing:
        raise InvalidInput(f"row 1: has no column {missing[0]}; needed: {', '.join(columns)}")
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        location = f"row {reader.line_num}"
        if len(cells) != len(header):
            counts = f"{len(cells)} values, the header has {len(header)}"
            raise InvalidInput(f"{location}: has {counts}; correct the commas")
        yield location, dict(zip(header, cells, strict=True))


def _json_rows(lines: Iterable[str], columns: tuple[str, ...]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix("\ufeff").strip()
        if not text:
            continue
        location = f"row {number}"
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{location}: is not JSON; write one object per line") from error
        if not isinstance(row, dict):
            raise InvalidInput(f'{location}: is not a JSON object; write for instance {{"{columns[0]}": …}}')
        missing = [name for name in columns if row.get(name) is None]
        if missing:
            raise InvalidInput(f"{location}: has no {missing[0]}; needed: {', '.join(columns)}")
        yield location, row
