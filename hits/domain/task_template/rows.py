"""The CSV of a page: a line of column names, and a line for each task."""

import csv
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass

MAX_ROWS = 10_000
MAX_COLUMNS = 200
MAX_COLUMN_NAME = 128
MAX_CELL = 65_536


class RowsError(ValueError):
    """A CSV that cannot be used; the message names line, column and fix."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows; ``lines`` has the first line of each row in the file."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def row_values(self, index: int) -> dict[str, str]:
        """Return a row by column."""
        return dict(zip(self.columns, self.rows[index], strict=True))


def parse_rows(
    data: bytes | str,
    *,
    variables: Collection[str] = (),
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
) -> Table:
    """Read a CSV as spreadsheets write it: UTF-8, with or without a byte order mark, commas, quoted cells.

    ``variables`` are those of its page.

    Raises:
        RowsError: not UTF-8, not CSV, a web page, a bad heading, a row with too few or too many cells, too many
            rows, or none.
    """
    lines = _iter_csv_rows(_decode_text(data))
    first = next(lines, None)
    if first is None:
        raise RowsError("the CSV is empty: write a line of column names and a line for each task")
    _refuse_if_page(*first, variables)
    columns = _parse_columns(*first, max_columns)
    rows: list[tuple[str, ...]] = []
    row_lines: list[int] = []
    for line, cells in lines:
        if len(rows) == max_rows:
            raise RowsError(f"line {line}: over {max_rows:,} rows; split them into several batches")
        rows.append(_parse_row(line, cells, columns))
        row_lines.append(line)
    if not rows:
        raise RowsError("the CSV has column names and no rows: write a line for each task")
    return Table(columns, tuple(rows), tuple(row_lines))


def _decode_text(data: bytes | str) -> str:
    if isinstance(data, str):
        text = data.removeprefix("\ufeff")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise RowsError(f"line {line}: not UTF-8; save the file as “CSV UTF-8” and try again") from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise RowsError(f"line {line}: contains a NUL character; remove it")
    return text.replace("\r\n", "\n")  # forms send a cell's line ends as \r\n


def _iter_csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each non-empty row with its first line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    first_line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield first_line, cells
            first_line = reader.line_num + 1
    except csv.Error as error:
        raise RowsError(f"line {first_line}: {error}; check for missing or extra quotation marks") from None


def _refuse_if_page(line: int, cells: list[str], variables: Collection[str]) -> None:
    """Refuse a page that was given in place of its rows."""
    if cells[0].lstrip().startswith("<") and not any(cell.strip() in variables for cell in cells):
        raise RowsError(
            f"line {line}: starts with “<”, so this looks like a web page, not a CSV; "
            "use the file with the line of column names"
        )


def _parse_columns(line: int, cells: list[str], max_columns: int) -> tuple[str, ...]:
    names = [cell.strip() for cell in cells]
    if len(names) > max_columns:
        raise RowsError(f"line {line}: {len(names)} columns; use at most {max_columns:,}")
    for number, name in enumerate(names, start=1):
        if not name:
            raise RowsError(f"line {line}, column {number}: has no name; name it or remove it")
        if len(name) > MAX_COLUMN_NAME:
            raise RowsError(f"line {line}, column {number}: its name is over {MAX_COLUMN_NAME} characters")
        if names.index(name) != number - 1:
            raise RowsError(f"line {line}, column {number}: {name} occurs twice; give each its own name")
    if len(names) == 1 and ";" in names[0]:
        raise RowsError(f"line {line}: the cells are separated by semicolons; save it with commas")
    return tuple(names)


# The fix, by whether a row has too many cells.
_CELL_COUNT_FIXES = {
    True: "put cells with commas into quotation marks",
    False: "add what is missing, with a comma for each empty cell",
}


def _parse_row(line: int, cells: list[str], columns: tuple[str, ...]) -> tuple[str, ...]:
    if len(cells) != len(columns):
        raise RowsError(
            f"line {line}: has {len(cells)} cell{'s' * (len(cells) != 1)} and the first line names {len(columns)} "
            f"columns; {_CELL_COUNT_FIXES[len(cells) > len(columns)]}"
        )
    for name, cell in zip(columns, cells, strict=True):
        if len(cell) > MAX_CELL:
            raise RowsError(f"line {line}, column {name}: over {MAX_CELL:,} characters; shorten it")
    return tuple(cells)
