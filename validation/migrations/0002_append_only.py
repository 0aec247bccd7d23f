"""Make evidence rows append-only in the database itself."""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

TABLES = [
    "validation_grade",
    "validation_gradingoutcome",
    "validation_standingchange",
]


def forwards(apps, schema_editor):
    for table in TABLES:
        for statement in statements(schema_editor.connection.vendor, table):
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("validation", "0001_people")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
