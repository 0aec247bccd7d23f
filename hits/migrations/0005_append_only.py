"""Make the new evidence rows append-only in the database itself.

``hits_submission`` is named again: SQLite made the table anew for its new columns, which drops its triggers.
"""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

TABLES = [
    "hits_submission",
    "hits_instructions",
    "hits_workerdecision",
    "hits_declaration",
    "hits_feedback",
]


def forwards(apps, schema_editor):
    for table in TABLES:
        for statement in statements(schema_editor.connection.vendor, table):
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("hits", "0004_people_and_instructions")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
