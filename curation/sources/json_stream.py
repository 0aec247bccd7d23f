"""Read a JSON file that is one long list or object record by record, in bounded memory.

``region_descriptions.json`` of Visual Genome is one list of 108,077 records and more than 700 MB. Only one record and
one buffer are held at a time. Each record of a list comes with its place in bytes, so that it can be read again by
itself. Whoever reads another grammar, such as one long object, takes ``open_pieces``.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from curation.records import InvalidInput

CHUNK_BYTES = 1 << 20
MAX_RECORD_BYTES = 1 << 26
_SPACE = re.compile(r"[ \t\r\n]*")
_FOLLOWS = ",:]} \t\r\n"


class InvalidJson(ValueError):
    """No whole JSON value stands where one should; the message says why."""


class ValueTooLong(InvalidJson):
    """The value is longer than may be held, or never ends."""


@dataclass(frozen=True, slots=True)
class LocatedRecord:
    """A record: its number from 1, its place in the file (bytes) and what it says."""

    number: int
    offset: int
    length: int
    value: Any


def iterate_list(path: Path, *, chunk: int = CHUNK_BYTES) -> Iterator[LocatedRecord]:
    """Yield the records of a file that holds one JSON list.

    Args:
        chunk: how many bytes are read at a time; a longer record is gathered from several.

    Raises:
        InvalidInput: unreadable, not UTF-8, no list, a record that is no JSON, or one longer than 64 MiB.
    """
    with open_json_reader(path, chunk=chunk, max_length=MAX_RECORD_BYTES) as reader:
        yield from _iterate_records(path, reader)


@contextmanager
def open_json_reader(
    path: Path, *, chunk: int = CHUNK_BYTES, max_length: int = MAX_RECORD_BYTES, lenient: bool = False
) -> Iterator[JsonReader]:
    """Open a JSON file that is read piece by piece.

    Args:
        longest: of a value, in characters. lenient: NaN and infinity are read as numbers, for whoever names their
            place better than this reader can.

    Raises:
        InvalidInput: unreadable, or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            yield JsonReader(
                file, chunk=chunk, max_length=max_length, decoder=json.JSONDecoder() if lenient else _DECODER
            )
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
            for number, line in enumerate(_read_lines(file, path), start=1):
                if line.strip():
                    yield number, parse_json(line, f"{path}: line {number}")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); check its name") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not UTF-8 text; download it again") from error


def _read_lines(file: TextIO, path: Path) -> Iterator[str]:
    number = 0
    while line := file.readline(MAX_RECORD_BYTES + 1):
        number += 1
        if len(line) > MAX_RECORD_BYTES:
            raise InvalidInput(
                f"{path}: line {number} is longer than {MAX_RECORD_BYTES:,} characters; give one JSON value a line"
            )
        yield line


def parse_json(text: str, where: str) -> Any:
    """Return the value of a JSON text; ``place`` begins the message of an error.

    Raises:
        InvalidInput: no JSON, NaN or infinity, or nested too deeply.
    """
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where}: is no JSON ({error}); download the file again") from error


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
    return parse_json(text, f"{path}: at byte {offset}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


class JsonReader:
    """The part of a JSON file that is in memory.

    ``byte`` and ``character`` are the place in the file; a mark of byte order counts as bytes and as no character.
    """

    def __init__(self, file: BinaryIO, *, chunk: int, max_length: int, decoder: json.JSONDecoder) -> None:
        self._file = file
        self._bytes = codecs.getincrementaldecoder("utf-8")()
        self._decoder = decoder
        self._chunk = chunk
        self._max_length = max_length
        self._ended = False
        self._text = ""
        self._position = 0
        self.byte = 0
        self.character = 0
        if self.peek() == "\ufeff":
            self._advance(self._position + 1)
            self.character = 0

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._position)
            assert space is not None
            self._advance(space.end())
            if self._position < len(self._text) or not self._read_more():
                return self._text[self._position : self._position + 1]

    def next_character(self) -> str:
        """Return the next character that is no space, and pass it; empty at the end."""
        found = self.peek()
        self._advance(self._position + len(found))
        return found

    def read_value(self) -> Any:
        """Return the next value, and pass it.

        Raises:
            NotJson: none stands there, or the end is cut off.
            TooLong: it does not end within the most that is held.
        """
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._position)
                if self._ended or self._is_whole(value, end):
                    self._advance(end)
                    return value
                problem = "it is cut off"
            except (ValueError, RecursionError) as error:
                problem = str(error)
            if len(self._text) - self._position > self._max_length:
                raise ValueTooLong(problem)
            if not self._read_more() and self._cannot_be_read():
                raise InvalidJson(problem)

    def _read_more(self) -> bool:
        """Read on; at least as much as is held, so that a long record is not scanned too often."""
        data = self._file.read(max(self._chunk, len(self._text) - self._position))
        self._text = self._text[self._position :] + self._bytes.decode(data, final=not data)
        self._position = 0
        self._ended = not data
        return bool(data)

    def _advance(self, end: int) -> None:
        passed = self._text[self._position : end]
        self.byte += len(passed) if passed.isascii() else len(passed.encode())
        self.character += len(passed)
        self._position = end

    def _is_whole(self, value: Any, end: int) -> bool:
        """Whether nothing of the value is still to come: ``0.`` of ``0.5`` reads as the number 0 already."""
        next_character = self._text[end : end + 1]
        return bool(next_character) and (not isinstance(value, int | float) or next_character in _FOLLOWS)

    def _cannot_be_read(self) -> bool:
        """Whether what is left cannot be read even now that the file has ended."""
        try:
            self._decoder.raw_decode(self._text, self._position)
        except (ValueError, RecursionError):
            return True
        return False


def _iterate_records(path: Path, reader: JsonReader) -> Iterator[LocatedRecord]:
    if reader.next_character() != "[":
        raise InvalidInput(f"{path}: does not begin with a list; give the published file, unpacked")
    number = 0
    while reader.peek() != "]" or number:
        number += 1
        reader.peek()
        start = reader.byte
        value = _read_value(path, reader, number)
        yield LocatedRecord(number, start, reader.byte - start, value)
        separator = reader.peek()
        if separator == "]":
            break
        if separator != ",":
            raise InvalidInput(
                f"{path}: after record {number} a comma is missing, or the end is cut off; download it again"
            )
        reader.next_character()
    reader.next_character()
    if reader.peek():
        raise InvalidInput(f"{path}: has more text behind its list; download it again")


def _read_value(path: Path, reader: JsonReader, number: int) -> Any:
    try:
        return reader.read_value()
    except ValueTooLong as error:
        raise InvalidInput(
            f"{path}: record {number} is longer than {MAX_RECORD_BYTES >> 20} MiB or no JSON "
            f"({error}); give a list of records"
        ) from error
    except InvalidJson as error:
        raise InvalidInput(f"{path}: record {number} is no JSON ({error}); download it again") from error
