"""SQL that holds append-only tables against raw SQL too, for SQLite and PostgreSQL.

Python guards stop our own code; these triggers stop everything else that can reach the database.
"""

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
