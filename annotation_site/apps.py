"""App configuration: registers the start-up checks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """The composition root as an app, for its commands and checks."""

    name = "annotation_site"

    def ready(self) -> None:
        """Register checks."""
        from annotation_site import checks  # noqa: F401, PLC0415 - apps must be loaded first
