"""Make rows about judging that are evidence append-only in the database itself."""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

TABLES = [
    "validation_controlunit",
    "validation_judgmentimport",
    "validation_importedjudgment",
    "validation_decisionrun",
    "validation_itemdecision",
]


def forwards(apps, schema_editor):
    for table in TABLES:
        for statement in statements(schema_editor.connection.vendor, table):
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("validation", "0003_judging")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
