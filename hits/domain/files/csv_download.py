"""Stream CSV line by line, safe to open in a spreadsheet."""

import csv
from collections.abc import Iterable, Iterator, Sequence

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class Echo:
    """A file whose ``write`` returns the text."""

    def write(self, text: str) -> str:
        return text


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the line of column names, then a line for each row."""
    writer = csv.writer(Echo())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow(row)


def escape_formula(text: str) -> str:
    """Return a typed text that a spreadsheet does not read as a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def unescape_formula(text: str) -> str:
    """Return the text that ``escape_formula`` was given."""
    return text[1:] if text[:1] == "'" and text[1:].startswith(_FORMULA_STARTS) else text
