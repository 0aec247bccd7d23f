"""Read an old page and its CSV from the command line's files."""

from pathlib import Path

from hits.domain.task_template.check import PageError, read_page
from hits.domain.task_template.rows import RowsError, Table, parse_rows
from hits.domain.task_template.variables import variables_in
from hits.management.base import bad_input


def page_in(path: Path) -> str:
    """Return the page that a file holds."""
    try:
        return read_page(_bytes(path))
    except PageError as error:
        raise bad_input(f"{path}: {error}") from error


def table_in(path: Path, html: str) -> Table:
    """Return the rows that a file holds for a page."""
    try:
        return parse_rows(_bytes(path), variables=[variable.name for variable in variables_in(html)])
    except RowsError as error:
        raise bad_input(f"{path}: {error}") from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise bad_input(f"{path}: there is no such file") from None
    except OSError as error:
        raise bad_input(f"{path}: it cannot be read: {error.strerror}") from error
