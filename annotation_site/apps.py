"""App configuration: registers the start-up checks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """Make the composition root an app, so that Django finds its commands and checks."""

    name = "annotation_site"

    def ready(self) -> None:
        """Register checks."""
        from annotation_site import checks  # noqa: F401, PLC0415 - apps must be loaded first
