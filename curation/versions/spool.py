"""Rows of a version that wait on the disk: a corpus is planned, sealed and proven without being held in memory.

Each spool is a private SQLite database of this process. SQLite keeps it in a temporary file without a name, of which
only a few MiB are cached, so that nothing is left when the process ends, killed or not. A small spool never leaves
the memory.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from curation.records import InvalidInput

CACHE_KIB = 8192
BATCH_SIZE = 1000  # rows that are fetched at a time


class Spool:
    """A private temporary database with the tables of ``schema``; see the module."""

    def __init__(self, schema: str) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.executescript(schema)
        self._database.execute("BEGIN")

    def run(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Run one statement.

        Raises:
            InvalidInput: the folder for temporary files is full.
        """
        with _translate_full_disk():
            return self._database.execute(statement, values)

    def run_many(self, statement: str, values: Iterable[tuple[Any, ...]]) -> None:
        """Run one statement for each row of values; errors as those of ``run``."""
        with _translate_full_disk():
            self._database.executemany(statement, values)

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield what a query finds, a batch in memory at a time."""
        cursor = self.run(query, values)
        while found := cursor.fetchmany(BATCH_SIZE):
            yield from found

    def first(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        """Return the first column of the first row that a query finds; ``None`` without one."""
        found = self.run(query, values).fetchone()
        return None if found is None else found[0]


@contextmanager
def _translate_full_disk() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise InvalidInput(
            f"temporary files: cannot be written ({error}); make room, or name another folder by TMPDIR"
        ) from error


def sorted_by_key(lines: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Yield lines in the order of the code points of their keys; equal keys keep their order.

    A database's own order would depend on its collation, and a seal must not.
    """
    spool = Spool("CREATE TABLE line (key BLOB, at INTEGER, text BLOB, PRIMARY KEY (key, at)) WITHOUT ROWID")
    spool.run_many(
        "INSERT INTO line VALUES (?, ?, ?)",
        ((key.encode(), number, text) for number, (key, text) in enumerate(lines)),
    )
    for (text,) in spool.rows("SELECT text FROM line ORDER BY key, at"):
        yield text


def as_json_text(value: Any) -> str:
    """Return a plain value as JSON; names keep their order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
