"""Read a file of units: UTF-8 text with one JSON object a line (JSON Lines, jsonlines.org)."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from hits.domain.answers.storable_json import unkept

MAX_LINE = 1_048_576  # bytes; a set of twenty candidates has about four thousand
MAX_BYTES = 67_108_864
MAX_UNITS = 100_000
MOST_PROBLEMS = 20  # said at once
PHOTO = "photo:"
LONGEST_NAME = 255
MOST_DIGITS = 4000
LONGEST_KEY = 80
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file, from 1, and the object on it."""

    number: int
    content: dict[str, Any]


class UnitFileError(ValueError):
    """A file that cannot be used; ``problems`` names line, field and mend of the first of them."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems[:MOST_PROBLEMS]
        more = len(problems) - 1
        super().__init__(problems[0] + (f" (and {more} more)" if more else ""))


def read_lines(file: BinaryIO) -> tuple[list[Line], list[str]]:
    """Return the lines of a file, and what is wrong with the others, line by line.

    Raises:
        UnitFileError: the file is empty, or larger than anything that is meant.
    """
    lines: list[Line] = []
    problems: list[str] = []
    for number, raw in enumerate(_raw_lines(file), start=1):
        if number > MAX_UNITS:
            raise UnitFileError([f"there are more than {MAX_UNITS:,} lines; launch them as several batches"])
        try:
            lines.append(Line(number, _object(raw.removeprefix(_BOM) if number == 1 else raw)))
        except ValueError as error:
            problems.append(f"line {number}: {error}")
    if not lines and not problems:
        raise UnitFileError(["the file is empty; write one unit a line"])
    return lines, problems


def _raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield each line, at most a little more of it than may stand there."""
    total = 0
    while raw := file.readline(MAX_LINE + 2):
        total += len(raw)
        if len(raw) > MAX_LINE and not raw.endswith(b"\n"):
            total += _skipped(file)
        if total > MAX_BYTES:
            raise UnitFileError([f"the file has more than {MAX_BYTES:,} bytes; launch it as several batches"])
        yield raw


def _skipped(file: BinaryIO) -> int:
    """Read over the rest of a line that is too long; return how many bytes that were."""
    total = 0
    while raw := file.readline(MAX_LINE):
        total += len(raw)
        if raw.endswith(b"\n") or total > MAX_BYTES:
            break
    return total


def _object(raw: bytes) -> dict[str, Any]:
    if len(raw.rstrip(b"\r\n")) > MAX_LINE:
        raise ValueError(f"is longer than {MAX_LINE:,} bytes; write one unit a line")
    if not raw.strip():
        raise ValueError("is empty; delete it")
    if b"\r" in raw.rstrip(b"\r\n"):
        raise ValueError("has carriage returns inside; save the file with line feeds between its lines")
    try:
        found = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_constant=_no_number,
            parse_int=_whole_number,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8; save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON at character {error.pos + 1}: {error.msg}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply; write the unit as its kind's example does") from error
    if not isinstance(found, dict):
        raise ValueError('is no JSON object; write it as {"field": value}')
    _check(found)
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice}: stands twice; write it once")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number; write a number")


def _whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:  # Python reads no longer one
        raise ValueError(f"a number has more than {MOST_DIGITS:,} digits; write a smaller one")
    return int(digits)


def _check(unit: dict[str, Any]) -> None:
    """Refuse what no database keeps, and names that no photo can have."""
    for path, problem in unkept(unit):
        raise ValueError(f"{path}: {problem}" if path else problem)
    if any(len(name) > LONGEST_NAME for name in photo_names(unit)):
        raise ValueError(f"a photo’s name is longer than {LONGEST_NAME} characters; write its file name")


def photo_names(value: Any) -> Iterator[str]:
    """Yield the names after ``photo:`` in any text of a unit."""
    if isinstance(value, str) and value.startswith(PHOTO):
        yield value.removeprefix(PHOTO)
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from photo_names(one)


def with_photos(value: Any, find: Callable[[str], Any]) -> Any:
    """Return a unit with what ``find`` gives in the place of each ``photo:NAME``."""
    if isinstance(value, str) and value.startswith(PHOTO):
        return find(value.removeprefix(PHOTO))
    if isinstance(value, dict):
        return {key: with_photos(one, find) for key, one in value.items()}
    if isinstance(value, list):
        return [with_photos(one, find) for one in value]
    return value
