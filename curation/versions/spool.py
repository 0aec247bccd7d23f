"""Rows of a version kept on disk, so that a corpus is planned, sealed and verified without being in memory.

Each spool is a private SQLite database of this process, in an unnamed temporary file with a cache of a few MiB, so
nothing remains when the process ends, even if killed. A small spool stays in memory.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from curation.records import InvalidInput

CACHE_KIB = 8192
BATCH_SIZE = 1000  # rows fetched at a time


class Spool:
    """A private temporary database with the tables of ``schema``; see the module docstring."""

    def __init__(self, schema: str) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.executescript(schema)
        self._database.execute("BEGIN")

    def run(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Execute a statement.

        Raises:
            InvalidInput: the folder of temporary files is full.
        """
        with _translate_full_disk():
            return self._database.execute(statement, values)

    def run_many(self, statement: str, values: Iterable[tuple[Any, ...]]) -> None:
        """Execute a statement for each row of values; errors as in ``run``."""
        with _translate_full_disk():
            self._database.executemany(statement, values)

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield a query's rows, one batch in memory at a time."""
        cursor = self.run(query, values)
        while found := cursor.fetchmany(BATCH_SIZE):
            yield from found

    def first_value(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        """Return the first column of a query's first row, or ``None``."""
        found = self.run(query, values).fetchone()
        return None if found is None else found[0]


@contextmanager
def _translate_full_disk() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise InvalidInput(
            f"temporary files: cannot be written ({error}); free space, or set TMPDIR to another folder"
        ) from error


def sorted_by_key(lines: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Yield lines sorted by the code points of their keys; the sort is stable.

    A database's own order would depend on its collation, which must not affect checksums.
    """
    spool = Spool("CREATE TABLE line (key BLOB, at INTEGER, text BLOB, PRIMARY KEY (key, at)) WITHOUT ROWID")
    spool.run_many(
        "INSERT INTO line VALUES (?, ?, ?)",
        ((key.encode(), number, text) for number, (key, text) in enumerate(lines)),
    )
    for (text,) in spool.rows("SELECT text FROM line ORDER BY key, at"):
        yield text


def as_json_text(value: Any) -> str:
    """Return a plain value as JSON, keeping the order of keys."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
