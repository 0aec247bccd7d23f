"""CSV as a stream of lines, safe to open in a spreadsheet."""

import csv
from collections.abc import Iterable, Iterator, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the line of column names and a line for each row, as it is asked for."""
    writer = csv.writer(_Echo())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow(row)


def words(text: str) -> str:
    """Return a text that a spreadsheet takes for words, whatever it begins with: somebody typed it."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def unquoted(text: str) -> str:
    """Return what ``words`` was given."""
    return text[1:] if text[:1] == "'" and text[1:].startswith(_FORMULA) else text
