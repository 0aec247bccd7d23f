"""Read a JSON file of one long list or object record by record, in bounded memory.

``region_descriptions.json`` of Visual Genome is one list of 108,077 records and more than 700 MB. Only one record and
one buffer are in memory at a time. Each record of a list comes with its byte offset, so that it can be read again on
its own. For other structures, such as one long object, use ``open_json_reader``.
"""

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
_WHITESPACE_PATTERN = re.compile(r"[ \t\r\n]*")
_NUMBER_ENDS = ",:]} \t\r\n"  # characters that may follow a complete number


class InvalidJson(ValueError):
    """A complete JSON value is missing; the message says why."""


class ValueTooLong(InvalidJson):
    """The value is longer than the limit, or never ends."""


@dataclass(frozen=True, slots=True)
class LocatedRecord:
    """A record: its number from 1, its byte offset and length, and its value."""

    number: int
    offset: int
    length: int
    value: Any


def iterate_list(path: Path, *, chunk: int = CHUNK_BYTES) -> Iterator[LocatedRecord]:
    """Yield the records of a file with one JSON list.

    Args:
        chunk: bytes to read at a time; longer records need several reads.

    Raises:
        InvalidInput: unreadable, not UTF-8, not a list, or a record that is not JSON or longer than 64 MiB.
    """
    with open_json_reader(path, chunk=chunk, max_length=MAX_RECORD_BYTES) as reader:
        yield from _iterate_records(path, reader)


@contextmanager
def open_json_reader(
    path: Path, *, chunk: int = CHUNK_BYTES, max_length: int = MAX_RECORD_BYTES, lenient: bool = False
) -> "Iterator[JsonReader]":
    """Open a JSON file for reading value by value.

    Args:
        max_length: of a value, in characters. lenient: read NaN and infinity as numbers, for callers that report
            their location better than this reader.

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
    """Yield (line number from 1, value) of a file with one JSON value per line; empty lines are skipped.

    Raises:
        InvalidInput: unreadable, not UTF-8, or a line that is not JSON or longer than 64 Mi characters.
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
                f"{path}: line {number} is longer than {MAX_RECORD_BYTES:,} characters; give one JSON value per line"
            )
        yield line


def parse_json(text: str, where: str) -> Any:
    """Return the value of a JSON text; ``where`` starts the error message.

    Raises:
        InvalidInput: not JSON, NaN or infinity, or nested too deeply.
    """
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where}: is not JSON ({error}); download the file again") from error


def read_record(path: Path, offset: int, length: int) -> Any:
    """Read one record again by its byte offset.

    Raises:
        InvalidInput: the file is missing or has changed.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            text = file.read(length).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: has changed since it was read; start again") from error
    return parse_json(text, f"{path}: at byte {offset}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


class JsonReader:
    """Reads a JSON file with one buffer in memory.

    ``byte`` and ``character``: the position in the file; a byte order mark counts as bytes but not as a character.
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
        """Return the next non-space character without consuming it; empty at the end."""
        while True:
            space = _WHITESPACE_PATTERN.match(self._text, self._position)
            assert space is not None
            self._advance(space.end())
            if self._position < len(self._text) or not self._read_more():
                return self._text[self._position : self._position + 1]

    def next_character(self) -> str:
        """Consume and return the next non-space character; empty at the end."""
        found = self.peek()
        self._advance(self._position + len(found))
        return found

    def read_value(self) -> Any:
        """Consume and return the next value.

        Raises:
            InvalidJson: there is no value, or the end is cut off.
            ValueTooLong: it does not end within the limit.
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
            if not self._read_more() and self._is_invalid_json():
                raise InvalidJson(problem)

    def _read_more(self) -> bool:
        """Read at least as much as the buffer has, so that a long record is not scanned too often."""
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
        """Whether the value is complete: the buffer may end within a number, such as ``0.`` of ``0.5``."""
        next_character = self._text[end : end + 1]
        return bool(next_character) and (not isinstance(value, int | float) or next_character in _NUMBER_ENDS)

    def _is_invalid_json(self) -> bool:
        """Whether the rest of the file is not a valid value."""
        try:
            self._decoder.raw_decode(self._text, self._position)
        except (ValueError, RecursionError):
            return True
        return False


def _iterate_records(path: Path, reader: JsonReader) -> Iterator[LocatedRecord]:
    if reader.next_character() != "[":
        raise InvalidInput(f"{path}: does not start with a list; give the published file, unpacked")
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
                f"{path}: a comma is missing after record {number}, or the end is cut off; download it again"
            )
        reader.next_character()
    reader.next_character()
    if reader.peek():
        raise InvalidInput(f"{path}: has more text after its list; download it again")


def _read_value(path: Path, reader: JsonReader, number: int) -> Any:
    try:
        return reader.read_value()
    except ValueTooLong as error:
        raise InvalidInput(
            f"{path}: record {number} is longer than {MAX_RECORD_BYTES >> 20} MiB or not JSON "
            f"({error}); give a list of records"
        ) from error
    except InvalidJson as error:
        raise InvalidInput(f"{path}: record {number} is not JSON ({error}); download it again") from error
