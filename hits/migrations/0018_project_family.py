"""A project has a dataset family."""

from django.db import migrations, models

from hits.domain.database.irreversible_migration import RowLossGuard
from hits.domain.database.append_only_triggers import TriggerKeeper

keeper = TriggerKeeper("hits_project")


class Migration(migrations.Migration):
    dependencies = [("hits", "0017_drop_observations")]
    operations = [
        migrations.RunPython(keeper.take, keeper.put_back),
        migrations.AddField(
            model_name="project", name="family", field=models.CharField(default="sherlock", max_length=40)
        ),
        migrations.RunPython(keeper.put_back, keeper.take),
        migrations.RunPython(migrations.RunPython.noop, RowLossGuard("hits_record").refuse),
    ]
