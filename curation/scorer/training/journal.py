"""A training run's log: one CSV of losses, one of validations. No torch, since web pages read them during training.

A killed process may leave half a line at the end. Readers skip it; a resumed run first drops all rows after its
checkpoint. Floats are written so that reading gives the same bits.
"""

import csv
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar, get_type_hints

from curation.files import write_text
from curation.records import InvalidInput

LOSSES_FILE, VALIDATIONS_FILE = "losses.csv", "validation.csv"
ENVIRONMENT_FILE = "environment.json"


class LossRow(TypedDict):
    """One update. step and epoch count from 1; learning_rate: of this update.

    images_per_second: pairs over all processes per second of wall time; not reproducible.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    scale: float
    images_per_second: float


class ValidationRow(TypedDict):
    """One validation after ``step`` updates: mean ranks (1 is best) and percent; ``None`` without pairs to rank.

    kept: whether the model was saved as the best.
    """

    step: int
    loss: float | None
    im2txt: float | None
    txt2im: float | None
    p_at_1: float | None
    kept: bool


Row = TypeVar("Row", bound=Mapping[str, Any])
_PARSERS: dict[Any, Callable[[str], Any]] = {
    int: int,
    float: float,
    bool: lambda text: bool(int(text)),
    float | None: lambda text: float(text) if text else None,
}


class LogTable(Generic[Row]):
    """A CSV of a run, whose columns are the fields of a typed dictionary; one of them is ``step``."""

    def __init__(self, file: str, row_type: type[Row]) -> None:
        self.file = file
        self._parsers = {name: _PARSERS[kind] for name, kind in get_type_hints(row_type).items()}

    @property
    def header(self) -> str:
        """The first line of the file."""
        return ",".join(self._parsers) + "\n"

    def line(self, row: Row) -> str:
        """Return a row as a line of the file."""
        return ",".join(_format_value(row[column]) for column in self._parsers) + "\n"

    def read(self, run: Path) -> list[Row]:
        """Return the complete rows so far; none if nothing was written yet."""
        try:
            text = (run / self.file).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        complete = text[: text.rfind("\n") + 1].splitlines()
        return list(self._parse_rows(csv.reader(complete[1:])))

    def _parse_rows(self, lines: Iterator[list[str]]) -> Iterator[Row]:
        try:
            for values in lines:
                pairs = zip(self._parsers.items(), values, strict=True)
                row: Any = {name: parse(value) for (name, parse), value in pairs}
                yield row
        except (ValueError, csv.Error):
            return  # damaged by a power failure: later rows cannot be trusted


LOSSES = LogTable(LOSSES_FILE, LossRow)
VALIDATIONS = LogTable(VALIDATIONS_FILE, ValidationRow)


def read_losses(run: Path) -> list[LossRow]:
    """Return the updates of a run so far; none if nothing was written yet."""
    return LOSSES.read(run)


def read_validations(run: Path) -> list[ValidationRow]:
    """Return the validations of a run so far; none if nothing was written yet."""
    return VALIDATIONS.read(run)


class Journal:
    """Writes both files. A row is readable at once, and survives a power failure after ``sync``."""

    def __init__(
        self, run: Path, losses: LogTable[Any] = LOSSES, validations: LogTable[Any] = VALIDATIONS
    ) -> None:
        self._run, self._losses, self._validations = run, losses, validations

    def truncate_after(self, step: int) -> None:
        """Drop the rows of later steps, and half lines; create missing files."""
        for table in (self._losses, self._validations):
            rows = [row for row in table.read(self._run) if row["step"] <= step]
            write_text(self._run / table.file, [table.header, *map(table.line, rows)])

    def validations(self) -> list[Any]:
        """Return the validations so far."""
        return self._validations.read(self._run)

    def record_update(self, row: Mapping[str, Any]) -> None:
        """Append an update."""
        self._write(self._losses.file, self._losses.line(row))

    def record_validation(self, row: Mapping[str, Any]) -> None:
        """Append a validation."""
        self._write(self._validations.file, self._validations.line(row))

    def sync(self) -> None:
        """Sync both files to disk. Call it before saving a checkpoint that relies on their rows."""
        for table in (self._losses, self._validations):
            self._write(table.file, "", sync=True)

    def _write(self, name: str, line: str, *, sync: bool = False) -> None:
        path = self._run / name
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(line)
                if sync:
                    os.fsync(file.fileno())
        except OSError as error:
            raise InvalidInput(
                f"{path}: cannot be written ({error.strerror}); free disk space or check the permissions"
            ) from error


def _format_value(value: float | bool | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else repr(value)
