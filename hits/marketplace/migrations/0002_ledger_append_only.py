"""Triggers that refuse UPDATE and DELETE on the ledger, whoever asks for them."""

from django.db import migrations

TABLE = "marketplace_ledgerentry"
MESSAGE = "The ledger is append-only."

SQLITE = [
    f"CREATE TRIGGER {TABLE}_no_{verb.lower()} BEFORE {verb} ON {TABLE} "
    f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END;"
    for verb in ("UPDATE", "DELETE")
]
SQLITE_UNDO = [f"DROP TRIGGER IF EXISTS {TABLE}_no_{verb};" for verb in ("update", "delete")]

POSTGRESQL = [
    f"CREATE FUNCTION {TABLE}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN RAISE EXCEPTION '{MESSAGE}'; END; $$;",
    f"CREATE TRIGGER {TABLE}_append_only BEFORE UPDATE OR DELETE ON {TABLE} "
    f"FOR EACH ROW EXECUTE FUNCTION {TABLE}_refuse();",
]
POSTGRESQL_UNDO = [
    f"DROP TRIGGER IF EXISTS {TABLE}_append_only ON {TABLE};",
    f"DROP FUNCTION IF EXISTS {TABLE}_refuse();",
]
STATEMENTS = {"sqlite": (SQLITE, SQLITE_UNDO), "postgresql": (POSTGRESQL, POSTGRESQL_UNDO)}


def _run(schema_editor, which):
    for statement in STATEMENTS.get(schema_editor.connection.vendor, ([], []))[which]:
        schema_editor.execute(statement)


def forwards(apps, schema_editor):
    _run(schema_editor, 0)


def backwards(apps, schema_editor):
    _run(schema_editor, 1)


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
