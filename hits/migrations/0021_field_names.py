"""Fields get the words of the code; their columns keep their names.

Only Django's state changes: a table that SQLite makes again would lose its triggers.
"""

import django.db.models.deletion
from django.db import migrations, models


def _renamed(
    model: str, old: str, new: str, field: models.Field
) -> list[migrations.operations.base.Operation]:
    """Name the column, then rename the field."""
    return [
        migrations.AlterField(model_name=model, name=old, field=field),
        migrations.RenameField(model_name=model, old_name=old, new_name=new),
    ]


_NO_KEY = models.Q(idempotency_key="")

_STATE = [
    migrations.RemoveConstraint(model_name="batch", name="batch_pays_somebody"),
    migrations.RemoveConstraint(model_name="batch", name="batch_opinions_fill_a_hit"),
    migrations.RemoveConstraint(model_name="extension", name="extension_once_per_wish"),
    migrations.RemoveConstraint(model_name="extension", name="extension_extends"),
    migrations.RemoveConstraint(model_name="hit", name="hit_part_once"),
    migrations.RemoveConstraint(model_name="topup", name="top_up_once_per_wish"),
    *_renamed("batch", "opinions", "redundancy", models.PositiveIntegerField(db_column="opinions")),
    *_renamed(
        "batch",
        "assignments_per_hit",
        "max_assignments",
        models.PositiveIntegerField(db_column="assignments_per_hit"),
    ),
    *_renamed(
        "extension",
        "more_opinions",
        "more_redundancy",
        models.PositiveIntegerField(default=0, db_column="more_opinions"),
    ),
    *_renamed(
        "extension",
        "once",
        "idempotency_key",
        models.CharField(max_length=64, blank=True, db_column="once"),
    ),
    *_renamed(
        "topup", "once", "idempotency_key", models.CharField(max_length=64, blank=True, db_column="once")
    ),
    *_renamed("hit", "part", "slice", models.PositiveIntegerField(default=1, db_column="part")),
    *_renamed(
        "image", "withdrawn_at", "taken_down_at", models.DateTimeField(null=True, db_column="withdrawn_at")
    ),
    *_renamed("heartbeat", "place", "resume_point", models.JSONField(default=dict, db_column="place")),
    migrations.AlterField(
        model_name="job",
        name="parent",
        field=models.ForeignKey(
            null=True,
            on_delete=django.db.models.deletion.CASCADE,
            related_name="subjobs",
            to="hits.job",
        ),
    ),
    migrations.AddConstraint(
        model_name="batch",
        constraint=models.CheckConstraint(
            condition=models.Q(reward_cents__gt=0, max_assignments__gt=0), name="batch_pays_somebody"
        ),
    ),
    migrations.AddConstraint(
        model_name="batch",
        constraint=models.CheckConstraint(
            condition=models.Q(redundancy__gte=models.F("max_assignments")), name="batch_opinions_fill_a_hit"
        ),
    ),
    migrations.AddConstraint(
        model_name="extension",
        constraint=models.UniqueConstraint(
            fields=["batch", "idempotency_key"], condition=~_NO_KEY, name="extension_once_per_wish"
        ),
    ),
    migrations.AddConstraint(
        model_name="extension",
        constraint=models.CheckConstraint(
            condition=models.Q(more_redundancy__gt=0) | models.Q(more_seconds__gt=0), name="extension_extends"
        ),
    ),
    migrations.AddConstraint(
        model_name="hit",
        constraint=models.UniqueConstraint(fields=["unit", "slice"], name="hit_part_once"),
    ),
    migrations.AddConstraint(
        model_name="topup",
        constraint=models.UniqueConstraint(
            fields=["batch", "idempotency_key"], condition=~_NO_KEY, name="top_up_once_per_wish"
        ),
    ),
]


class Migration(migrations.Migration):
    dependencies = [("hits", "0020_unit_files")]

    operations = [migrations.SeparateDatabaseAndState(state_operations=_STATE)]
