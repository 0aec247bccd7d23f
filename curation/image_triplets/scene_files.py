"""Read written scenes from a file: CSV with a header, or JSON lines. A file with a bad row gives no scene."""

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from curation.records import InvalidInput
from hits.domain.answers.scene_facets import CATEGORIES, DIRECTIONS, DURATIONS
from hits.domain.answers.scene_rules import MAX_DOMAIN_CHARACTERS, clean_scene, scene_key
from hits.domain.answers.storable_json import find_unstorable
from hits.domain.answers.text import TextError, clean_line

REQUIRED = ("premise", "plausible", "implausible", "category", "direction", "duration", "domain", "why")
OPTIONAL = ("culture", "language", "licence", "replaces")
COLUMNS = (*REQUIRED, *OPTIONAL)
MAX_BYTES = 67_108_864
MAX_ROWS = 100_000
MAX_PROBLEMS = 20  # listed of a file; more are counted
MAX_LICENCE_CHARACTERS = 120
MAX_LANGUAGE_CHARACTERS = 10
MAX_SHOWN = 40  # characters of a wrong value in a message
_LANGUAGE_PATTERN = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")
_ID_PATTERN = re.compile(r"[0-9a-f]{32}")
_BLANK_DURATIONS = frozenset({"", "none", "-"})
RawRow = Mapping[str, str]
Problem = tuple[int, str]  # the row, and what follows its number in the message


@dataclass(frozen=True, slots=True)
class WrittenScene:
    """A scene of a file. ``row`` is its line in the file, from 1; ``replaces`` is the id of the scene it revises."""

    premise: str
    plausible: str
    implausible: str
    category: str
    direction: str
    duration: str
    domain: str
    why: str
    culture: str = ""
    language: str = "en"
    licence: str = ""
    replaces: str = ""
    row: int = field(default=0, compare=False)


class SceneFileError(InvalidInput):
    """A file that cannot be used; ``problems`` are one line each, the first ones of the file.

    ``rows``: how many rows are wrong; the message names the first problem and counts the other rows.
    """

    def __init__(self, problems: Sequence[str], rows: int = 1) -> None:
        self.problems = list(problems[:MAX_PROBLEMS])
        self.count = len(problems)
        more = rows - 1
        further = f"; {more:,} more row{' is' if more == 1 else 's are'} wrong" if more else ""
        super().__init__(problems[0] + further)


def read_scenes(path: Path, *, domains: Collection[str] | None = None) -> list[WrittenScene]:
    """Return the scenes of a file, in its order.

    Args:
        path: JSON lines if its text starts with a brace, else CSV.
        domains: the project's domains; without them, any text may be a domain.

    Raises:
        SceneFileError: the file cannot be read, or any of its rows is invalid.
    """
    name = path.name
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise SceneFileError(
                [f"{name}: has {size:,} bytes; split it into files of at most {MAX_BYTES:,}"]
            )
        content = path.read_bytes()
    except OSError as error:
        raise SceneFileError([f"{name}: {error.strerror or error}; choose another file"]) from error
    return parse_scenes(content, name, domains=domains)


