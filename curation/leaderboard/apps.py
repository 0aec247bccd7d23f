"""Leaderboards as a Django app."""

from django.apps import AppConfig


class LeaderboardConfig(AppConfig):
    """The app with label ``leaderboard``. Its tables keep the names of an earlier release, when curation had them."""

    name = "curation.leaderboard"
    label = "leaderboard"
    verbose_name = "Leaderboards"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the files that the app's rows refer to."""
        # Imported here, since models are available only once all apps are loaded.
        from curation.leaderboard.selectors.boards import entry_files  # noqa: PLC0415
        from hits.selectors.images.stored_files import register_file_provider  # noqa: PLC0415

        register_file_provider(entry_files)
