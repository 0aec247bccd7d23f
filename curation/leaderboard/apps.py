"""Leaderboards as a Django app."""

from django.apps import AppConfig


class LeaderboardConfig(AppConfig):
    """Label ``leaderboard``; its tables keep the names that they were made with."""

    name = "curation.leaderboard"
    label = "leaderboard"
    verbose_name = "Leaderboards"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the files that its rows refer to."""
        # Imported here, since models are available only once all apps are loaded.
        from curation.leaderboard.selectors.boards import entry_files  # noqa: PLC0415
        from hits.selectors.images.stored_files import register_files  # noqa: PLC0415

        register_files(entry_files)
