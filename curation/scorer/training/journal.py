"""A training run's log: one CSV of losses, one of validations. No torch, since web pages read them during training.

A killed process may leave half a line at the end. Readers skip it; a resumed run first drops all rows after its
checkpoint. Floats are written so that reading gives the same bits.
"""

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, TypeVar

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


_COLUMNS = {LOSSES_FILE: tuple(LossRow.__annotations__)}
_COLUMNS[VALIDATIONS_FILE] = tuple(ValidationRow.__annotations__)
RowType = TypeVar("RowType")


def read_losses(run: Path) -> list[LossRow]:
    """Return the updates of a run so far; none if nothing was written yet."""
    return _read_rows(run / LOSSES_FILE, _parse_loss_row)


def read_validations(run: Path) -> list[ValidationRow]:
    """Return the validations of a run so far; none if nothing was written yet."""
    return _read_rows(run / VALIDATIONS_FILE, _parse_validation_row)


class Journal:
    """Writes both files. A row is readable at once, and survives a power failure after ``sync``."""

    def __init__(self, run: Path) -> None:
        self._run = run

    def truncate_after(self, step: int) -> None:
        """Drop the rows of later steps, and half lines; create missing files."""
        remaining: dict[str, Sequence[Mapping[str, Any]]] = {
            LOSSES_FILE: [row for row in read_losses(self._run) if row["step"] <= step],
            VALIDATIONS_FILE: [row for row in read_validations(self._run) if row["step"] <= step],
        }
        for name, rows in remaining.items():
            rows_as_text = (_csv_line(name, row) for row in rows)
            write_text(self._run / name, [",".join(_COLUMNS[name]) + "\n", *rows_as_text])

    def record_update(self, row: LossRow) -> None:
        """Append an update."""
        self._write(LOSSES_FILE, _csv_line(LOSSES_FILE, row))

    def record_validation(self, row: ValidationRow) -> None:
        """Append a validation."""
        self._write(VALIDATIONS_FILE, _csv_line(VALIDATIONS_FILE, row))

    def sync(self) -> None:
        """Sync both files to disk. Call it before saving a checkpoint that relies on their rows."""
        for name in (LOSSES_FILE, VALIDATIONS_FILE):
            self._write(name, "", sync=True)

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


def _csv_line(name: str, row: Mapping[str, Any]) -> str:
    return ",".join(_format_value(row[column]) for column in _COLUMNS[name]) + "\n"


def _format_value(value: float | bool | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else repr(value)


def _read_rows(path: Path, parse: Callable[[Sequence[str]], RowType]) -> list[RowType]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    complete = text[: text.rfind("\n") + 1].splitlines()
    return list(_parse_rows(csv.reader(complete[1:]), parse))


def _parse_rows(lines: Iterator[list[str]], parse: Callable[[Sequence[str]], RowType]) -> Iterator[RowType]:
    try:
        for values in lines:
            yield parse(values)
    except (ValueError, csv.Error):
        return  # damaged by a power failure: later rows cannot be trusted


def _parse_loss_row(values: Sequence[str]) -> LossRow:
    step, epoch, *numbers = values
    loss, rate, scale, speed = (float(number) for number in numbers)
    return LossRow(
        step=int(step), epoch=int(epoch), loss=loss, learning_rate=rate, scale=scale, images_per_second=speed
    )


def _parse_validation_row(values: Sequence[str]) -> ValidationRow:
    step, *numbers, kept = values
    loss, im2txt, txt2im, p_at_1 = (float(number) if number else None for number in numbers)
    return ValidationRow(
        step=int(step), loss=loss, im2txt=im2txt, txt2im=txt2im, p_at_1=p_at_1, kept=bool(int(kept))
    )
