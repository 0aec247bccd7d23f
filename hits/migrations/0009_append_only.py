"""Make the new evidence rows append-only in the database itself.

``hits_decision`` is named again: SQLite made the table anew for its new column, which drops its triggers.
"""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

TABLES = [
    "hits_decision",
    "hits_extension",
    "hits_topup",
    "hits_reconciliation",
    "hits_resolution",
    "hits_tasktemplate",
]


def forwards(apps, schema_editor):
    for table in TABLES:
        for statement in statements(schema_editor.connection.vendor, table):
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("hits", "0008_outbox_is_whole")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
