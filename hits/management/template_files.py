"""Read an uploaded page and its CSV from files of the command line."""

from pathlib import Path

from hits.domain.task_template.check import PageError, read_page
from hits.domain.task_template.rows import RowsError, Table, parse_rows
from hits.domain.task_template.variables import find_variables
from hits.management.base import input_error


def read_page_file(path: Path) -> str:
    """Return the HTML page in a file."""
    try:
        return read_page(_read_bytes(path))
    except PageError as error:
        raise input_error(f"{path}: {error}") from error


def read_table_file(path: Path, html: str) -> Table:
    """Return the rows in a CSV file for a page."""
    try:
        return parse_rows(_read_bytes(path), variables=[variable.name for variable in find_variables(html)])
    except RowsError as error:
        raise input_error(f"{path}: {error}") from error


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise input_error(f"{path}: there is no such file") from None
    except OSError as error:
        raise input_error(f"{path}: it cannot be read: {error.strerror}") from error
