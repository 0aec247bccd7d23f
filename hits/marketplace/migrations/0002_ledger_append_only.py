"""Triggers that refuse UPDATE and DELETE on the ledger, whoever asks for them."""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

TABLE = "marketplace_ledgerentry"
UNDO = {
    "sqlite": [f'DROP TRIGGER IF EXISTS "{TABLE}_no_{action}";' for action in ("update", "delete")],
    "postgresql": [f'DROP TRIGGER IF EXISTS "{TABLE}_append_only" ON "{TABLE}";'],
}


def forwards(apps, schema_editor):
    for statement in statements(schema_editor.connection.vendor, TABLE):
        schema_editor.execute(statement, params=None)


def backwards(apps, schema_editor):
    for statement in UNDO.get(schema_editor.connection.vendor, []):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
