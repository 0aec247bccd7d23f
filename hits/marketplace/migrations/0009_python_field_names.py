"""Python names of three fields; tables, columns and triggers stay as they are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0008_free_slots")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("payout", "once", "idempotency_key"),
                migrations.AlterField(
                    "payout",
                    "idempotency_key",
                    models.CharField(max_length=64, unique=True, db_column="once"),
                ),
                migrations.RenameField("hit", "told_expired", "expired_recorded"),
                migrations.AlterField(
                    "hit", "expired_recorded", models.BooleanField(default=False, db_column="told_expired")
                ),
                migrations.RenameField("hit", "told_reviewable", "reviewable_recorded"),
                migrations.AlterField(
                    "hit",
                    "reviewable_recorded",
                    models.BooleanField(default=False, db_column="told_reviewable"),
                ),
            ]
        )
    ]