def parse_scenes(
    content: bytes, name: str, *, domains: Collection[str] | None = None, max_rows: int = MAX_ROWS
) -> list[WrittenScene]:
    """Return the scenes in the content of a file named ``name``, as ``read_scenes`` does.

    ``max_rows`` is a lower limit where somebody waits for the reply.

    Raises:
        SceneFileError: as ``read_scenes``.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SceneFileError(
            [f"{name}: byte {error.start + 1} is not UTF-8; save the file as UTF-8"]
        ) from error
    numbered = _json_rows(text, name) if text.lstrip().startswith("{") else _csv_rows(text, name)
    rows = list(_limited(numbered, name, max_rows))
    if not rows:
        raise SceneFileError([f"{name}: has no rows; write one scene a row"])
    problems: list[Problem] = []
    scenes = []
    for number, row in rows:
        if isinstance(row, str):
            problems.append((number, row))
            continue
        scene, found = _read_row(row, number, domains)
        problems += [(number, f", {column}: {message}") for column, message in found]
        scenes.append(scene)
    problems += _repeated_rows(scenes)
    if problems:
        ordered = sorted(problems, key=lambda problem: problem[0])
        lines = [f"{name}, row {number}{message}" for number, message in ordered]
        raise SceneFileError(lines, len({number for number, _ in ordered}))
    return scenes


# Rows: the line of a row, and its values; or, as a text, what is wrong with the row as a whole.
NumberedRow = tuple[int, RawRow | str]


def _limited(rows: Iterator[NumberedRow], name: str, max_rows: int) -> Iterator[NumberedRow]:
    """Yield the rows, and refuse a file that has more of them, or more lines, than allowed."""
    for count, (number, row) in enumerate(rows, start=1):
        if count > max_rows or number > MAX_ROWS:
            further = (
                "split it into several files"
                if max_rows == MAX_ROWS
                else "split it, or use manage.py import_scenes"
            )
            raise SceneFileError([f"{name}: has more than {max_rows:,} rows; {further}"])
        yield number, row


def _csv_rows(text: str, name: str) -> Iterator[NumberedRow]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip().lower() for cell in next(reader, [])]
        _check_header(header, name)
        started = reader.line_num + 1
        for cells in reader:
            number, started = started, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                counts = f"has {len(cells)} values and the header has {len(header)}"
                yield number, f": {counts}; correct the commas and quotes"
            else:
                yield number, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise SceneFileError(
            [f"{name}, row {reader.line_num}: is not readable CSV ({error}); save the file as CSV"]
        ) from error


def _check_header(header: Sequence[str], name: str) -> None:
    found = ", ".join(header) or "nothing"
    missing = [column for column in REQUIRED if column not in header]
    if missing:
        raise SceneFileError(
            [f"{name}, row 1: has no column {missing[0]}; add it. The header is: {found[:400]}"]
        )
    unknown = [column for column in header if column not in COLUMNS]
    if unknown:
        raise SceneFileError(
            [
                f"{name}, row 1: the column {unknown[0][:MAX_SHOWN]!r} is unknown; "
                f"delete it, or call it one of {', '.join(COLUMNS)}"
            ]
        )
    repeated = _first_repeated(header)
    if repeated is not None:
        raise SceneFileError([f"{name}, row 1: the column {repeated} occurs twice; keep one"])


def _first_repeated(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _json_rows(text: str, name: str) -> Iterator[NumberedRow]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, _json_row(line)
            except ValueError as error:
                yield number, str(error)


def _json_row(line: str) -> RawRow:
    """Return the values of a line; the message of an error follows the number of the row.

    Raises:
        ValueError: no object with the needed texts.
    """
    try:
        row = json.loads(line, object_pairs_hook=_without_repeated_keys, parse_int=float)
    except json.JSONDecodeError as error:
        raise ValueError(f": is not JSON at character {error.pos + 1}; write one object per line") from error
    except RecursionError as error:
        raise ValueError(": is nested too deeply; write one object of texts per line") from error
    if not isinstance(row, dict):
        raise ValueError(': is not a JSON object; write {"premise": "…", …}')
    unknown = [key for key in row if key not in COLUMNS]
    if unknown:
        raise ValueError(f", {_shown_key(unknown[0])}: is unknown; delete it, or use {', '.join(COLUMNS)}")
    values = {key: value for key, value in row.items() if value is not None}
    wrong = next((key for key, value in values.items() if not isinstance(value, str)), None)
    if wrong is not None:
        raise ValueError(f", {wrong}: is not a text; put it in quotes")
    # Parallel scenes have no duration, so that it may be left out.
    missing = [key for key in REQUIRED if key not in values and key != "duration"]
    if missing:
        raise ValueError(f": has no {missing[0]}; add it. The row has: {', '.join(row) or 'nothing'}")
    return {"duration": "", **values}


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    repeated = _first_repeated([name for name, _ in pairs])
    if repeated is not None:
        raise ValueError(f", {_shown_key(repeated)}: occurs twice; write it once")
    return dict(pairs)


def _read_row(
    row: RawRow, number: int, domains: Collection[str] | None
) -> tuple[WrittenScene, list[tuple[str, str]]]:
    """Return the scene of a row, and its problems as (column, message)."""
    raw = {column: row.get(column, "") for column in COLUMNS}
    # Texts that no database stores are refused by their own messages, not by the database.
    problems = [(path, problem) for path, problem in find_unstorable(raw)]
    values = {column: "" if column in dict(problems) else text for column, text in raw.items()}
    for column, read in _READERS.items():
        try:
            values[column] = read(values[column])
        except TextError as error:
            problems.append((column, str(error)))
            values[column] = ""
    values, wrong = clean_scene(values)
    listed = {column for column, _ in problems}
    if "direction" in listed:
        listed.add("duration")  # whether it fits cannot be said
    problems += [(error.field, error.message) for error in wrong if error.field not in listed]
    if domains is not None and values["domain"]:
        known = next((domain for domain in domains if domain.lower() == values["domain"].lower()), None)
        if known is None:
            problems.append(("domain", f"{_shown(values['domain'])} is unknown; use {', '.join(domains)}"))
        values["domain"] = known or ""
    values["language"] = values["language"] or "en"
    return WrittenScene(**values, row=number), problems


def _choice(choices: Sequence[str], *, blanks: Collection[str] = ()) -> Callable[[str], str]:
    def read(raw: str) -> str:
        value = raw.strip().lower()
        if value in blanks:
            return ""
        if value not in choices:
            problem = f"{_shown(raw)} is unknown" if value else "is empty"
            raise TextError(f"{problem}; use {', '.join(choices)}")
        return value

    return read


def _line(maximum: int, *, required: bool = False) -> Callable[[str], str]:
    def read(raw: str) -> str:
        value = clean_line(raw, maximum=maximum)
        if required and not value:
            raise TextError("is empty; fill it in")
        return value

    return read


def _language(raw: str) -> str:
    value = clean_line(raw, maximum=MAX_LANGUAGE_CHARACTERS)
    if value and not _LANGUAGE_PATTERN.fullmatch(value):
        raise TextError(f"{_shown(value)} is no language code; write for instance en or pt-BR")
    return value


def _scene_id(raw: str) -> str:
    value = raw.strip()
    if value and not _ID_PATTERN.fullmatch(value):
        raise TextError(
            f"{_shown(raw)} is no id of a scene; copy its 32 letters and digits from the scene's page"
        )
    return value


_READERS: Mapping[str, Callable[[str], str]] = {
    "category": _choice(CATEGORIES),
    "direction": _choice(DIRECTIONS),
    "duration": _choice(DURATIONS, blanks=_BLANK_DURATIONS),
    "domain": _line(MAX_DOMAIN_CHARACTERS, required=True),
    "language": _language,
    "licence": _line(MAX_LICENCE_CHARACTERS),
    "replaces": _scene_id,
}


def _shown(text: str) -> str:
    return repr(text[:MAX_SHOWN])


def _shown_key(name: str) -> str:
    """Return a key without quotes; what no page can show, such as half of a surrogate pair, is escaped."""
    return repr(name[:MAX_SHOWN])[1:-1]


def _repeated_rows(scenes: Sequence[WrittenScene]) -> list[Problem]:
    """Return a problem for each row that says the same as an earlier one, or revises the same scene."""
    problems = []
    by_texts: dict[Any, int] = {}
    by_replaced: dict[str, int] = {}
    for scene in scenes:
        texts = (scene.plausible, scene.implausible)
        if scene.premise and all(texts):
            first = by_texts.setdefault(scene_key(scene.premise, texts), scene.row)
            if first != scene.row:
                problems.append(
                    (scene.row, f", premise: the scene repeats row {first}; delete one of the rows")
                )
        if scene.replaces:
            first = by_replaced.setdefault(scene.replaces, scene.row)
            if first != scene.row:
                problems.append(
                    (scene.row, f", replaces: row {first} revises the same scene; keep one revision")
                )
    return problems
