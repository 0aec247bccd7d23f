"""SQL triggers that make tables append-only, for SQLite and PostgreSQL.

Python guards stop our own code; the triggers stop everything else that can reach the database.
"""

from typing import Any

POSTGRES_FUNCTION = """
CREATE OR REPLACE FUNCTION deerstalker_append_only() RETURNS trigger AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END;
$$ LANGUAGE plpgsql;
"""


def statements(vendor: str, table: str) -> list[str]:
    """Return the statements that make ``table`` append-only on the given database vendor."""
    if vendor == "postgresql":
        return [
            POSTGRES_FUNCTION,
            f'DROP TRIGGER IF EXISTS "{table}_append_only" ON "{table}";',
            f'CREATE TRIGGER "{table}_append_only" BEFORE UPDATE OR DELETE ON "{table}" '
            "FOR EACH ROW EXECUTE FUNCTION deerstalker_append_only();",
        ]
    if vendor == "sqlite":
        return [
            f'CREATE TRIGGER IF NOT EXISTS "{table}_no_{action}" BEFORE {action.upper()} ON "{table}" '
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END;"
            for action in ("update", "delete")
        ]
    return []


class TriggerKeeper:
    """Drop the triggers around some tables while a migration changes them, and restore them.

    SQLite recreates a table for most changes and silently loses its triggers; a trigger of another table that names
    it stops the change. Use the keeper as the first and the last operation of a migration::

        keeper = TriggerKeeper("curation_versionrow")
        operations = [migrations.RunPython(keeper.take, migrations.RunPython.noop), …,
                      migrations.RunPython(keeper.put_back, migrations.RunPython.noop)]

    PostgreSQL alters tables in place and keeps their triggers.
    """

    def __init__(self, *tables: str) -> None:
        self._tables = tables
        self._taken: list[str] = []

    def take(self, apps: Any, schema_editor: Any) -> None:
        """Drop and remember every trigger that is on the tables or names them."""
        if schema_editor.connection.vendor != "sqlite":
            return
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(
                "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
            )
            found = cursor.fetchall()
        around = [(name, sql) for name, table, sql in found if self._affects_tables(table, sql)]
        self._taken = [sql for _, sql in around]
        for name, _ in around:
            schema_editor.execute(f'DROP TRIGGER "{name}"', params=None)

    def put_back(self, apps: Any, schema_editor: Any) -> None:
        """Create the remembered triggers again."""
        for sql in self._taken:
            schema_editor.execute(sql, params=None)
        self._taken = []

    def _affects_tables(self, table: str, sql: str) -> bool:
        return table in self._tables or any(f'"{name}"' in sql for name in self._tables)
