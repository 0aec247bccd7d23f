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

CHUNK = 1 << 20
LONGEST_RECORD = 1 << 26
_SPACE = re.compile(r"[ \t\r\n]*")
_FOLLOWS = ",:]} \t\r\n"


class NotJson(ValueError):
    """No whole JSON value stands where one should; the message says why."""


class TooLong(NotJson):
    """The value is longer than may be held, or never ends."""


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
    with open_pieces(path, chunk=chunk, longest=LONGEST_RECORD) as pieces:
        yield from _records(path, pieces)


@contextmanager
def open_pieces(
    path: Path, *, chunk: int = CHUNK, longest: int = LONGEST_RECORD, lenient: bool = False
) -> Iterator[Pieces]:
    """Open a JSON file that is read piece by piece.

    Args:
        longest: of a value, in characters. lenient: NaN and infinity are read as numbers, for whoever names their
            place better than this reader can.

    Raises:
        InvalidInput: unreadable, or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            yield Pieces(
                file, chunk=chunk, longest=longest, decoder=json.JSONDecoder() if lenient else _DECODER
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


class Pieces:
    """The part of a JSON file that is in memory.

    ``byte`` and ``character`` are the place in the file; a mark of byte order counts as bytes and as no character.
    """

    def __init__(self, file: BinaryIO, *, chunk: int, longest: int, decoder: json.JSONDecoder) -> None:
        self._file = file
        self._bytes = codecs.getincrementaldecoder("utf-8")()
        self._decoder = decoder
        self._chunk = chunk
        self._longest = longest
        self._ended = False
        self._text = ""
        self._at = 0
        self.byte = 0
        self.character = 0
        if self.peek() == "\ufeff":
            self._pass(self._at + 1)
            self.character = 0

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            assert space is not None
            self._pass(space.end())
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def mark(self) -> str:
        """Return the next character that is no space, and pass it; empty at the end."""
        found = self.peek()
        self._pass(self._at + len(found))
        return found

    def value(self) -> Any:
        """Return the next value, and pass it.

        Raises:
            NotJson: none stands there, or the end is cut off.
            TooLong: it does not end within the most that is held.
        """
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                if self._ended or self._is_whole(value, end):
                    self._pass(end)
                    return value
                problem = "it is cut off"
            except (ValueError, RecursionError) as error:
                problem = str(error)
            if len(self._text) - self._at > self._longest:
                raise TooLong(problem)
            if not self._more() and self._failed():
                raise NotJson(problem)

    def _more(self) -> bool:
        """Read on; at least as much as is held, so that a long record is not scanned too often."""
        data = self._file.read(max(self._chunk, len(self._text) - self._at))
        self._text = self._text[self._at :] + self._bytes.decode(data, final=not data)
        self._at = 0
        self._ended = not data
        return bool(data)

    def _pass(self, end: int) -> None:
        passed = self._text[self._at : end]
        self.byte += len(passed) if passed.isascii() else len(passed.encode())
        self.character += len(passed)
        self._at = end

    def _is_whole(self, value: Any, end: int) -> bool:
        """Whether nothing of the value is still to come: ``0.`` of ``0.5`` reads as the number 0 already."""
        follows = self._text[end : end + 1]
        return bool(follows) and (not isinstance(value, int | float) or follows in _FOLLOWS)

    def _failed(self) -> bool:
        """Whether what is left cannot be read even now that the file has ended."""
        try:
            self._decoder.raw_decode(self._text, self._at)
        except (ValueError, RecursionError):
            return True
        return False


def _records(path: Path, pieces: Pieces) -> Iterator[Located]:
    if pieces.mark() != "[":
        raise InvalidInput(f"{path}: does not begin with a list; give the published file, unpacked")
    number = 0
    while pieces.peek() != "]" or number:
        number += 1
        pieces.peek()
        begins = pieces.byte
        value = _record(path, pieces, number)
        yield Located(number, begins, pieces.byte - begins, value)
        separator = pieces.peek()
        if separator == "]":
            break
        if separator != ",":
            raise InvalidInput(
                f"{path}: after record {number} a comma is missing, or the end is cut off; download it again"
            )
        pieces.mark()
    pieces.mark()
    if pieces.peek():
        raise InvalidInput(f"{path}: has more text behind its list; download it again")


def _record(path: Path, pieces: Pieces, number: int) -> Any:
    try:
        return pieces.value()
    except TooLong as error:
        raise InvalidInput(
            f"{path}: record {number} is longer than {LONGEST_RECORD >> 20} MiB or no JSON "
            f"({error}); give a list of records"
        ) from error
    except NotJson as error:
        raise InvalidInput(f"{path}: record {number} is no JSON ({error}); download it again") from error
