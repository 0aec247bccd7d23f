"""The judging app: other people's word on what was collected."""

from django.apps import AppConfig


class ValidationConfig(AppConfig):
    """Judging kinds, their rounds and their tallies; and people: qualification rounds, training, worker status."""

    name = "validation"
    verbose_name = "Judging"

    def ready(self) -> None:
        """Show in the navigation what waits for a person here."""
        # Imported now, since rows may be named only once all apps are loaded.
        import validation.checks  # noqa: F401, PLC0415
        from hits.navigation import register_pages  # noqa: PLC0415
        from hits.templatetags.console import register_waiting_counter  # noqa: PLC0415
        from validation.selectors import rounds, training, worker_rules  # noqa: PLC0415

        register_pages(worker="worker-detail", units="units-new")
        for section in ("people", "applicants"):
            register_waiting_counter(section, rounds.count_unanswered)
        for section in ("people", "rules"):
            register_waiting_counter(section, worker_rules.count_open_proposals)
        for section in ("people", "training"):
            register_waiting_counter(section, training.count_unanswered)
