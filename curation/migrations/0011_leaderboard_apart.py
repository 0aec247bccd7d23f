"""Leaderboards become an app of their own. Their tables stay as they are: Django alone learns whose they are."""

from django.db import migrations

NAMES = ("WrongKey", "EntryWithdrawal", "LeaderboardEntry", "LeaderboardTeam", "Leaderboard")


class Migration(migrations.Migration):

    dependencies = [
        ("curation", "0010_selection"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name) for name in NAMES]),
    ]
