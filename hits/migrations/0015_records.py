"""Records take the place of observations: typed fields, any number of images, one table for all kinds.

The rows are copied by the next migration: PostgreSQL changes no table that has copied rows waiting for their checks.
"""

import django.db.models.deletion
from django.db import migrations, models

from hits.domain.database.append_only_triggers import statements

TABLES = ["hits_record", "hits_recordimage"]


def hold(apps, schema_editor):
    for table in TABLES:
        for statement in statements(schema_editor.connection.vendor, table):
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("hits", "0014_messages_to_workers")]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="record_error",
            field=models.CharField(max_length=400, null=True),
        ),
        migrations.CreateModel(
            name="Record",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("type", models.CharField(max_length=40)),
                ("instance_id", models.CharField(max_length=64, unique=True)),
                ("origin", models.CharField(default="submission", max_length=10)),
                ("index", models.PositiveSmallIntegerField()),
                ("fields", models.JSONField(default=dict)),
                ("bonus", models.BooleanField(default=False)),
                (
                    "image",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="records",
                        to="hits.image",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="records", to="hits.project"
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="records",
                        to="hits.submission",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "abstract": False,
                "indexes": [models.Index(fields=["project", "type"], name="record_project_type")],
                "constraints": [
                    models.UniqueConstraint(fields=("submission", "index"), name="record_index_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("origin", "submission"), ("submission__isnull", False)),
                            models.Q(("origin", "import"), ("submission__isnull", True)),
                            _connector="OR",
                        ),
                        name="record_has_its_origin",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RecordImage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "image",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="hits.image"
                    ),
                ),
                (
                    "record",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="record_images",
                        to="hits.record",
                    ),
                ),
            ],
            options={
                "ordering": ["record", "position"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(
                        fields=("record", "position"), name="record_image_position_once"
                    )
                ],
            },
        ),
        migrations.RunPython(hold, migrations.RunPython.noop),
    ]
