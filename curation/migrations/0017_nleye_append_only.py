"""Scenes, images, decisions, explanations and predictions are evidence: the database itself keeps them."""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

TABLES = [
    "curation_import",
    "curation_importedrow",
    "curation_scene",
    "curation_scenedecision",
    "curation_promptset",
    "curation_promptdecision",
    "curation_generatedimage",
    "curation_imagepick",
    "curation_safetyrelease",
    "curation_imagetriplet",
    "curation_tripletcheck",
    "curation_tripletexplanation",
    "curation_tripletdecision",
    "curation_tripletprediction",
    "curation_replycorrection",
    "curation_explanationgrade",
]


def keep(apps, schema_editor):
    for table in TABLES:
        for statement in statements(schema_editor.connection.vendor, table):
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("curation", "0016_nleye")]
    operations = [migrations.RunPython(keep, migrations.RunPython.noop)]
