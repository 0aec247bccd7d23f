"""Read a JSON file that is one long list record by record, in bounded memory.

``region_descriptions.json`` of Visual Genome is one list of 108,077 records and more than 700 MB. Only one record and
one buffer are held at a time. Each record comes with its place in bytes, so that it can be read again by itself.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from curation.records import InvalidInput

CHUNK = 1 << 20
LONGEST_RECORD = 1 << 26
_SPACE = re.compile(r"[ \t\r\n]*")
_FOLLOWS = ",] \t\r\n"


@dataclass(frozen=True, slots=True)
class Located:
    """A record: its number from 1, its place in the file (bytes) and what it says."""

    number: int
    offset: int
    length: int
    value: Any


def iterate_list(path: Path, *, chunk: int = CHUNK) -> Iterator[Located]:
    """Yield the records of a file that holds one JSON list.

    Args:
        chunk: how many bytes are read at a time; a longer record is gathered from several.

    Raises:
        InvalidInput: unreadable, not UTF-8, no list, a record that is no JSON, or one longer than 64 MiB.
    """
    try:
        with path.open("rb") as file:
            yield from _records(path, _Window(path, file, chunk))
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); check its name") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not UTF-8 text; download it again") from error


def iterate_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (number of the line from 1, value) of a file with one JSON value a line; empty lines are skipped.

    Raises:
        InvalidInput: unreadable, not UTF-8, a line that is no JSON, or one longer than 64 Mi characters.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(_lines(file, path), start=1):
                if line.strip():
                    yield number, parse(line, f"{path}: line {number}")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); check its name") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not UTF-8 text; download it again") from error


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    number = 0
    while line := file.readline(LONGEST_RECORD + 1):
        number += 1
        if len(line) > LONGEST_RECORD:
            raise InvalidInput(
                f"{path}: line {number} is longer than {LONGEST_RECORD:,} characters; give one JSON value a line"
            )
        yield line


def parse(text: str, place: str) -> Any:
    """Return the value of a JSON text; ``place`` begins the message of an error.

    Raises:
        InvalidInput: no JSON, NaN or infinity, or nested too deeply.
    """
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{place}: is no JSON ({error}); download the file again") from error


def read_record(path: Path, offset: int, length: int) -> Any:
    """Return one record again by its place in the file.

    Raises:
        InvalidInput: the file is gone, or something else stands there by now.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            text = file.read(length).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: has changed since it was read; start again") from error
    return parse(text, f"{path}: at byte {offset}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


class _Window:
    """The part of a file that is in memory. ``at`` is the place in ``text``, ``byte`` the same in the file."""

    def __init__(self, path: Path, file: BinaryIO, chunk: int) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._chunk = chunk
        self._ended = False
        self.path = path
        self.text = ""
        self.at = 0
        self.byte = 0
        if self.peek() == "\ufeff":
            self.take(1)

    def more(self) -> bool:
        """Read on; at least as much as is held, so that a long record is not scanned too often."""
        data = self._file.read(max(self._chunk, len(self.text) - self.at))
        self.text = self.text[self.at :] + self._decoder.decode(data, final=not data)
        self.at = 0
        self._ended = not data
        return bool(data)

    def take(self, end: int) -> str:
        """Go on to ``end`` and return what was passed over."""
        passed = self.text[self.at : end]
        self.byte += len(passed) if passed.isascii() else len(passed.encode())
        self.at = end
        return passed

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        while True:
            space = _SPACE.match(self.text, self.at)
            assert space is not None
            self.take(space.end())
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def value(self, number: int) -> Any:
        """Read the value that begins here.

        Raises:
            InvalidInput: it is no JSON or too long.
        """
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
                if self._ended or self._is_whole(value, end):
                    self.take(end)
                    return value
                problem = "it is cut off"
            except (ValueError, RecursionError) as error:
                problem = str(error)
            if len(self.text) - self.at > LONGEST_RECORD:
                raise InvalidInput(
                    f"{self.path}: record {number} is longer than {LONGEST_RECORD >> 20} MiB or no JSON "
                    f"({problem}); give a list of records"
                )
            if not self.more() and self._failed():
                raise InvalidInput(f"{self.path}: record {number} is no JSON ({problem}); download it again")

    def _is_whole(self, value: Any, end: int) -> bool:
        """Whether nothing of the value is still to come: ``0.`` of ``0.5`` reads as the number 0 already."""
        follows = self.text[end : end + 1]
        return bool(follows) and (not isinstance(value, int | float) or follows in _FOLLOWS)

    def _failed(self) -> bool:
        """Whether what is left cannot be read even now that the file has ended."""
        try:
            _DECODER.raw_decode(self.text, self.at)
        except (ValueError, RecursionError):
            return True
        return False


def _records(path: Path, window: _Window) -> Iterator[Located]:
    if window.peek() != "[":
        raise InvalidInput(f"{path}: does not begin with a list; give the published file, unpacked")
    window.take(window.at + 1)
    number = 0
    while window.peek() != "]" or number:
        number += 1
        window.peek()
        begins = window.byte
        value = window.value(number)
        yield Located(number, begins, window.byte - begins, value)
        separator = window.peek()
        if separator == "]":
            break
        if separator != ",":
            raise InvalidInput(
                f"{path}: after record {number} a comma is missing, or the end is cut off; download it again"
            )
        window.take(window.at + 1)
    window.take(window.at + 1)
    if window.peek():
        raise InvalidInput(f"{path}: has more text behind its list; download it again")
