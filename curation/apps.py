"""The curation app: sources, features, duplicates, comparison sets, texts, audits, sealed versions, scorers."""

from django.apps import AppConfig


class CurationConfig(AppConfig):
    """Register the app's pages and stored files."""

    name = "curation"
    verbose_name = "Curation"

    def ready(self) -> None:
        """Register the pages of the navigation, and the files that the app's rows refer to."""
        # Imported here, since models are available only once all apps are loaded.
        from curation.selectors.stored_files import curation_files  # noqa: PLC0415
        from hits.navigation import register_pages  # noqa: PLC0415
        from hits.selectors.images.stored_files import register_file_provider  # noqa: PLC0415
        from hits.templatetags.console import register_family_section  # noqa: PLC0415

        register_family_section("triplets", "nleye")
        register_pages(curation="curation", curation_jobs="curation-jobs", choice_rounds="choice-rounds")
        register_file_provider(curation_files)
