"""Emptying the test database between tests, although its ledgers refuse DELETE.

PostgreSQL empties tables by TRUNCATE, which row triggers do not see. SQLite has only DELETE, so the triggers
step aside for the length of the flush, inside its own transaction.
"""

from collections.abc import Callable

from django.db import transaction
from django.db.backends.sqlite3.operations import DatabaseOperations

_flush: Callable[..., None] = DatabaseOperations.execute_sql_flush
_TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"


def _flush_without_triggers(self: DatabaseOperations, sql_list: list[str]) -> None:
    with transaction.atomic(using=self.connection.alias), self.connection.cursor() as cursor:
        triggers = cursor.execute(_TRIGGERS).fetchall()
        for name, _sql in triggers:
            cursor.execute(f'DROP TRIGGER "{name}"')
        _flush(self, sql_list)
        for _name, sql in triggers:
            cursor.execute(sql)


def install() -> None:
    """Make flushing step round triggers. Installing it twice changes nothing."""
    if DatabaseOperations.execute_sql_flush is _flush:
        DatabaseOperations.execute_sql_flush = _flush_without_triggers  # type: ignore[method-assign]
