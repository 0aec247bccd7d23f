"""Object lists, verdicts of people and reasons for waiving an audit are evidence: the database itself keeps them."""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

TABLES = ["curation_objectset", "curation_interestlabel", "curation_auditwaiver"]


def keep(apps, schema_editor):
    for table in TABLES:
        for statement in statements(schema_editor.connection.vendor, table):
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("curation", "0013_vcr")]
    operations = [migrations.RunPython(keep, migrations.RunPython.noop)]
