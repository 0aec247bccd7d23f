"""The backend: each transaction, and each statement that writes by itself, waits for its turn."""

from collections.abc import Callable
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

from annotation_site.sqlite.turns import Turns, turns_of

_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLAC")
_DEFAULT_SECONDS = 30.0


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to a SQLite file."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turn: Turns | None = None  # while it is ours

    def take_turn(self) -> None:
        """Wait until nobody else of ours writes to the file.

        Raises:
            OperationalError: others wrote for longer than a connection waits.
        """
        if self._turn is not None or self.is_in_memory_db():
            return
        turns = turns_of(str(self.settings_dict["NAME"]))
        if not turns.take(float(self.settings_dict["OPTIONS"].get("timeout", _DEFAULT_SECONDS))):
            raise OperationalError("database is locked")
        self._turn = turns

    def give_turn(self) -> None:
        """Let the next one write."""
        if self._turn is not None:
            turns, self._turn = self._turn, None
            turns.give()

    def create_cursor(self, name: str | None = None) -> "_Cursor":
        """Return a cursor that waits for a turn where it writes outside of a transaction."""
        return self.connection.cursor(factory=lambda connection: _Cursor(connection, self))

    def _start_transaction_under_autocommit(self) -> None:
        self.take_turn()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # the stubs leave it out
        except BaseException:
            self.give_turn()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]  # one that fails is rolled back, and that ends the turn
        self.give_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self.give_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self.give_turn()


class _Cursor(base.SQLiteCursorWrapper):
    def __init__(self, connection: Any, wrapper: DatabaseWrapper) -> None:
        super().__init__(connection)
        self._wrapper = wrapper

    def execute(self, query: str, params: Any = None) -> Any:
        return self._in_turn(query, lambda: super(_Cursor, self).execute(query, params))

    def executemany(self, query: str, param_list: Any) -> Any:
        return self._in_turn(query, lambda: super(_Cursor, self).executemany(query, param_list))

    def _in_turn(self, query: str, run: Callable[[], Any]) -> Any:
        wrapper = self._wrapper
        alone = not wrapper.in_atomic_block and query.lstrip()[:6].upper() in _WRITES
        if not alone or wrapper._turn is not None:
            return run()
        wrapper.take_turn()
        try:
            return run()
        finally:
            wrapper.give_turn()
