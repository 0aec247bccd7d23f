"""The curation app: which images, which hard candidates, which rows are released."""

from django.apps import AppConfig


class CurationConfig(AppConfig):
    """Feature sets, comparison rounds and sealed versions."""

    name = "curation"
    verbose_name = "Curation"

    def ready(self) -> None:
        """Name the files that rows here point at."""
        # Imported now, since rows may be named only once all apps are loaded.
        from curation.selectors.stored_files import curation_files  # noqa: PLC0415
        from hits.navigation import register_pages  # noqa: PLC0415
        from hits.selectors.images.stored_files import register_files  # noqa: PLC0415

        register_pages(curation="curation", curation_jobs="curation-jobs")
        register_files(curation_files)
