"""Read a file of units: UTF-8 text with one JSON object per line (JSON Lines, jsonlines.org)."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from hits.domain.answers.storable_json import find_unstorable

MAX_LINE = 1_048_576  # bytes; a set of twenty candidates has about four thousand
MAX_BYTES = 67_108_864
MAX_UNITS = 100_000
MAX_PROBLEMS = 20  # of a file; more are only counted
PHOTO_PREFIX = "photo:"
MAX_NAME = 255
MAX_DIGITS = 4000
MAX_KEY = 80
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class UnitLine:
    """The number of a line, from 1, and its object."""

    number: int
    content: dict[str, Any]


class UnitFileError(ValueError):
    """A file that cannot be used; ``problems`` names line, field and fix of the first ones."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems[:MAX_PROBLEMS]
        more = len(problems) - 1
        super().__init__(problems[0] + (f" (and {more} more)" if more else ""))


def read_lines_and_problems(file: BinaryIO) -> tuple[list[UnitLine], list[str]]:
    """Return the valid lines of a file, and the problems of the others.

    Raises:
        UnitFileError: the file is empty or too large.
    """
    lines: list[UnitLine] = []
    problems: list[str] = []
    for number, raw in enumerate(_raw_lines(file), start=1):
        if number > MAX_UNITS:
            raise UnitFileError([f"there are more than {MAX_UNITS:,} lines; launch them as several batches"])
        try:
            lines.append(UnitLine(number, _parse_object(raw.removeprefix(_BOM) if number == 1 else raw)))
        except ValueError as error:
            problems.append(f"line {number}: {error}")
    if not lines and not problems:
        raise UnitFileError(["the file is empty; write one unit per line"])
    return lines, problems


def _raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield each line, cut shortly after the allowed length."""
    total = 0
    while raw := file.readline(MAX_LINE + 2):
        total += len(raw)
        if len(raw) > MAX_LINE and not raw.endswith(b"\n"):
            total += _skip_line(file)
        if total > MAX_BYTES:
            raise UnitFileError([f"the file has more than {MAX_BYTES:,} bytes; launch it as several batches"])
        yield raw


def _skip_line(file: BinaryIO) -> int:
    """Skip the rest of a line that is too long; return its number of bytes."""
    total = 0
    while raw := file.readline(MAX_LINE):
        total += len(raw)
        if raw.endswith(b"\n") or total > MAX_BYTES:
            break
    return total


def _parse_object(raw: bytes) -> dict[str, Any]:
    if len(raw.rstrip(b"\r\n")) > MAX_LINE:
        raise ValueError(f"is longer than {MAX_LINE:,} bytes; write one unit per line")
    if not raw.strip():
        raise ValueError("is empty; delete it")
    if b"\r" in raw.rstrip(b"\r\n"):
        raise ValueError("has carriage returns inside; save the file with line feeds between its lines")
    try:
        found = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_refuse_repeated_keys,
            parse_constant=_refuse_constant,
            parse_int=_parse_integer,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8; save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON at character {error.pos + 1}: {error.msg}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply; write the unit as its kind's example does") from error
    if not isinstance(found, dict):
        raise ValueError('is not a JSON object; write it as {"field": value}')
    _check_unit(found)
    return found


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{repeated}: occurs twice; write it once")
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number; write a number")


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:  # Python's own limit
        raise ValueError(f"a number has more than {MAX_DIGITS:,} digits; write a smaller one")
    return int(digits)


def _check_unit(unit: dict[str, Any]) -> None:
    """Refuse values that no database can store, and names that no photo can have."""
    for path, problem in find_unstorable(unit):
        raise ValueError(f"{path}: {problem}" if path else problem)
    if any(len(name) > MAX_NAME for name in photo_names(unit)):
        raise ValueError(f"a photo’s name is longer than {MAX_NAME} characters; write its file name")


def photo_names(value: Any) -> Iterator[str]:
    """Yield the names after ``photo:`` in all texts of a unit."""
    if isinstance(value, str) and value.startswith(PHOTO_PREFIX):
        yield value.removeprefix(PHOTO_PREFIX)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from photo_names(item)


def resolve_photos(value: Any, find: Callable[[str], Any]) -> Any:
    """Return a unit with each ``photo:NAME`` replaced by ``find(NAME)``."""
    if isinstance(value, str) and value.startswith(PHOTO_PREFIX):
        return find(value.removeprefix(PHOTO_PREFIX))
    if isinstance(value, dict):
        return {key: resolve_photos(item, find) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve_photos(item, find) for item in value]
    return value
