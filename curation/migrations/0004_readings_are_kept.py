"""Readings are evidence: the database itself keeps them. Vectors of the earlier layout, one file each, are made anew."""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

READINGS = ["curation_leakreading", "curation_textreading", "curation_auditreading"]


def keep(apps, schema_editor):
    for table in READINGS:
        for statement in statements(schema_editor.connection.vendor, table):
            schema_editor.execute(statement, params=None)


def forget_single_files(apps, schema_editor):
    apps.get_model("curation", "FeatureSet").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("curation", "0003_corpus_scale")]
    operations = [
        migrations.RunPython(forget_single_files, migrations.RunPython.noop),
        migrations.RunPython(keep, migrations.RunPython.noop),
    ]
