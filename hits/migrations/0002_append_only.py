"""Make evidence rows append-only in the database itself."""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

TABLES = [
    "hits_auditevent",
    "hits_consenttext",
    "hits_participation",
    "hits_submission",
    "hits_decision",
    "hits_observation",
]


def forwards(apps, schema_editor):
    for table in TABLES:
        for statement in statements(schema_editor.connection.vendor, table):
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("hits", "0001_initial")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
