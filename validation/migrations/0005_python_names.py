"""Python names of models and fields; tables and columns keep theirs, and with them their triggers."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("validation", "0004_judging_append_only")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("StandingRule", "WorkerRule"),
                migrations.AlterModelTable("workerrule", "validation_standingrule"),
                migrations.RenameModel("StandingProposal", "RuleProposal"),
                migrations.AlterModelTable("ruleproposal", "validation_standingproposal"),
                migrations.RenameModel("StandingChange", "StatusChange"),
                migrations.AlterModelTable("statuschange", "validation_standingchange"),
                migrations.RenameModel("ControlUnit", "QualityCheck"),
                migrations.AlterModelTable("qualitycheck", "validation_controlunit"),
                migrations.AlterField(
                    "workerrule",
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="worker_rules",
                        to="hits.project",
                    ),
                ),
                migrations.RemoveConstraint("statuschange", "standing_known"),
                migrations.RenameField("statuschange", "standing", "status"),
                migrations.AlterField(
                    "statuschange", "status", models.CharField(db_column="standing", max_length=12)
                ),
                migrations.AddConstraint(
                    "statuschange",
                    models.CheckConstraint(
                        condition=Q(
                            status__in=[
                                "none",
                                "applied",
                                "declined",
                                "qualified",
                                "trained",
                                "active",
                                "paused",
                                "dequalified",
                                "blocked",
                            ]
                        ),
                        name="standing_known",
                    ),
                ),
                *(
                    migrations.AlterField(
                        "statuschange",
                        name,
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="status_changes",
                            to=f"hits.{name}",
                        ),
                    )
                    for name in ("project", "worker")
                ),
                migrations.RemoveConstraint("qualitycheck", "repeat_has_an_original"),
                migrations.AlterField(
                    "qualitycheck",
                    "unit",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="quality_check",
                        to="hits.unit",
                    ),
                ),
                migrations.RenameField("qualitycheck", "of", "original"),
                migrations.AlterField(
                    "qualitycheck",
                    "original",
                    models.ForeignKey(
                        db_column="of_id",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="repeats",
                        to="hits.unit",
                    ),
                ),
                migrations.RenameField("qualitycheck", "gold", "gold_item"),
                migrations.AlterField(
                    "qualitycheck",
                    "gold_item",
                    models.ForeignKey(
                        db_column="gold_id",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="units",
                        to="validation.golditem",
                    ),
                ),
                migrations.AddConstraint(
                    "qualitycheck",
                    models.CheckConstraint(
                        condition=Q(original__isnull=False) | ~Q(role="repeat"),
                        name="repeat_has_an_original",
                    ),
                ),
                migrations.RenameField("judginground", "most_judges", "max_redundancy"),
                migrations.AlterField(
                    "judginground",
                    "max_redundancy",
                    models.PositiveSmallIntegerField(db_column="most_judges", default=0),
                ),
                migrations.RenameField("judgingreport", "until", "last_judgment_at"),
                migrations.AlterField(
                    "judgingreport",
                    "last_judgment_at",
                    models.DateTimeField(db_column="until", null=True),
                ),
                migrations.RenameField("itemdecision", "judges", "judge_count"),
                migrations.AlterField(
                    "itemdecision", "judge_count", models.PositiveSmallIntegerField(db_column="judges")
                ),
            ]
        )
    ]
