"""An attempt keeps the arm that it was given. Those from before have none, and keep the order that was drawn."""

from django.db import migrations, models

from hits.domain.database.irreversible_migration import RowLossGuard


class Migration(migrations.Migration):
    dependencies = [("hits", "0018_project_family")]
    operations = [
        migrations.AddField(
            model_name="attempt", name="arm", field=models.PositiveSmallIntegerField(null=True)
        ),
        migrations.RunPython(migrations.RunPython.noop, RowLossGuard("hits_record").refuse),
    ]
