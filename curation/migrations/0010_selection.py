"""A version says what it holds. The column may be empty: sealed versions never change, and theirs stays so."""

from django.db import migrations, models

from hits.domain.database.irreversible_migration import RowLossGuard


class Migration(migrations.Migration):
    dependencies = [("curation", "0009_records"), ("hits", "0018_project_family")]
    operations = [
        migrations.AddField(model_name="datasetversion", name="selection", field=models.JSONField(null=True)),
        migrations.RunPython(migrations.RunPython.noop, RowLossGuard("hits_record").refuse),
    ]
