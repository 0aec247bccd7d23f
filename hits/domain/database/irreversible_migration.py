"""Refuse to reverse a migration that would lose rows."""

from typing import Any

MESSAGE = (
    "This upgrade cannot be reversed while table {table} has rows: they would be lost. Nothing was changed; "
    "restore the backup from before the upgrade instead."
)


class RowLossGuard:
    """Refuse to reverse a migration while a table has rows. Use it as the last operation of a migration::

    operations = [..., migrations.RunPython(migrations.RunPython.noop, RowLossGuard("hits_record").refuse)]
    """

    def __init__(self, table: str) -> None:
        self._table = table

    def refuse(self, apps: Any, schema_editor: Any) -> None:
        """Raise ``RuntimeError`` if a row would be lost."""
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(f'SELECT 1 FROM "{self._table}" LIMIT 1')  # noqa: S608 - a name of ours
            if cursor.fetchone() is not None:
                raise RuntimeError(MESSAGE.format(table=self._table))
