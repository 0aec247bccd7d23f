"""What a training run wrote down: one CSV of losses, one of validations. No torch: web pages read them as they grow.

A program that is killed may leave half a line at the end. A reader passes over it; a run that goes on first drops
every row after its checkpoint. Floats are written so that reading gives the same bits.
"""

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from curation.files import write_text
from curation.records import InvalidInput

LOSSES, VALIDATIONS = "losses.csv", "validation.csv"
ENVIRONMENT = "environment.json"


class LossRow(TypedDict):
    """One update. step and epoch count from 1; learning_rate is the one it was made with.

    images_per_second: pairs over all processes per second of wall time; it differs from run to run.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    scale: float
    images_per_second: float


class ValidationRow(TypedDict):
    """One validation after ``step`` updates. Mean ranks (1 is best) and percent; ``None`` without pairs to rank.

    kept: whether the model was then stored as the best.
    """

    step: int
    loss: float | None
    im2txt: float | None
    txt2im: float | None
    p_at_1: float | None
    kept: bool


_COLUMNS = {LOSSES: tuple(LossRow.__annotations__), VALIDATIONS: tuple(ValidationRow.__annotations__)}
Row = TypeVar("Row")


def read_losses(run: Path) -> list[LossRow]:
    """Return the updates of a run so far; none where nothing was written yet."""
    return _read(run / LOSSES, _loss_row)


def read_validations(run: Path) -> list[ValidationRow]:
    """Return the validations of a run so far; none where nothing was written yet."""
    return _read(run / VALIDATIONS, _validation_row)


class Journal:
    """Writes both files. A row can be read as soon as it is added, and outlives a power failure after ``sync``."""

    def __init__(self, run: Path) -> None:
        self._run = run

    def start_after(self, step: int) -> None:
        """Drop the rows of later steps, half lines too; make the files where they are missing."""
        kept: dict[str, Sequence[Mapping[str, Any]]] = {
            LOSSES: [row for row in read_losses(self._run) if row["step"] <= step],
            VALIDATIONS: [row for row in read_validations(self._run) if row["step"] <= step],
        }
        for name, rows in kept.items():
            write_text(
                self._run / name, [",".join(_COLUMNS[name]) + "\n", *(_line(name, row) for row in rows)]
            )

    def updated(self, row: LossRow) -> None:
        """Append an update."""
        self._write(LOSSES, _line(LOSSES, row))

    def validated(self, row: ValidationRow) -> None:
        """Append a validation."""
        self._write(VALIDATIONS, _line(VALIDATIONS, row))

    def sync(self) -> None:
        """Bring both files to the disk, before a checkpoint says that their rows are there."""
        for name in (LOSSES, VALIDATIONS):
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
                f"{path}: cannot be written ({error.strerror}); make room or mend it"
            ) from error


def _line(name: str, row: Mapping[str, Any]) -> str:
    return ",".join(_word(row[column]) for column in _COLUMNS[name]) + "\n"


def _word(value: float | bool | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else repr(value)


def _read(path: Path, parse: Callable[[Sequence[str]], Row]) -> list[Row]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    whole = text[: text.rfind("\n") + 1].splitlines()
    return list(_parsed(csv.reader(whole[1:]), parse))


def _parsed(lines: Iterator[list[str]], parse: Callable[[Sequence[str]], Row]) -> Iterator[Row]:
    try:
        for words in lines:
            yield parse(words)
    except (ValueError, csv.Error):
        return  # torn by a power failure: nothing after it can be trusted


def _loss_row(words: Sequence[str]) -> LossRow:
    step, epoch, *numbers = words
    loss, rate, scale, speed = (float(word) for word in numbers)
    return LossRow(
        step=int(step), epoch=int(epoch), loss=loss, learning_rate=rate, scale=scale, images_per_second=speed
    )


def _validation_row(words: Sequence[str]) -> ValidationRow:
    step, *numbers, kept = words
    loss, im2txt, txt2im, p_at_1 = (float(word) if word else None for word in numbers)
    return ValidationRow(
        step=int(step), loss=loss, im2txt=im2txt, txt2im=txt2im, p_at_1=p_at_1, kept=bool(int(kept))
    )
