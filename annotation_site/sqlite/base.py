"""The backend: each transaction, and each write outside of one, waits in the write queue."""

from collections.abc import Callable
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

from annotation_site.sqlite.write_queue import WriteQueue, write_queue

_WRITE_STATEMENTS = ("INSERT", "UPDATE", "DELETE", "REPLAC")
_DEFAULT_TIMEOUT_SECONDS = 30.0


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to a SQLite file."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held_queue: WriteQueue | None = None  # while this connection may write

    def acquire_write(self) -> None:
        """Wait until no other connection of this site writes to the file.

        Raises:
            OperationalError: others wrote for longer than the connection's timeout.
        """
        if self._held_queue is not None or self.is_in_memory_db():
            return
        queue = write_queue(str(self.settings_dict["NAME"]))
        if not queue.acquire(float(self.settings_dict["OPTIONS"].get("timeout", _DEFAULT_TIMEOUT_SECONDS))):
            raise OperationalError("database is locked")
        self._held_queue = queue

    def release_write(self) -> None:
        """Let the next connection write."""
        if self._held_queue is not None:
            queue, self._held_queue = self._held_queue, None
            queue.release()

    def create_cursor(self, name: str | None = None) -> "_Cursor":
        """Return a cursor that queues its writes outside of a transaction."""
        return self.connection.cursor(factory=lambda connection: _Cursor(connection, self))

    def _start_transaction_under_autocommit(self) -> None:
        self.acquire_write()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # the stubs leave it out
        except BaseException:
            self.release_write()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]  # a failed commit is rolled back, which releases the write
        self.release_write()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self.release_write()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self.release_write()


class _Cursor(base.SQLiteCursorWrapper):
    def __init__(self, connection: Any, wrapper: DatabaseWrapper) -> None:
        super().__init__(connection)
        self._wrapper = wrapper

    def execute(self, query: str, params: Any = None) -> Any:
        return self._run_queued_if_write(query, lambda: super(_Cursor, self).execute(query, params))

    def executemany(self, query: str, param_list: Any) -> Any:
        return self._run_queued_if_write(query, lambda: super(_Cursor, self).executemany(query, param_list))

    def _run_queued_if_write(self, query: str, run: Callable[[], Any]) -> Any:
        wrapper = self._wrapper
        is_single_write = not wrapper.in_atomic_block and query.lstrip()[:6].upper() in _WRITE_STATEMENTS
        if not is_single_write or wrapper._held_queue is not None:
            return run()
        wrapper.acquire_write()
        try:
            return run()
        finally:
            wrapper.release_write()
