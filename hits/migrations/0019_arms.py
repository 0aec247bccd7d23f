"""An attempt keeps the arm that it was given. Those from before have none, and keep the order that was drawn."""

from django.db import migrations, models

from hits.domain.database.irreversible_migration import KeepsRows


class Migration(migrations.Migration):
    dependencies = [("hits", "0018_project_family")]
    operations = [
        migrations.AddField(
            model_name="attempt", name="arm", field=models.PositiveSmallIntegerField(null=True)
        ),
        migrations.RunPython(migrations.RunPython.noop, KeepsRows("hits_record").refuse),
    ]
