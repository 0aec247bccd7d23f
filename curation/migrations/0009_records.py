"""What referred to observations refers to records; parts of a version are checked against its family, not a list.

SQLite makes each of these tables anew, so their triggers are taken away before and put back after.
"""

import django.db.models.deletion
from django.db import migrations, models

from hits.domain.database.irreversible_migration import RowLossGuard
from hits.domain.database.append_only_triggers import TriggerKeeper

keeper = TriggerKeeper(
    "curation_audititem",
    "curation_comparisonset",
    "curation_proposaloverlap",
    "curation_textreading",
    "curation_textscore",
    "curation_versionrow",
)


def pair(on_delete, related_name):
    return models.ForeignKey(on_delete=on_delete, related_name=related_name, to="curation.pair")


class Migration(migrations.Migration):
    dependencies = [("curation", "0008_entry_withdrawals"), ("hits", "0016_copy_observations")]

    operations = [
        migrations.RunPython(keeper.take, keeper.put_back),
        migrations.CreateModel(
            name="Pair",
            fields=[],
            options={"proxy": True, "indexes": [], "constraints": []},
            bases=("hits.record",),
        ),
        migrations.AlterField("audititem", "observation", pair(django.db.models.deletion.PROTECT, "audit_items")),
        migrations.AlterField(
            "comparisonset", "observation", pair(django.db.models.deletion.PROTECT, "comparison_sets")
        ),
        migrations.AlterField(
            "proposaloverlap", "observation", pair(django.db.models.deletion.CASCADE, "proposal_overlaps")
        ),
        migrations.AlterField(
            "textreading", "observation", pair(django.db.models.deletion.PROTECT, "text_readings")
        ),
        migrations.AlterField("textscore", "observation", pair(django.db.models.deletion.CASCADE, "text_scores")),
        migrations.RemoveConstraint(model_name="versionrow", name="version_part_known"),
        migrations.AlterField("versionrow", "part", models.CharField(max_length=40)),
        migrations.AlterField("versionrow", "instance_id", models.CharField(max_length=64)),
        migrations.RunPython(keeper.put_back, keeper.take),
        migrations.RunPython(migrations.RunPython.noop, RowLossGuard("hits_record").refuse),
    ]
