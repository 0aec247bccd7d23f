"""Make the ledger append-only in the database itself."""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements


def forwards(apps, schema_editor):
    for statement in statements(schema_editor.connection.vendor, "payments_ledgerentry"):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("payments", "0001_initial")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
