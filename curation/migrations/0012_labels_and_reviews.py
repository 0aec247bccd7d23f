"""Readings are called labels (of an audit) and reviews (of a text, of two similar images).

Tables and columns keep their names: a remade table would lose the triggers that keep its rows.
"""

import django.db.models.deletion
from django.db import migrations, models

RENAMED = (("AuditReading", "AuditLabel"), ("LeakReading", "LeakReview"), ("TextReading", "TextReview"))


class Migration(migrations.Migration):

    dependencies = [
        ("curation", "0011_leaderboard_apart"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                *(migrations.RenameModel(old, new) for old, new in RENAMED),
                *(migrations.AlterModelTable(new, f"curation_{old.lower()}") for old, new in RENAMED),
                migrations.RemoveConstraint("audititem", "audit_place_once"),
                migrations.RenameField("audititem", "place", "position"),
                migrations.AlterField("audititem", "position", models.PositiveIntegerField(db_column="place")),
                migrations.AlterModelOptions("audititem", {"ordering": ["position"]}),
                migrations.AddConstraint(
                    "audititem",
                    models.UniqueConstraint(fields=("audit", "position"), name="audit_place_once"),
                ),
                migrations.RenameField("duplicaterun", "looked_at", "compared_images"),
                migrations.AlterField(
                    "duplicaterun", "compared_images", models.JSONField(db_column="looked_at", default=list)
                ),
                migrations.AlterField(
                    "auditlabel",
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="labels",
                        to="curation.audititem",
                    ),
                ),
                migrations.AlterField(
                    "textreview",
                    "observation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="text_reviews",
                        to="curation.pair",
                    ),
                ),
                migrations.AlterField(
                    "imageproposals",
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="image_proposals",
                        to="curation.proposalrun",
                    ),
                ),
            ]
        ),
    ]
