"""The app for judging collected data and for managing workers."""

from django.apps import AppConfig


class ValidationConfig(AppConfig):
    """Judging kinds, rounds and results; qualification rounds, training rounds and worker status."""

    name = "validation"
    verbose_name = "Judging"

    def ready(self) -> None:
        """Register this app's pages and its counters of open work in the navigation."""
        # Imported here: models can be imported only when all apps are loaded.
        import validation.checks  # noqa: F401, PLC0415
        from hits.navigation import register_pages  # noqa: PLC0415
        from hits.templatetags.console import register_waiting_counter  # noqa: PLC0415
        from validation.selectors import rounds, training, worker_rules  # noqa: PLC0415

        register_pages(worker="worker-detail", units="units-new")
        for section in ("people", "applicants"):
            register_waiting_counter(section, rounds.count_waiting_applicants)
        for section in ("people", "rules"):
            register_waiting_counter(section, worker_rules.count_open_proposals)
        for section in ("people", "training"):
            register_waiting_counter(section, training.count_attempts_without_feedback)
