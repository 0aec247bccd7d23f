"""Triggers that refuse UPDATE and DELETE on the trails of qualifications and countries, whoever asks."""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

TABLES = ("marketplace_qualificationchange", "marketplace_countrydeclaration")
UNDO = {
    "sqlite": ['DROP TRIGGER IF EXISTS "{0}_no_update";', 'DROP TRIGGER IF EXISTS "{0}_no_delete";'],
    "postgresql": ['DROP TRIGGER IF EXISTS "{0}_append_only" ON "{0}";'],
}


def forwards(apps, schema_editor):
    for table in TABLES:
        for statement in statements(schema_editor.connection.vendor, table):
            schema_editor.execute(statement, params=None)


def backwards(apps, schema_editor):
    for table in TABLES:
        for statement in UNDO.get(schema_editor.connection.vendor, []):
            schema_editor.execute(statement.format(table), params=None)


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0003_qualifications")]
    operations = [migrations.RunPython(forwards, backwards)]
